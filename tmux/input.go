package tmux

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"

	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Pause takes the clients off and the input away; with session.Freeze the agent
// and everything below it stand still, too.
func (r *Runtime) Pause(ctx context.Context, p session.Place, run, mode string) error {
	fail := func(err error) error { return fmt.Errorf("pause session %q: %w", p.Name, err) }
	if mode != session.Detach && mode != session.Freeze {
		return fail(fmt.Errorf("unknown mode %q", mode))
	}
	s, live, err := r.holding(ctx, p, run)
	if err != nil {
		return fail(err)
	}
	if mode == session.Freeze {
		if f, _ := r.facts(run); f.Adopted() {
			return fail(errors.New("it was adopted as it runs, without a guest that could make it stand still: pause { mode = \"detach\" }, or restart it first"))
		}
		if err := r.askGuest(ctx, run, (*shim.Client).Pause); err != nil {
			return fail(err)
		}
	}
	target := tmuxwire.Session(p.Name)
	_, err = s.ask(ctx,
		tmuxwire.DisableInput(live.Place.Pane),
		tmuxwire.Command{"set-option", "-t", target, tmuxwire.PauseOption, mode})
	if err != nil {
		return fail(err)
	}
	// detach-client wants some client to be attached to the server, even with -s.
	if _, err = s.ask(ctx, tmuxwire.Command{"detach-client", "-s", target}); err != nil && !strings.Contains(err.Error(), "no current client") {
		return fail(err)
	}
	return nil
}

// Resume undoes whichever pause there is.
func (r *Runtime) Resume(ctx context.Context, p session.Place, run string) error {
	fail := func(err error) error { return fmt.Errorf("resume session %q: %w", p.Name, err) }
	s, live, err := r.holding(ctx, p, run)
	if err != nil {
		return fail(err)
	}
	if live.Vital != session.Dead {
		// Asked whatever the option says: it is no error if nothing stands still. A
		// session that was only detached needs no guest for it.
		err := r.askGuest(ctx, run, (*shim.Client).Resume)
		if err != nil && live.Suspended { // as adopted, or without its socket
			err = syscall.Kill(live.Agent.PID, syscall.SIGCONT)
		}
		if err != nil && live.Frozen {
			return fail(err)
		}
	}
	_, err = s.ask(ctx,
		tmuxwire.EnableInput(live.Place.Pane),
		tmuxwire.Command{"set-option", "-u", "-t", tmuxwire.Session(p.Name), tmuxwire.PauseOption})
	if err != nil {
		return fail(err)
	}
	return nil
}

// holding is the place, if it stands, is ours and holds that run.
func (r *Runtime) holding(ctx context.Context, p session.Place, run string) (*server, session.Live, error) {
	s := r.server(p.Socket)
	_, live, err := r.owned(ctx, s, p)
	if err == nil && live.Mark.Run != run {
		err = fmt.Errorf("it holds run %s, not %s", live.Mark.Run, run)
	}
	return s, live, err
}

func (r *Runtime) askGuest(ctx context.Context, run string, what func(*shim.Client, context.Context) error) error {
	c, err := shim.Dial(ctx, r.guestSocket(run))
	if err != nil {
		return err
	}
	defer c.Close()
	return what(c, ctx)
}

// Send pastes the text as a person's terminal would, in one go and bracketed if
// the agent asked for that, then presses Enter. Texts for one session are typed
// one after the other.
func (r *Runtime) Send(ctx context.Context, p session.Place, in session.Input) error {
	if err := r.send(ctx, p, in); err != nil {
		return fmt.Errorf("send to session %q: %w", p.Name, err)
	}
	return nil
}

func (r *Runtime) send(ctx context.Context, p session.Place, in session.Input) error {
	if in.Key != "" && !input.Known(in.Key) {
		return fmt.Errorf("unknown key %.40q", in.Key)
	}
	unlock, err := r.typing.lock(ctx, p.Socket+" "+p.Name)
	if err != nil {
		return err
	}
	defer unlock()
	s := r.server(p.Socket)
	now, live, err := r.owned(ctx, s, p)
	switch {
	case err != nil:
		return err
	case live.InputOff || live.Frozen:
		return session.ErrRefused
	case now.Dead || now.closed:
		return errors.New("nothing runs in it")
	}
	pane := live.Place.Pane
	var first []tmuxwire.Command
	if now.InMode { // keys would scroll for the person who looks at it
		first = []tmuxwire.Command{tmuxwire.CancelMode(pane)}
	}
	if in.Key != "" {
		_, err := s.ask(ctx, append(first, tmuxwire.Key(pane, in.Key))...)
		return err
	}
	if text := input.Typed(in.Text); text != "" {
		// A buffer of its own, and by the client's input: no argument of a process.
		buffer := "agentform-" + newNonce()
		_, err := s.ask(ctx, append(first,
			tmuxwire.Command{"set-buffer", "-b", buffer, "--", text},
			tmuxwire.Paste(pane, buffer))...)
		if err != nil {
			return err
		}
	}
	if in.NoEnter {
		return nil
	}
	if err := sleep(ctx, tmuxwire.PasteDelay); err != nil {
		return fmt.Errorf("the text was typed and Enter was not: %w", err)
	}
	_, err = s.ask(ctx, tmuxwire.Key(pane, "Enter"))
	return err
}

// Capture joins wrapped lines, so that the width of the pane does not show.
func (r *Runtime) Capture(ctx context.Context, p session.Place, lines int) (string, error) {
	s := r.server(p.Socket)
	fail := func(err error) (string, error) { return "", fmt.Errorf("capture session %q: %w", p.Name, err) }
	up, err := s.running(ctx)
	if err == nil && !up {
		err = session.ErrGone
	}
	if err != nil {
		return fail(err)
	}
	target := p.Pane
	if target == "" {
		target = tmuxwire.Session(p.Name)
	}
	// What the screen shows is an agent's to choose; it ends at a nonce that none knows.
	text, err := s.show(ctx, tmuxwire.Capture(target, lines))
	if errors.Is(err, tmuxwire.ErrNoServer) {
		err = session.ErrGone
	}
	if err != nil {
		return fail(err)
	}
	return tmuxwire.LastLines(text, lines), nil
}

// turns lets one goroutine at a time type into a session.
type turns struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

// lock waits for its turn and returns what ends it.
func (t *turns) lock(ctx context.Context, name string) (unlock func(), err error) {
	for {
		t.mu.Lock()
		before, taken := t.held[name]
		if !taken {
			if t.held == nil {
				t.held = map[string]chan struct{}{}
			}
			mine := make(chan struct{})
			t.held[name] = mine
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				defer t.mu.Unlock()
				delete(t.held, name)
				close(mine)
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
