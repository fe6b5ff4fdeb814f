package tmux

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Pause detaches the clients and disables input. With session.Freeze it also suspends the agent and
// its descendants.
func (r *Runtime) Pause(ctx context.Context, p session.Location, run, mode string) (err error) {
	defer annotate(&err, "pause", p.Name)
	if mode != session.Detach && mode != session.Freeze {
		return fmt.Errorf("unknown mode %q", mode)
	}
	s := r.servers.at(p.Socket)
	live, err := r.observer.holding(ctx, s, p, run)
	if err != nil {
		return err
	}
	if mode == session.Freeze {
		if f, _ := r.runs.facts(run); f.Adopted() {
			return errors.New("an adopted agent has no shim to suspend it: use pause { mode = \"detach\" }, or restart it first")
		}
		if err := r.runs.ask(ctx, run, (*shim.Client).Pause); err != nil {
			return err
		}
	}
	target := tmuxwire.Session(p.Name)
	_, err = s.ask(ctx,
		tmuxwire.DisableInput(live.Location.Pane),
		tmuxwire.Command{"set-option", "-t", target, tmuxwire.PauseOption, mode})
	if err != nil {
		return err
	}
	// detach-client fails if no client is attached to the server, even with -s.
	if _, err = s.ask(ctx, tmuxwire.Command{"detach-client", "-s", target}); err != nil && !strings.Contains(err.Error(), "no current client") {
		return err
	}
	return nil
}

// Resume undoes a pause of either mode.
func (r *Runtime) Resume(ctx context.Context, p session.Location, run string) (err error) {
	defer annotate(&err, "resume", p.Name)
	s := r.servers.at(p.Socket)
	live, err := r.observer.holding(ctx, s, p, run)
	if err != nil {
		return err
	}
	if live.Liveness != session.Dead {
		// Whatever the option says: resuming what is not suspended is not an error. A session that
		// was only detached needs no shim.
		err := r.runs.ask(ctx, run, (*shim.Client).Resume)
		if err != nil && live.Suspended { // adopted, or without its socket
			err = syscall.Kill(live.Agent.PID, syscall.SIGCONT)
		}
		if err != nil && live.Frozen {
			return err
		}
	}
	_, err = s.ask(ctx,
		tmuxwire.EnableInput(live.Location.Pane),
		tmuxwire.Command{"set-option", "-u", "-t", tmuxwire.Session(p.Name), tmuxwire.PauseOption})
	return err
}

// Send pastes the text as a terminal does, in one piece and bracketed if the agent requested that,
// then presses Enter. Texts for one session are typed one after the other.
func (r *Runtime) Send(ctx context.Context, p session.Location, in session.Input) (err error) {
	defer annotate(&err, "send to", p.Name)
	release, err := r.typing.Acquire(ctx, p.Socket+" "+p.Name)
	if err != nil {
		return err
	}
	defer release()
	s := r.servers.at(p.Socket)
	now, live, err := r.observer.owned(ctx, s, p)
	switch {
	case err != nil:
		return err
	case live.InputOff || live.Frozen:
		return session.ErrRefused
	case now.Dead || now.closed:
		return errors.New("no agent is running in it")
	}
	pane := live.Location.Pane
	ask := func(cmds ...tmuxwire.Command) error {
		_, err := s.ask(ctx, cmds...)
		return err
	}
	if now.InMode { // otherwise keys would scroll
		if err := ask(tmuxwire.CancelMode(pane)); err != nil {
			return err
		}
	}
	press := func(key string) error { return ask(tmuxwire.Key(pane, key)) }
	return input.Type(ctx, in, press, func(text string) error {
		// Pass the text in the client's input: arguments of processes are public.
		buffer := "agentform-" + newNonce()
		return ask(tmuxwire.Command{"set-buffer", "-b", buffer, "--", text}, tmuxwire.Paste(pane, buffer))
	})
}

// Capture returns the last lines of the screen and its history, with wrapped lines joined so that
// they do not depend on the pane's width.
func (r *Runtime) Capture(ctx context.Context, p session.Location, lines int) (text string, err error) {
	defer annotate(&err, "capture", p.Name)
	target := p.Pane
	if target == "" {
		target = tmuxwire.Session(p.Name)
	}
	return r.servers.at(p.Socket).capture(ctx, target, lines)
}
