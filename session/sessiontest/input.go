package sessiontest

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

func pauses(t *testing.T, h Harness, mode string) {
	p, l := h.create(t, "app-web-a1b2c3")
	ctx, r := t.Context(), h.Runtime
	if err := r.Pause(ctx, p, l.Mark.Run, mode); err != nil {
		t.Fatalf("pause: %v", err)
	}
	live := h.see(t, l.Name)
	if !live.InputOff || live.Frozen != (mode == session.Freeze) || live.Liveness != session.Alive || live.Attached != 0 {
		t.Errorf("input off %v, frozen %v, %s, %d attached", live.InputOff, live.Frozen, live.Liveness, live.Attached)
	}
	if err := r.Send(ctx, p, session.Input{Text: "while paused"}); !errors.Is(err, session.ErrRefused) {
		t.Errorf("send: %v, want ErrRefused", err)
	}
	if err := r.Send(ctx, p, session.Input{Key: "Enter"}); !errors.Is(err, session.ErrRefused) {
		t.Errorf("send a key: %v, want ErrRefused", err)
	}
	for range 2 { // a second resume changes nothing
		if err := r.Resume(ctx, p, l.Mark.Run); err != nil {
			t.Fatalf("resume: %v", err)
		}
	}
	h.unpaused(t, l.Name)
	h.send(t, p, session.Input{Text: "after"})
	h.hears(t, p, "after")
	if slices.Contains(h.Heard(t, p), "while paused") {
		t.Error("it heard what was refused")
	}
}

// freezes checks that a runtime freezes agents if its traits say so, and otherwise refuses to.
func freezes(t *testing.T, h Harness) {
	if h.Runtime.Traits().Freeze {
		pauses(t, h, session.Freeze)
	} else {
		refusesPause(t, h, "", session.Freeze)
	}
}

// refusesPause checks that a pause of a run, or of the session's own, is an error and
// changes nothing.
func refusesPause(t *testing.T, h Harness, run string, modes ...string) {
	p, l := h.create(t, "app-web-a1b2c3")
	for _, mode := range modes {
		if err := h.Runtime.Pause(t.Context(), p, cmp.Or(run, l.Mark.Run), mode); err == nil {
			t.Errorf("paused run %q by %s", run, mode)
		}
	}
	h.unpaused(t, l.Name)
}

func restartLiftsPause(t *testing.T, h Harness) {
	p, l := h.create(t, "app-web-a1b2c3")
	if err := h.Runtime.Pause(t.Context(), p, l.Mark.Run, h.pauseMode()); err != nil {
		t.Fatal(err)
	}
	h.Kill(t, p)
	h.dies(t, l.Name)
	if _, err := h.Runtime.Restart(t.Context(), p, h.Launch(t, l.Name)); err != nil {
		t.Fatal(err)
	}
	h.unpaused(t, l.Name)
	h.send(t, p, session.Input{Text: "hello"})
	h.hears(t, p, "hello")
}

func stopPaused(t *testing.T, h Harness) {
	p, l := h.create(t, "app-web-a1b2c3")
	if err := h.Runtime.Pause(t.Context(), p, l.Mark.Run, h.pauseMode()); err != nil {
		t.Fatal(err)
	}
	h.stop(t, p, l)
	if live := h.see(t, l.Name); live.Liveness != session.Dead || live.Frozen {
		t.Errorf("%s, frozen %v; want dead, and so not frozen", live.Liveness, live.Frozen)
	}
}

func sentStays(t *testing.T, h Harness) {
	a, _ := h.create(t, "app-a")
	b, _ := h.create(t, "app-a-b") // its name begins with the other's
	h.send(t, a, session.Input{Text: "for a"})
	h.hears(t, a, "for a")
	h.send(t, b, session.Input{Text: "for b"})
	h.hears(t, b, "for b")
	if got := h.Heard(t, a); !slices.Equal(got, []string{"for a"}) {
		t.Errorf("a heard %q", got)
	}
	if got := h.Heard(t, b); !slices.Equal(got, []string{"for b"}) {
		t.Errorf("b heard %q", got)
	}
	h.remove(t, a)
	if err := h.Runtime.Send(t.Context(), a, session.Input{Text: "too late"}); !errors.Is(err, session.ErrGone) {
		t.Errorf("send to what is gone: %v, want ErrGone", err)
	}
	h.send(t, b, session.Input{Text: "last"})
	h.hears(t, b, "last")
	if got := h.Heard(t, b); !slices.Equal(got, []string{"for b", "last"}) {
		t.Errorf("b heard %q", got)
	}
}

func sendKey(t *testing.T, h Harness) {
	p, _ := h.create(t, "app-web-a1b2c3")
	h.send(t, p, session.Input{Text: `it's "odd": $HOME ~ #{pane_id} ; {é} \n`, NoEnter: true})
	h.send(t, p, session.Input{Key: "Enter"})
	h.hears(t, p, `it's "odd": $HOME ~ #{pane_id} ; {é} \n`)
}

func captures(t *testing.T, h Harness) {
	p, _ := h.create(t, "app-web-a1b2c3")
	h.Say(t, p, "one", "  two", "", "%end 1 2 1", "last")
	until(t, "the last line shows", func() bool {
		text, err := h.Runtime.Capture(t.Context(), p, 1)
		if err != nil {
			t.Fatal(err)
		}
		return text == "last"
	})
	for lines, want := range map[int]string{
		0:   "one\n  two\n\n%end 1 2 1\nlast",
		3:   "\n%end 1 2 1\nlast",
		500: "one\n  two\n\n%end 1 2 1\nlast",
	} {
		if got, err := h.Runtime.Capture(t.Context(), p, lines); err != nil || got != want {
			t.Errorf("%d lines: %q, %v, want %q", lines, got, err, want)
		}
	}
}

func screens(t *testing.T, h Harness) {
	a, la := h.create(t, "app-a-000000")
	b, lb := h.create(t, "app-b-000000")
	h.Say(t, a, "this is a")
	h.Say(t, b, "this is b")
	shown := func() map[string]string {
		all := map[string]string{}
		for _, l := range h.observe(t, true) {
			all[l.Location.Name] = l.Screen
		}
		return all
	}
	until(t, "both screens show their own", func() bool {
		s := shown()
		return strings.Contains(s[la.Name], "this is a") && strings.Contains(s[lb.Name], "this is b")
	})
	if s := shown(); strings.Contains(s[la.Name], "this is b") || strings.Contains(s[lb.Name], "this is a") {
		t.Errorf("screens are mixed up: %q", s)
	}
	for _, l := range h.observe(t, false) {
		if l.Screen != "" {
			t.Errorf("%s: a screen that nobody asked for", l.Location.Name)
		}
	}
}
