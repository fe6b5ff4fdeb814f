// Profiled is agentform that writes its CPU profile to $CPUPROFILE, so that a benchmark can show
// where the time of a missed goal was spent.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"

	"github.com/agentform/agentform/cmd/internal/cli"
)

func main() {
	dir, err := os.Getwd()
	if err != nil {
		fail(err)
	}
	profile, err := os.Create(os.Getenv("CPUPROFILE"))
	if err != nil {
		fail(err)
	}
	if err := pprof.StartCPUProfile(profile); err != nil {
		fail(err)
	}
	code := cli.Run(context.Background(), cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Environ: os.Environ(), Args: os.Args[1:], Dir: dir, Version: "profiled",
	})
	pprof.StopCPUProfile()
	if err := profile.Close(); err != nil {
		fail(err)
	}
	os.Exit(code)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "profiled:", err)
	os.Exit(1)
}
