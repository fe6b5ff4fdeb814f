// Agentform keeps coding-agent sessions as a manifest declares them.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/agentform/agentform/internal/cli"
)

// version is set by the linker in a release.
var version string

func main() {
	// Most commands end within 20 ms and 10 MB: a collection is work for nothing,
	// and takes half a millisecond of a plan.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "agentform: the current folder:", err)
		os.Exit(1)
	}
	os.Exit(cli.Run(context.Background(), cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Environ: os.Environ(), Args: os.Args[1:], Dir: dir, Version: versionOf(version),
	}))
}

// versionOf is the linker's version, or else the module's.
func versionOf(linked string) string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
