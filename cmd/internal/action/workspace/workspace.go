// Package workspace reaches the workspaces of sessions: it runs commands in them, compares them with
// their bases, and fetches their branches.
package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// Check returns an error with a remedy if the workspace of a recorded session
// does not exist.
func Check(r session.Record) error {
	var err error
	if r.Spec.Runtime.Traits().HostFiles {
		_, err = os.Stat(r.Tree.Path)
	}
	switch {
	case r.Spent():
		return target.Spent(r)
	case r.Tree.Path == "" || r.Unmade():
		return fmt.Errorf("%s has no workspace yet: its start waits\nagentform status %s shows why", r.Address, target.Quoted(r.Address))
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the workspace of %s does not exist: %s\nagentform plan shows what apply does about it", r.Address, r.Tree.Path)
	}
	return err
}

// Fetch fetches the branch of a session with a clone into the repository.
func Fetch(ctx context.Context, p *project.Project, lineage string, r session.Record) (view.Fetched, error) {
	t := r.Tree
	f := view.Fetched{Address: r.Address, Branch: t.Branch}
	if r.Spent() {
		return f, target.Spent(r)
	}
	switch t.Mode {
	case session.Plain, "":
		return f, errors.New("it works in a directory without git, so it has no branch")
	case session.Clone:
	default:
		f.Ref = "refs/heads/" + t.Branch
		return f, nil
	}
	if err := project.UseLocalRepo(p, &r); err != nil {
		return f, err
	}
	t = r.Tree
	f.Ref = git.TakenRef(config.WorkspaceName(r.Address), t.Branch)
	v, err := VolumeOf(p, lineage, r)
	if err != nil {
		return f, err
	}
	var got git.Fetched
	if v != nil {
		got, err = v.Fetch(ctx, t.Repo, t.Branch, f.Ref)
	} else {
		got, err = git.Fetch(ctx, t.Repo, t.Path, t.Branch, f.Ref)
	}
	f.Fetched, f.Commit, f.Moved, f.Ahead = true, got.Commit, got.Moved, got.Ahead
	return f, err
}

// VolumeOf returns the workspace of a session on its runtime's volume; nil: the workspace is on
// this machine.
func VolumeOf(p *project.Project, lineage string, r session.Record) (*git.Volume, error) {
	if r.Spec.Runtime.Traits().HostFiles {
		return nil, nil
	}
	rt, err := p.Reconciler(project.ToAct).Opened(lineage, r.Spec.Runtime)
	if err != nil {
		return nil, err
	}
	h, ok := rt.(session.WorkspaceHolder)
	if !ok {
		return nil, fmt.Errorf("runtime %s holds no workspaces", r.Spec.Runtime.Key())
	}
	v := git.VolumeOf(h, r)
	return &v, nil
}

// CommandOptions describe a command for a workspace.
type CommandOptions struct {
	Argv     []string
	Secrets  bool // also sets the secrets of the session
	Terminal bool // its streams are terminals
}

// Command returns a command to run in the workspace of a session, without streams. A missing
// program is an error of starting it.
func Command(ctx context.Context, p *project.Project, r session.Record, o CommandOptions) (*exec.Cmd, error) {
	if err := Check(r); err != nil {
		return nil, err
	}
	argv := o.Argv
	env, err := project.LaunchEnviron(p, r, o.Secrets)
	if err != nil {
		return nil, err
	}
	dir, lookup := r.Tree.Path, environ.Vars(env)
	if !r.Spec.Runtime.Traits().HostProcesses {
		var names []string
		for _, kv := range env {
			name, _, _ := strings.Cut(kv, "=")
			names = append(names, name)
		}
		if o.Terminal {
			names = append(names, "TERM")
		}
		argv, err = Elsewhere(ctx, p, r, session.Command{Dir: dir, Argv: argv, Env: names, Terminal: o.Terminal})
		if err != nil {
			return nil, err
		}
		dir, env, lookup = p.Dir, append(slices.Clone(p.Environ), env...), p.Environ
	} else {
		for _, name := range []string{"TERM", "COLORTERM", "LINES", "COLUMNS"} {
			if v, set := p.Environ.Lookup(name); set {
				env = append(env, name+"="+v)
			}
		}
		env = append(env, "PWD="+dir)
	}
	c := exec.CommandContext(context.WithoutCancel(ctx), argv[0], argv[1:]...)
	c.Dir, c.Env = dir, env
	c.Path, c.Err = "", exec.ErrNotFound
	if program, found := lookup.Program(argv[0], dir); found {
		c.Path, c.Err = program, nil
	} else if strings.Contains(argv[0], "/") { // the system reports why it cannot be run
		c.Path, c.Err = argv[0], nil
	}
	return c, nil
}

// Elsewhere returns the command line that runs a command in the place of a session. The place must
// be up.
func Elsewhere(ctx context.Context, p *project.Project, r session.Record, c session.Command) ([]string, error) {
	targets, err := target.Of(ctx, p, []session.Record{r}, r.Address)
	if err != nil {
		return nil, err
	}
	t := targets[0]
	if t.Fault != nil {
		return nil, t.Fault
	}
	noun := t.Record.Spec.Runtime.Traits().Noun
	x, ok := t.Runtime.(session.Executor)
	switch {
	case !ok:
		return nil, fmt.Errorf("its %s cannot run commands", noun)
	case t.Live == nil || !t.Live.PlaceUp:
		return nil, fmt.Errorf("its %s is not running\nagentform start %s starts it", noun, target.Quoted(r.Address))
	}
	argv := x.Exec(t.Place(), c)
	if _, found := p.Environ.Program(argv[0], p.Dir); !found {
		return nil, fmt.Errorf("the command %s, which is needed to enter its %s, is not on PATH: install it", argv[0], noun)
	}
	return argv, nil
}

// VerifyLog returns the output of a session's last verification command. It is read on the agent's
// machine.
func VerifyLog(ctx context.Context, p *project.Project, r session.Record) (string, error) {
	if r.Verified == nil {
		return "", fmt.Errorf("its work was never verified\nagentform verify %s does that", target.Quoted(r.Address))
	}
	if r.Verified.Log == "" {
		return "", fmt.Errorf("no output was kept: %s", r.Verified.Detail)
	}
	c, err := Command(ctx, p, r, CommandOptions{Argv: []string{"cat", r.Verified.Log}})
	if err != nil {
		return "", err
	}
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err = c.Run(); err != nil {
		err = fmt.Errorf("read %s: %w: %s", r.Verified.Log, err, plaintext.OneLine(said.String()))
	}
	return out.String(), err
}
