package docker

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/excerpt"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/tmuxwire"
)

const (
	// execs is how many commands the engine executes at once: each takes 45 to 60 ms of
	// its processor time.
	execs = 6
	// execTimeout bounds a command, and execOutput what is kept of its output.
	execTimeout = 20 * time.Second
	execOutput  = 1 << 20
)

// executor runs commands in adopted containers, which have no init and no shim.
type executor struct {
	engine  func() (engine, error)
	slots   chan struct{}
	zombies sync.Map // *rundir.Exit by a run's directory; nil: it is unknown
}

func (x *executor) run(ctx context.Context, id, stdin string, argv ...string) (shim.TmuxReply, error) {
	none := shim.TmuxReply{}
	select {
	case x.slots <- struct{}{}:
		defer func() { <-x.slots }()
	case <-ctx.Done():
		return none, ctx.Err()
	}
	c, err := x.engine()
	if err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeout(ctx, execTimeout)
	defer cancel()
	var in io.Reader
	if stdin != "" {
		in = strings.NewReader(stdin)
	}
	out := excerpt.Tail{Limit: execOutput}
	done, said, err := execute(ctx, c, id, in, &out, argv)
	if err != nil {
		return none, fmt.Errorf("%s in the container: %w", argv[0], err)
	}
	return shim.TmuxReply{Code: done.ExitCode, Stdout: out.String(), Stderr: said}, nil
}

// byExec inspects and acts in an adopted container.
type byExec struct {
	exec      *executor
	container string
	pane      string
}

// Tmux runs a tmux command on the container user's own server.
func (x byExec) Tmux(ctx context.Context, stdin string, args ...string) (shim.TmuxReply, error) {
	return x.exec.run(ctx, x.container, stdin, append([]string{"tmux", "-u"}, args...)...)
}

// look returns the pane and the row that describes it. ok is false if tmux has no such pane.
func (x byExec) look(ctx context.Context) (p tmuxwire.Pane, row string, ok bool, err error) {
	t, err := x.Tmux(ctx, "", "display-message", "-p", "-t", x.pane, tmuxwire.PaneFormat)
	if err != nil || t.Code != 0 {
		return p, "", false, err
	}
	row = strings.TrimSuffix(t.Stdout, "\n")
	p, invalid := tmuxwire.ParsePane(row)
	return p, row, invalid == nil, nil
}

func (x byExec) Look(ctx context.Context, runDir, _, _ string, screen bool) (shim.ContainerRun, error) {
	f, _ := rundir.ReadFacts(runDir) // written when the session was adopted
	in := shim.ContainerRun{Claimed: true, Process: f.Agent, StartedAt: f.StartedAt, BootID: f.BootID, Exit: f.Exit}
	p, row, ok, err := x.look(ctx)
	in.Row = row
	if !ok {
		return in, err // without the pane, or the server, the agent is dead
	}
	in.Agent = !p.Dead
	if p.Dead && in.Exit == nil {
		// Usually tmux reports the exit in a moment; 3.3a may take long. Its times are in
		// whole seconds.
		recent := time.Since(p.ActiveAt) < time.Second+2*exitDelay
		if in.Exit = exitOfPane(p); in.Exit == nil {
			known, asked := x.exec.zombies.Load(runDir)
			if in.Exit, _ = known.(*rundir.Exit); !asked {
				in.Exit = x.zombieExit(ctx, f.Agent.PID, p.ActiveAt)
			}
			if (in.Exit != nil || !recent) && ctx.Err() == nil { // it will not change
				x.exec.zombies.Store(runDir, in.Exit)
			}
		}
		in.Shim = in.Exit == nil && recent
	}
	if screen {
		if t, err := x.Tmux(ctx, "", "capture-pane", "-p", "-t", x.pane); err == nil {
			in.Screen = t.Stdout
		}
	}
	return in, nil
}

// stillThere prints /proc/PID/stat if the kernel shows all of it; see proc.ParseZombieExit.
const stillThere = `IFS= read -r stat <"/proc/$1/stat" && IFS= read -r io <"/proc/$1/io" && printf '%s' "$stat"`

// zombieExit returns the exit of a pane's process that tmux has not reaped, which can take long
// with 3.3a; nil if it is unknown.
func (x byExec) zombieExit(ctx context.Context, pid int, at time.Time) *rundir.Exit {
	t, err := x.exec.run(ctx, x.container, "", "sh", "-c", stillThere, "sh", strconv.Itoa(pid))
	if err != nil {
		return nil
	}
	if code, signal, ok := proc.ParseZombieExit([]byte(t.Stdout)); ok && t.Code == 0 {
		return &rundir.Exit{Cause: rundir.CauseSelf, Code: code, Signal: signal, At: at.UTC()}
	}
	p, _, _, _ := x.look(ctx) // it may have been reaped since
	return exitOfPane(p)
}

func exitOfPane(p tmuxwire.Pane) *rundir.Exit {
	code, signal, known := p.Exit()
	if !known {
		return nil
	}
	return &rundir.Exit{Cause: rundir.CauseSelf, Code: code, Signal: signal, At: p.ActiveAt.UTC()}
}

// ending ends the processes of a terminal session with a signal and, after the grace in seconds,
// with KILL. It looks twice before it reports that none is left: a process may start another and
// exit in between.
const ending = `
left() {
	for d in /proc/[0-9]*; do
		IFS= read -r s <"$d/stat" || continue
		p=${d#/proc/}
		set -- ${s##*) }
		[ "$4" = "$leader" ] && [ "$1" != Z ] && echo "$p"
	done 2>/dev/null
}
leader=$1 signal=$2 grace=$3 waited=0
all=$(left)
[ -z "$all" ] || kill -"$signal" $all 2>/dev/null
[ -z "$all" ] || kill -CONT $all 2>/dev/null
while all=$(left); all=${all:-$(left)}; [ -n "$all" ]; do
	[ "$waited" -lt $((grace * 10)) ] || kill -KILL $all 2>/dev/null
	[ "$waited" -lt $((grace * 10 + 50)) ] || { echo "processes outlive KILL: $all" >&2; exit 1; }
	waited=$((waited + 1))
	sleep 0.1
done
`

func (x byExec) End(ctx context.Context, _, runDir, signal string, grace time.Duration) error {
	f, err := rundir.ReadFacts(runDir)
	if err != nil || f.Exit != nil || f.Agent.PID == 0 {
		return err
	}
	in, err := x.Look(ctx, runDir, "", "", false)
	if err != nil || !in.Agent {
		return err
	}
	if signal = strings.TrimPrefix(signal, "SIG"); signal == "" {
		signal = "TERM"
	}
	seconds := int(max(grace, 0).Round(time.Second) / time.Second)
	t, err := x.exec.run(ctx, x.container, "", "sh", "-c", ending, "sh", strconv.Itoa(f.Agent.PID), signal, strconv.Itoa(seconds))
	if err == nil && t.Code != 0 {
		err = fmt.Errorf("in the container: %.200s", t.Stderr)
	}
	if err != nil {
		return err
	}
	return rundir.EndAdopted(runDir, rundir.Exit{Cause: rundir.CauseRequested, Signal: "SIG" + signal, At: time.Now().UTC(), Ran: time.Since(f.StartedAt)})
}
