package contained

import (
	"context"
	"errors"
	"io"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

const run = "0123456789abcdef0123456789abcdef"

// place is a Place that follows a script and remembers what it was asked.
type place struct {
	calls  []string
	paused string
	seen   shim.ContainerRun
	reply  shim.TmuxReply
	shim   error
}

func (p *place) note(call string) { p.calls = append(p.calls, call) }

func (p *place) Recorded() (string, string, error) { return run, p.paused, nil }

func (p *place) SetPaused(_ context.Context, mode string) error {
	p.note("record " + mode)
	return nil
}

func (p *place) Look(context.Context) (shim.ContainerRun, error) { return p.seen, nil }

func (p *place) Tmux(_ context.Context, _ string, args ...string) (shim.TmuxReply, error) {
	p.note(args[0])
	return p.reply, nil
}

func (p *place) AskShim(ctx context.Context, _ string, do func(*shim.Client, context.Context) error) error {
	return do(shim.PassedClient(func(_ context.Context, q shim.Request, _ time.Duration) (shim.Reply, error) {
		p.note("shim " + q.Op)
		return shim.Reply{OK: true}, p.shim
	}), ctx)
}

// sessions returns the sessions of a runtime all of whose places are this one.
func (p *place) sessions(change func(*Place)) *Sessions {
	at := Place{Inside: p, Kind: "container", Pane: Pane}
	change(&at)
	return &Sessions{Running: func(context.Context, session.Location) (Place, error) { return at, nil }}
}

// TestPause checks in which order a session is paused and resumed. A place without a shim is
// frozen last: nothing is executed in it then.
func TestPause(t *testing.T) {
	whole := func(p *place) func(*Place) {
		return func(at *Place) {
			at.Unpause = func(context.Context) error { p.note("unpause"); return nil }
		}
	}
	shimless := func(p *place) func(*Place) {
		return func(at *Place) { at.Freeze = func(context.Context) error { p.note("freeze"); return nil } }
	}
	plain := func(*place) func(*Place) { return func(*Place) {} }
	for name, c := range map[string]struct {
		of             func(*place) func(*Place)
		mode           string
		paused, resume []string
	}{
		"detach": {plain, session.Detach, []string{"select-pane", "detach-client", "record detach"}, []string{"shim resume", "select-pane", "record "}},
		"freeze": {plain, session.Freeze, []string{"shim pause", "select-pane", "detach-client", "record freeze"},
			[]string{"shim resume", "select-pane", "record "}},
		"without a shim": {shimless, session.Freeze, []string{"select-pane", "detach-client", "freeze", "record freeze"}, []string{"select-pane", "record "}},
		"as a whole":     {whole, session.Freeze, []string{"record freeze"}, []string{"unpause", "shim resume", "select-pane", "record "}},
	} {
		p := &place{}
		s := p.sessions(c.of(p))
		if err := s.Pause(t.Context(), session.Location{}, run, c.mode); err != nil || !slices.Equal(p.calls, c.paused) {
			t.Errorf("%s: paused by %q, %v; want %q", name, p.calls, err, c.paused)
		}
		p.calls = nil
		if err := s.Resume(t.Context(), session.Location{}, run); err != nil || !slices.Equal(p.calls, c.resume) {
			t.Errorf("%s: resumed by %q, %v; want %q", name, p.calls, err, c.resume)
		}
	}
}

// TestAnotherRun checks that a session that now has another run is left unchanged.
func TestAnotherRun(t *testing.T) {
	p := &place{}
	s := p.sessions(func(*Place) {})
	const other = "ffffffffffffffffffffffffffffffff"
	for what, err := range map[string]error{
		"pause": s.Pause(t.Context(), session.Location{}, other, session.Detach), "resume": s.Resume(t.Context(), session.Location{}, other),
		"timeout": s.SetTimeout(t.Context(), session.Location{}, other, 0),
	} {
		if err == nil || len(p.calls) > 0 {
			t.Errorf("%s: %v, and asked %q", what, err, p.calls)
		}
	}
}

// TestUnprobeable checks which errors mean that no shim answers.
func TestUnprobeable(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&shim.Error{Code: shim.CodeBusy}, true},
		{session.ErrGone, true},
		{syscall.ECONNREFUSED, true},
		{session.Unreachable(io.ErrUnexpectedEOF), false},
		{nil, false}, // an answer that is incomplete
	} {
		s := (&place{shim: c.err}).sessions(func(*Place) {})
		if _, err := s.Unread(t.Context(), session.Location{}, run); err == nil || errors.Is(err, session.ErrUnprobeable) != c.want {
			t.Errorf("%v: %v, want unprobeable: %v", c.err, err, c.want)
		}
	}
}

