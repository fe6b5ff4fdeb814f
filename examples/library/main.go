// Library is a small orchestrator: three agents, each on a branch of its own in a
// worktree of its own, followed until they are done; then it says what each of
// them committed.
//
//	go run ./examples/library REPOSITORY
//
// The agent is a shell script, so that it runs without any account. With
// session.AgentSpec{Name: agent.Claude, Trust: true} in its place, and a prompt, it is
// Claude Code.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/session"
)

// work is what an agent does here: it commits a note about its area.
const work = `
echo "working on $AREA"
echo "about $AREA" >"$AREA.md" && git add "$AREA.md" && git commit --quiet --message "docs: $AREA"
echo "all tasks completed"
`

func main() {
	shim := agentform.Init() // first: this program is its agents' shim as well
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: library REPOSITORY")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, shim, os.Args[1], []string{"api", "docs", "web"}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run lets an agent work on each area, all at once, and reports.
func run(ctx context.Context, shim []string, repo string, areas []string) error {
	sessions, err := agentform.Open(filepath.Join(repo, ".sessions"), agentform.Options{Shim: shim})
	if err != nil {
		return err
	}
	defer sessions.Close()

	errs := make([]error, len(areas))
	var group sync.WaitGroup
	for i, area := range areas {
		tree, err := worktree(repo, area)
		if err != nil {
			return err
		}
		group.Go(func() { errs[i] = follow(ctx, sessions, area, tree) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, area := range areas {
		log, err := git(repo, "log", "-1", "--format=%s", "agents/"+area)
		if err != nil {
			return err
		}
		fmt.Printf("agents/%s: %s\n", area, log)
	}
	return nil
}

// follow follows one agent to its end, and prints the result.
func follow(ctx context.Context, sessions *agentform.Launcher, area, tree string) error {
	spec := session.Spec{
		Agent:     session.AgentSpec{Name: "writer", Command: []string{"sh", "-c", work}, OneShot: true},
		Workspace: session.Workspace{Path: tree},
		Env:       map[string]string{"AREA": area},
	}
	return sessions.With(ctx, area, spec, func(ctx context.Context, s *agentform.Session) error {
		tell := agentform.Callbacks{
			StatusChanged: func(_, now session.Status, _ string) { fmt.Printf("%s is %s\n", area, now) },
			PRDetected:    func(url string) { fmt.Printf("%s opened %s\n", area, url) },
		}
		// Watch ends with the turn of an interactive agent, and with this one's exit.
		for o, err := range s.Watch(ctx, 200*time.Millisecond, tell) {
			switch {
			case err != nil:
				return err
			case o.TurnEnded || o.Status == session.StatusDone:
				return nil
			case o.Status.Terminal():
				return fmt.Errorf("%s ended as %s: %s", area, o.Status, o.Snippet)
			}
		}
		return ctx.Err()
	})
}

// worktree makes a branch for the area, and a worktree for the branch. An earlier run
// may have left both.
func worktree(repo, area string) (string, error) {
	path := filepath.Join(repo, ".sessions", "trees", area)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	_, err := git(repo, "worktree", "add", "--quiet", "--no-track", "-b", "agents/"+area, path)
	return path, err
}

func git(dir string, args ...string) (string, error) {
	c := exec.Command("git", append([]string{"-C", dir}, args...)...)
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
