package docker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/tmuxwire"
)

const (
	// execs is how many commands the engine executes at once for us: each takes it 45
	// to 60 ms of its processor's time.
	execs = 6
	// execTimeout bounds one, and execOutput what is kept of what it prints.
	execTimeout = 20 * time.Second
	execOutput  = 1 << 20
)

// byExec looks and acts in an adopted container, which has no guest of ours.
type byExec struct {
	runtime   *Runtime
	container string
	pane      string
}

// execute runs a command in a container and returns what it printed.
func (r *Runtime) execute(ctx context.Context, id, stdin string, argv ...string) (shim.TmuxReply, error) {
	select {
	case r.executing <- struct{}{}:
		defer func() { <-r.executing }()
	case <-ctx.Done():
		return shim.TmuxReply{}, ctx.Err()
	}
	c, err := r.engine()
	if err != nil {
		return shim.TmuxReply{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, execTimeout)
	defer cancel()
	made, err := c.ContainerExecCreate(ctx, id, container.ExecOptions{AttachStdin: stdin != "", AttachStdout: true, AttachStderr: true, Cmd: argv})
	if err != nil {
		return shim.TmuxReply{}, explain(err)
	}
	a, err := c.ContainerExecAttach(ctx, made.ID, container.ExecAttachOptions{})
	if err != nil {
		return shim.TmuxReply{}, explain(err)
	}
	defer a.Close()
	defer context.AfterFunc(ctx, a.Close)()
	if stdin != "" {
		go func() { // it may print before it reads
			_, _ = io.WriteString(a.Conn, stdin) // what it did not read, it does not want
			_ = a.CloseWrite()
		}()
	}
	var out, said head
	if _, err := stdcopy.StdCopy(&out, &said, a.Reader); ctx.Err() != nil {
		return shim.TmuxReply{}, fmt.Errorf("%s in the container: %w", argv[0], context.Cause(ctx))
	} else if err != nil {
		return shim.TmuxReply{}, fmt.Errorf("%s in the container: %w", argv[0], err)
	}
	done, err := c.ContainerExecInspect(ctx, made.ID)
	if err != nil {
		return shim.TmuxReply{}, explain(err)
	}
	return shim.TmuxReply{Code: done.ExitCode, Stdout: out.String(), Stderr: strings.TrimSpace(said.String())}, nil
}

// head keeps the beginning of what is written to it.
type head struct{ kept bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	h.kept.Write(p[:max(0, min(len(p), execOutput-h.kept.Len()))])
	return len(p), nil
}

func (h *head) String() string { return strings.ToValidUTF8(h.kept.String(), "") }

// Tmux runs a tmux command on the container user's own server.
func (x byExec) Tmux(ctx context.Context, stdin string, args ...string) (shim.TmuxReply, error) {
	return x.runtime.execute(ctx, x.container, stdin, append([]string{"tmux", "-u"}, args...)...)
}

// Look tells of the pane's process what tmux knows. How it ended, only tmux knows too.
func (x byExec) Look(ctx context.Context, runDir, _, format string, screen bool) (shim.Inside, error) {
	f, _ := shim.ReadFacts(runDir) // written here, when it was adopted
	in := shim.Inside{Claimed: true, Process: f.Agent, StartedAt: f.StartedAt, BootID: f.BootID, Exit: f.Exit}
	t, err := x.Tmux(ctx, "", "display-message", "-p", "-t", x.pane, format)
	if err != nil || t.Code != 0 {
		return in, err // without the pane, or the server, it is gone
	}
	in.Row = strings.TrimSuffix(t.Stdout, "\n")
	shown, err := tmuxwire.ParsePane(in.Row)
	if err != nil {
		return in, nil
	}
	in.Agent = !shown.Dead
	if shown.Dead && in.Exit == nil {
		// Where the kernel does not tell, tmux will in a moment, or leaves it for long. What
		// it says of the time is in whole seconds.
		recent := time.Since(shown.ActiveAt) < time.Second+2*aboutToWrite
		if in.Exit = leftBy(shown); in.Exit == nil {
			in.Exit = x.postMortem(ctx, runDir, f.Agent.PID, shown.ActiveAt, recent)
		}
		in.Guest = in.Exit == nil && recent
	}
	if screen {
		if t, err := x.Tmux(ctx, "", "capture-pane", "-p", "-t", x.pane); err == nil {
			in.Screen = t.Stdout
		}
	}
	return in, nil
}

// postMortem is what corpse tells, which is asked once more only while it may change.
func (x byExec) postMortem(ctx context.Context, runDir string, pid int, at time.Time, changes bool) *shim.Exit {
	known, asked := x.runtime.postMortems.Load(runDir)
	if exit, _ := known.(*shim.Exit); exit != nil || asked && !changes {
		return exit
	}
	exit := x.corpse(ctx, pid, at)
	if ctx.Err() == nil {
		x.runtime.postMortems.Store(runDir, exit)
	}
	return exit
}

// stillThere prints /proc/PID/stat if the kernel tells us all of it: see shim.CorpseIn.
const stillThere = `IFS= read -r stat <"/proc/$1/stat" && IFS= read -r io <"/proc/$1/io" && printf '%s' "$stat"`

// corpse is how the process of a pane left that tmux had not reaped when it was asked:
// 3.3a may leave it for long. nil: it cannot be told.
func (x byExec) corpse(ctx context.Context, pid int, at time.Time) *shim.Exit {
	t, err := x.runtime.execute(ctx, x.container, "", "sh", "-c", stillThere, "sh", strconv.Itoa(pid))
	if err != nil {
		return nil
	}
	if code, signal, ok := shim.CorpseIn([]byte(t.Stdout)); ok && t.Code == 0 {
		return &shim.Exit{Cause: shim.CauseSelf, Code: code, Signal: signal, At: at.UTC()}
	}
	// If it has been reaped since, tmux knows.
	t, err = x.Tmux(ctx, "", "display-message", "-p", "-t", x.pane, tmuxwire.PaneFormat)
	if err != nil || t.Code != 0 {
		return nil
	}
	shown, err := tmuxwire.ParsePane(strings.TrimSuffix(t.Stdout, "\n"))
	if err != nil {
		return nil
	}
	return leftBy(shown)
}

// leftBy is how the process of a pane left, as tmux reaped it; nil: it has not yet.
func leftBy(p tmuxwire.Pane) *shim.Exit {
	code, err := strconv.Atoi(p.ExitStatus)
	number, killed := strconv.Atoi(p.ExitSignal)
	switch at := p.ActiveAt; {
	case killed == nil:
		return &shim.Exit{Cause: shim.CauseSelf, Signal: shim.SignalName(number), At: at.UTC()}
	case err == nil:
		return &shim.Exit{Cause: shim.CauseSelf, Code: code, At: at.UTC()}
	}
	return nil
}

// ending ends all that is in the terminal of a process, which leads its session:
// with the signal, and after so many seconds with KILL. It fails if anything is left,
// and looks twice before it says that nothing is: a process may start another one
// behind the look, and end.
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

// End ends the process of the pane, and what is in its terminal.
func (x byExec) End(ctx context.Context, _, runDir, signal string, grace time.Duration) error {
	f, err := shim.ReadFacts(runDir)
	if err != nil || f.Exit != nil || f.Agent.PID == 0 {
		return err
	}
	in, err := x.Look(ctx, runDir, "", tmuxwire.PaneFormat, false)
	if err != nil || !in.Agent {
		return err
	}
	if signal = strings.TrimPrefix(signal, "SIG"); signal == "" {
		signal = "TERM"
	}
	seconds := int(max(grace, 0).Round(time.Second) / time.Second)
	t, err := x.runtime.execute(ctx, x.container, "", "sh", "-c", ending, "sh", strconv.Itoa(f.Agent.PID), signal, strconv.Itoa(seconds))
	if err == nil && t.Code != 0 {
		err = fmt.Errorf("in the container: %.200s", t.Stderr)
	}
	if err != nil {
		return err
	}
	return shim.WriteExit(runDir, shim.Exit{Cause: shim.CauseRequested, Signal: "SIG" + signal, At: time.Now().UTC(), Ran: time.Since(f.StartedAt)})
}