// row is what tmux reports of a pane without clients.
func row(dead, inputOff, inMode string) string {
	return "app|%0|7|" + dead + "|||" + inputOff + "|" + inMode + "|0|80|24|1790000000|||||"
}

// TestAcceptsInput checks which sessions take input, and that copy mode is ended.
func TestAcceptsInput(t *testing.T) {
	alive := shim.ContainerRun{Agent: true, Shim: true, Row: row("0", "0", "0")}
	with := func(change func(*shim.ContainerRun)) shim.ContainerRun {
		in := alive
		change(&in)
		return in
	}
	anyError := errors.New("any error")
	for name, c := range map[string]struct {
		place place
		err   error
		calls []string
	}{
		"alive":         {place: place{seen: alive}, calls: []string{"send-keys"}},
		"in copy mode":  {place: place{seen: with(func(in *shim.ContainerRun) { in.Row = row("0", "0", "1") })}, calls: []string{"send-keys", "send-keys"}},
		"paused":        {place: place{seen: alive, paused: session.Detach}, err: session.ErrRefused},
		"input is off":  {place: place{seen: with(func(in *shim.ContainerRun) { in.Row = row("0", "1", "0") })}, err: session.ErrRefused},
		"frozen":        {place: place{seen: with(func(in *shim.ContainerRun) { in.Frozen = true })}, err: session.ErrRefused},
		"dead":          {place: place{seen: with(func(in *shim.ContainerRun) { in.Row = row("1", "0", "0") })}, err: anyError},
		"no process":    {place: place{seen: with(func(in *shim.ContainerRun) { in.Agent, in.Shim = false, false })}, err: anyError},
		"without tmux":  {place: place{seen: with(func(in *shim.ContainerRun) { in.Row = "" })}, err: anyError},
		"tmux has left": {place: place{seen: alive, reply: shim.TmuxReply{Code: 1, Stderr: "no server running on /s"}}, err: session.ErrGone, calls: []string{"send-keys"}},
	} {
		err := c.place.sessions(func(*Place) {}).Send(t.Context(), session.Location{}, session.Input{Key: "Enter"})
		right := errors.Is(err, c.err) || errors.Is(c.err, anyError) && err != nil
		if !right || !slices.Equal(c.place.calls, c.calls) {
			t.Errorf("%s: %v, and asked %q; want %v and %q", name, err, c.place.calls, c.err, c.calls)
		}
	}
}

// TestShow checks what is shown of a session that is paused, suspended, or has ended.
func TestShow(t *testing.T) {
	seen := func(inputOff string, frozen bool) shim.ContainerRun {
		return shim.ContainerRun{Row: row("0", inputOff, "0"), Frozen: frozen}
	}
	for _, c := range []struct {
		is                          session.Liveness
		in                          shim.ContainerRun
		paused                      string
		inputOff, frozen, suspended bool
	}{
		{session.Alive, seen("0", false), "", false, false, false},
		{session.Alive, seen("1", false), session.Detach, true, false, false},
		{session.Alive, seen("1", true), session.Freeze, true, true, false},
		{session.Alive, seen("0", true), "", false, true, true},
		{session.Alive, shim.ContainerRun{}, session.Freeze, true, true, false},
		{session.Unknown, seen("0", true), session.Detach, true, false, false},
		{session.Dead, seen("1", true), session.Freeze, false, false, false},
	} {
		l := session.Live{Liveness: c.is}
		Show(&l, c.in, c.paused, false)
		if l.InputOff != c.inputOff || l.Frozen != c.frozen || l.Suspended != c.suspended {
			t.Errorf("%s, paused by %q, %+v: input off %v, frozen %v, suspended %v", c.is, c.paused, c.in, l.InputOff, l.Frozen, l.Suspended)
		}
	}
}

// TestStart checks which secrets a shim takes from an earlier run, and where it meets the init.
func TestStart(t *testing.T) {
	l := session.Launch{Secrets: map[string]string{"NEW": "x"}, Spec: session.Spec{Secrets: []string{"OLD", "NEW"}}}
	c, args, held, err := Start(l, "app", "/s", "shim", "/runs/1")
	if err != nil || !slices.Equal(held, []string{"OLD"}) || c.Socket != "/s/g" || c.Init != "/s/k" || !slices.Equal(args[len(args)-3:], []string{"--", "shim", "/runs/1"}) {
		t.Errorf("%+v, %q, holds %q, %v", c, args, held, err)
	}
}
