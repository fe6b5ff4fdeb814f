// Package run starts a session that no manifest declares, and waits for its end.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Asked is a command line's request for a session.
type Asked struct {
	config.Request
	Name    string // empty: generated
	WorkDir string // absolute
	Remove  bool   // the session is removed after its end
	// The session is stopped after EndAfter, and has ReadyWithin to become ready; 0: its agent's
	// default.
	EndAfter, ReadyWithin time.Duration
}

// Origin is the origin of sessions that run starts.
const Origin = session.FromRun

// Session is a composed session.
type Session struct {
	Spec    session.Spec
	Warning string          // empty: none
	Shares  session.Address // another session in the same directory; empty: none
	project *project.Project
	turn    bool
}

// Compose returns the requested session.
func Compose(p *project.Project, s state.State, asked Asked) (*Session, error) {
	var err error
	if asked.Address, err = choose.New(cmp.Or(asked.Name, fmt.Sprintf("task-%08x", rand.Uint32()))); err != nil {
		return nil, err
	}
	name := target.Quoted(asked.Address)
	switch {
	case p.Declared(asked.Address) != nil:
		return nil, fmt.Errorf("%s is declared in the manifest: agentform apply --target %s creates it", asked.Address, name)
	case project.Find(s.Sessions, asked.Address) != nil:
		return nil, fmt.Errorf("%s is in the state already: choose another name, restart it (agentform restart %s), or remove it (agentform destroy --target %[2]s)", asked.Address, name)
	}
	dir := asked.WorkDir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("--work-dir: no directory %s", dir)
	}
	if asked.Dir = git.Look(dir); asked.Dir.Err != nil {
		return nil, asked.Dir.Err
	}
	asked.Timeout, asked.ReadyTimeout = session.Duration(asked.EndAfter), session.Duration(asked.ReadyWithin)
	x := &Session{project: p}
	if x.Spec, err = p.Manifest.Compose(asked.Request); err != nil {
		return nil, err
	}
	if x.Spec.Profile != "" && x.Spec.Agent.Base != agent.Codex {
		x.Warning = fmt.Sprintf("--profile has no effect: only codex has profiles, and agent %q has none.", x.Spec.Agent.Name)
	}
	if asked.Remove {
		x.Spec.Workspace.OnDestroy = session.RemoveClean
	}
	x.Shares = plan.Neighbor(x.Spec, s.Sessions)
	return x, nil
}

// Plan plans to start the session.
func (x *Session) Plan(ctx context.Context) (reconcile.Planned, error) {
	return reconcile.Only(ctx, x.project, engine.Request{Wanted: []session.Spec{x.Spec}}, x.Spec.Address)
}

// Removal plans to destroy the session, and reports whether it exists.
func (x *Session) Removal(ctx context.Context) (made reconcile.Planned, there bool, err error) {
	s, err := state.Read(x.project.State)
	if err != nil && !errors.Is(err, state.ErrNone) || project.Find(s.Sessions, x.Spec.Address) == nil {
		if errors.Is(err, state.ErrNone) {
			err = nil
		}
		return made, false, err
	}
	made, err = reconcile.Destroy(ctx, x.project, x.Spec.Address)
	return made, true, err
}

// Until are the ends that a command line can wait for.
var Until = []string{"turn", "exit"}

// Awaits sets the event that Follow waits for. It returns why that is the exit although turn was
// possible, if the user should know.
func (x *Session) Awaits(until string) (why string, err error) {
	spec := x.Spec
	unseen := follow.Visible(spec, follow.Turn)
	switch {
	case spec.Agent.OneShot || until == "exit":
		return "", nil
	case until == "turn":
		x.turn = true
		return "", unseen
	case spec.Prompt.Text == "":
		return "it has no prompt", nil
	case unseen != nil:
		return unseen.Error(), nil
	}
	x.turn = true
	return "", nil
}

// End is the result of a wait for a session.
type End struct {
	Last    status.Input
	Reached bool // its turn has ended
	session *Session
}

// Follow looks at the session, at once after a hook's report, until its turn or the session has
// ended. It returns after two looks with the end. Each look is first passed to see.
func (x *Session) Follow(ctx context.Context, every time.Duration, see func(api.Session, time.Time) error) (*End, error) {
	e, end := project.Fleet(x.project), &End{session: x}
	over := false
	var runs []string
	heard := func() int64 { return e.Activity.Heard(runs) }
	for s, err := range follow.Looks(ctx, every, heard, e.Look) {
		if err != nil {
			return end, err
		}
		end.Last = s.Of(x.Spec.Address)
		k := end.Last
		if k.Record == nil {
			return end, fmt.Errorf("%s is no longer in the state", x.Spec.Address)
		}
		runs = []string{k.Record.Run.ID}
		seen := status.Of(k)
		sight := status.Followed(k, seen)
		if x.turn && sight.Verdict(follow.Turn) == follow.Reached {
			end.Reached = true
			return end, nil
		}
		if ended := sight.Over(); ended && over {
			return end, nil
		} else if over = ended; !ended {
			if err := see(seen, s.World.At); err != nil {
				return end, err
			}
		}
	}
	return end, ctx.Err()
}

// Answer returns the agent's last message. For an agent without a session file it reads the screen.
func (d *End) Answer(ctx context.Context, every time.Duration) (string, error) {
	e, last := project.Fleet(d.session.project), d.Last
	given, _ := activity.Given(*last.Record, last.Events)
	for end := time.Now().Add(turn.FileLag); ; {
		n := last.Look.Transcript
		if n == nil {
			break
		}
		if n.Answered(given) || time.Now().After(end) {
			return plaintext.Safe(n.LastMessage), nil
		}
		if !sleep.For(ctx, every) {
			return plaintext.Safe(n.LastMessage), nil
		}
		look := e.Activity.Look(*last.Record, last.Live, last.Events, time.Now())
		last.Look = &look
	}
	if last.Live == nil {
		return "", nil
	}
	s, err := state.Read(d.session.project.State)
	if err != nil {
		return "", err
	}
	rt, err := e.Engine.Opened(s.Lineage, last.Record.Spec.Runtime)
	if err != nil {
		return "", err
	}
	text, err := rt.Capture(ctx, last.Live.Location, 0)
	if errors.Is(err, session.ErrGone) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the screen of %s: %w", d.session.Spec.Address, err)
	}
	tail, _ := wire.Tail(plaintext.Safe(text))
	return tail, nil
}

// Good reports whether the turn has ended, or the session is done or has exited by itself with 0.
func (d *End) Good() bool {
	if d.Reached {
		return true
	}
	switch k := d.Last; status.Of(k).Status {
	case session.StatusDone:
		return true
	case session.StatusExited:
		return k.Live != nil && k.Live.Exit.Clean()
	}
	return false
}
