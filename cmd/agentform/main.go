// Agentform keeps coding-agent sessions as a manifest declares them.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/agentform/agentform/cmd/internal/cli"
)

// version is set by the linker in a release.
var version string

func main() {
	if os.Getenv("GOGC") == "" {
		collectLate()
	}
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "agentform: the current directory:", err)
		os.Exit(1)
	}
	os.Exit(cli.Run(context.Background(), cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Environ: os.Environ(), Args: os.Args[1:], Dir: dir, Version: versionOf(version),
	}))
}

// collectLate delays the first garbage collection: most commands end within 20 ms and 10 MB, and
// half a millisecond of a plan is much. A plan of 5000 sessions then takes 100 MB, and 140 MB with
// only 400.
func collectLate() {
	const first, later = 400, 150 // of 4 MiB: at 16 MiB
	debug.SetGCPercent(first)
	runtime.AddCleanup(new([16]byte), func(int) {
		if chosen := debug.SetGCPercent(later); chosen != first { // the command has set it meanwhile
			debug.SetGCPercent(chosen)
		}
	}, 0)
}

func versionOf(linked string) string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
