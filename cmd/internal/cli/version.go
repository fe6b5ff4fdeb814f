package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/view"
)

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print agentform's version",
		Long:    "Prints the version of agentform, its Go version and its platform.",
		Example: "  agentform version --json",
		RunE:    func(*cobra.Command, []string) error { return runVersion(a) },
	}
}

func runVersion(a *app) error {
	b := view.Build{Version: a.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Commit = s.Value
			}
		}
	}
	if a.JSON {
		return view.VersionJSON(a.Out, b)
	}
	return view.Version(a.Out, b)
}
