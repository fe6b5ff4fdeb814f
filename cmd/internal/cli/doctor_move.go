package cli

import (
	"context"
	"fmt"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/owner"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// repairMove makes a project work where it was moved to: it repairs the worktrees,
// finds the sockets again, and writes the new paths into the state. Running sessions
// are left alone. somebodySaysSo is for what may as well be a copy.
func (x *examination) repairMove(ctx context.Context, somebodySaysSo bool) {
	p := x.project
	st, err := state.Read(p.state)
	across := !wasMoved(p.check(st), false)
	if err != nil || !wasMoved(p.check(st), somebodySaysSo) {
		return // record reports what else is wrong with the state
	}
	p.repairing = true
	done := 0
	err = x.app.operate(ctx, p, func(store *state.Store) error {
		st := store.State()
		trees := map[string][]string{} // by repository
		for i, r := range st.Sessions {
			if r.Owner.Differs(p.here()) != session.OtherDataDir {
				continue
			}
			r = owner.Relocate(r, p.here(), p.manifest.Root, p.manifest.DataDir)
			if st.Sessions[i] = r; r.Tree.Mode == session.Worktree && fileExists(r.Tree.Path) {
				trees[r.Tree.Repo] = append(trees[r.Tree.Repo], r.Tree.Path)
			}
			done++
		}
		for repo, paths := range trees {
			if err := git.RepairWorktrees(ctx, repo, paths...); err != nil {
				return err
			}
		}
		if err := shim.MoveSocketDir(p.manifest.DataDir); err != nil {
			return err
		}
		if err := docker.Moved(p.manifest.DataDir); err != nil {
			return err
		}
		return store.Push(st, false)
	})
	p.repairing = false
	if err != nil {
		x.add(view.Fault, "project", "the move could not be repaired: "+err.Error(), "")
		return
	}
	x.add(view.Fine, "project", fmt.Sprintf("repaired after it was moved here: %s", counted(done, "session")), "")
	if across {
		x.add(view.Warning, "project", "agents that run since before the move work in the directories that it removed", "agentform restart --all")
	}
}
