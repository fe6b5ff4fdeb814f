package hub_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// wrote adds to the transcript of a session's Claude Code that its turn ended now, with an answer or
// a 401.
func (r *room) wrote(dir, name string, refused bool) {
	r.t.Helper()
	if refused {
		r.wroteEnd(dir, name, "authentication_failed", "Please run /login · API Error: 401")
	} else {
		r.wroteEnd(dir, name, "", "Done.")
	}
}

// wroteEnd is wrote for any failure, in Claude's words; empty: it has answered.
func (r *room) wroteEnd(dir, name, failure, said string) {
	r.t.Helper()
	rec := r.record(name)
	at := time.Now().UTC().Format(time.RFC3339Nano)
	line := func(format string, args ...any) string {
		return fmt.Sprintf(`{"timestamp":%q,"sessionId":%q,"cwd":%q,`, at, rec.Run.Conversation, rec.Tree.Path) + fmt.Sprintf(format, args...) + "}\n"
	}
	text := line(`"type":"user","message":{"content":"go"}`)
	if failure != "" {
		text += line(`"type":"assistant","message":{"id":"m%[1]s","content":[{"type":"text","text":%[2]q}]},"isApiErrorMessage":true,"error":%[3]q`, at, said, failure)
	} else {
		text += line(`"type":"assistant","message":{"id":"m%[1]s","stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":3},"content":[{"type":"text","text":%[2]q}]}`, at, said)
	}
	text += line(`"type":"system","subtype":"turn_duration"`)
	file := filepath.Join(dir, "projects", "-"+filepath.Base(rec.Tree.Path), rec.Run.Conversation+".jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.rt.Edit(place(name), func(st *sessiontest.State) { st.Live.MovedAt = time.Now() })
}

// TestRefusedCredential checks that a credential that its provider refuses holds the hub's starts of
// all sessions that have it, is notified once, and holds them until one of them answers, or until a
// person has started one.
func TestRefusedCredential(t *testing.T) {
	in(t, func(r *room) {
		dir := filepath.Join(r.dir, "login")
		mine, other := subscribed(dir), subscribed("/srv/claude")
		var specs []session.Spec
		for _, n := range []string{"a", "b", "c", "d"} {
			r.rt.Script(place(n), sessiontest.Step{Screen: "❯ \n  ? for shortcuts"})
			login := mine
			if n == "d" {
				login = other
			}
			specs = append(specs, r.spec(n, login))
		}
		r.apply(specs...)
		h, stop := r.hub()
		defer stop()
		time.Sleep(time.Minute)
		r.wrote(dir, "a", true)
		time.Sleep(10 * time.Second)
		r.wrote(dir, "b", true)
		time.Sleep(10 * time.Second)
		r.rt.Kill(place("c"))
		r.rt.Kill(place("d"))
		time.Sleep(10 * time.Minute)
		if r.alive("c") || !r.alive("d") {
			t.Errorf("c and d live: %t %t; %q", r.alive("c"), r.alive("d"), r.events("c"))
		}
		if got := h.Snapshot().Plan.Changes[2]; got.Reason != plan.ReasonRefused || !strings.Contains(got.Detail, "the provider refused claude, ") || !strings.Contains(got.Detail, "session.b at") {
			t.Errorf("c is held: %+v", got)
		}
		if got := r.events("c", history.Held); len(got) == 0 || got[len(got)-1] != "held credential_refused" {
			t.Errorf("events of c: %q", got)
		}
		k, _ := h.Snapshot().Of("session.a")
		if got := status.Of(k).Detail; got != "Please run /login · API Error: 401; log in again: start claude and type /login" {
			t.Errorf("the status of a: %q", got)
		}
		r.wrote(dir, "b", false)
		time.Sleep(time.Minute)
		if !r.alive("c") {
			t.Errorf("c does not live after b has answered: %q", r.events("c"))
		}
		r.wrote(dir, "b", true)
		time.Sleep(10 * time.Second)
		r.rt.Kill(place("c"))
		time.Sleep(10 * time.Minute)
		if r.alive("c") {
			t.Error("c is started after b was refused again")
		}
		r.rt.Kill(place("a"))
		e := r.open("ada")
		defer e.Close()
		if _, _, err := e.Override(r.t.Context(), engine.Override{Addresses: []session.Address{"session.a"}, Desired: session.Running}, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if !r.alive("c") {
			t.Errorf("c does not live after ada has started a: %q", r.events("c"))
		}
		var told []string
		r.mu.Lock()
		for _, x := range r.notified {
			if x.Event == "failed" {
				told = append(told, x.Address+": "+x.Detail)
			}
		}
		r.mu.Unlock()
		const detail = "Please run /login · API Error: 401; log in again: start claude and type /login; and 2 more with the same credential"
		want := []string{"session.a: " + detail, "session.b: " + detail}
		if d := cmp.Diff(want, told); d != "" {
			t.Error(d)
		}
	})
}
