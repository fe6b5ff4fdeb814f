package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/agentform/agentform/cmd/internal/action/adopt"
	"github.com/agentform/agentform/cmd/internal/action/scaffold"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/plaintext"
)

const tmuxManifestHead = `# The coding-agent sessions that ran in tmux when this was written.
#
#   agentform plan      show what apply would do, and why
#   agentform apply     adopt them while they run
#   agentform status    show the status of all sessions
#
# An import block is no longer needed once its session is adopted.

`

func runInitFromTmux(ctx context.Context, a *app) error {
	a.Open() // a directory above may be the project
	if err := scaffold.CheckNone(a.Dir, "agentform adopt --all adopts what runs; plan --generate-config-out=FILE then writes the blocks"); err != nil {
		return err
	}
	x, err := findAdoptable(ctx, a)
	if err != nil {
		return err
	}
	if err := view.NotAdopted(a.Err, a.ErrStyle(), x.Found, x.Addresses); err != nil {
		return err
	}
	all, failed := x.Drafts(ctx)
	for _, err := range failed {
		fmt.Fprintln(a.Err, "left out: "+plaintext.Safe(err.Error()))
	}
	drafts, sharing := adopt.Declarable(all)
	for _, d := range sharing {
		fmt.Fprintf(a.Err, "%s: left out: it works in the directory of %s, and a manifest can declare two in one directory only in place on a branch\n  agentform adopt %s %s\n",
			plaintext.Safe(d.Import), d.With, target.Quoted(d.Spec.Address), plaintext.ShellWord(d.Import))
	}
	if len(drafts) == 0 {
		return errors.New("no agent in your tmux servers can be declared\nagentform init writes a starter manifest")
	}
	made := generateBlocks(a, x.Project, drafts...)
	if err := scaffold.WriteNew(filepath.Join(a.Dir, scaffold.ManifestFile), append([]byte(tmuxManifestHead), made.Text...), 0o600); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	fmt.Fprintf(a.Out, "Wrote %s: %s of your tmux servers. Nothing was adopted yet.\n", scaffold.ManifestFile, plaintext.Count(made.Sessions, "session"))
	if _, err := git.Toplevel(ctx, a.Dir); err == nil {
		ignored, err := scaffold.Ignore(a.Dir, ".agentform/")
		if err != nil {
			return err
		}
		if ignored {
			fmt.Fprintln(a.Out, "Added .agentform/ to .gitignore: the state stays out of the repository.")
		}
	}
	fmt.Fprintln(a.Out, "\nNext: agentform plan, then agentform apply, which adopts them while they run")
	return nil
}
