package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/action/workspace"
	"github.com/agentform/agentform/cmd/internal/project"
)

func pathCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "path ADDR",
		Short: "Print the path of a session's workspace",
		Long: `Prints the absolute path of the session's workspace and nothing else. Exit 1 if the
workspace does not exist.`,
		Example: `  cd "$(agentform path api)"
  git -C "$(agentform path 'worker["web"]')" log --oneline`,
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := workspaceOf(a, args[0])
			if err == nil {
				_, err = fmt.Fprintln(a.Out, path)
			}
			return err
		},
	}
}

// workspaceOf returns the path of an existing workspace.
func workspaceOf(a *app, typed string) (string, error) {
	p, s, err := a.State()
	if err != nil {
		return "", err
	}
	address, err := choose.One(choose.Addresses(p.Manifest.Sessions, s.Sessions), typed)
	if err != nil {
		return "", err
	}
	r := project.Find(s.Sessions, address)
	if r == nil {
		return "", target.NotApplied(address)
	}
	v, err := workspace.VolumeOf(p, s.Lineage, *r)
	if err == nil && v != nil {
		err = fmt.Errorf("the workspace of %s is not on this machine\nagentform exec %s -- sh opens a shell in it, agentform fetch %[2]s fetches its commits", address, target.Quoted(address))
	}
	if err != nil {
		return "", err
	}
	return r.Tree.Path, workspace.Check(*r)
}
