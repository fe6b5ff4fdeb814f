package apply_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// TestEndOfARunIsReportedOnce: a run that ended by itself is reported when it is found,
// with how it ended; one that was stopped is not reported again when it starts.
func TestEndOfARunIsReportedOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		exit   session.Exit
		reason string
		detail string
	}{
		{"left", session.Exit{Cause: "self", Code: 3, Ran: session.Duration(time.Minute)}, "self", "exit status 3"},
		{"took too long", session.Exit{Cause: "timeout", Signal: "SIGTERM", Ran: session.Duration(time.Minute)}, "timeout", "timeout, killed by SIGTERM"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newFixture(t)
			s := r.spec("api")
			r.must(r.create(s))
			old := r.record("api")
			r.rt.Exit(r.place("api"), c.exit)
			r.must(r.one(plan.Stop, s))
			r.must(r.one(plan.Restart, s))
			if e := r.event(history.RunEnded, "api"); e.Run != old.Run.ID || e.Reason != c.reason || e.Detail != c.detail {
				t.Errorf("run ended: %+v", e)
			}
			if rec := r.record("api"); !rec.Run.EndedAt.IsZero() {
				t.Errorf("the new run ended at %s", rec.Run.EndedAt)
			}
		})
	}
}

// TestReadyIsReportedOnce: of a dependency as of all others, also when everything is
// waited for; and its terminal stands before.
func TestReadyIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		db, app, plain := r.spec("db"), r.spec("app", "db"), r.spec("plain")
		db.Agent.Ready, app.Agent.Ready = ">", ">"
		for _, name := range []string{"db", "app"} {
			r.rt.Script(r.place(name), sessiontest.Step{After: time.Second, Screen: ">"})
		}
		tally := r.must(r.create(db, app, plain))
		events := r.eventsOf(history.IOAttached, history.Ready)
		slices.SortStableFunc(events, func(a, b string) int { return cmp.Compare(name(a), name(b)) })
		if !slices.Equal(events, []string{"io_attached app", "io_attached db", "ready db", "io_attached plain", "ready plain"}) {
			t.Errorf("events %v", events)
		}
		for name, ready := range map[string]bool{"db": true, "app": false, "plain": true} {
			if at := r.record(name).Run.ReadyAt; at.IsZero() == ready {
				t.Errorf("%s is on record as ready at %s", name, at)
			}
		}
		if err := r.applier.Await(t.Context(), &tally); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"db", "app", "plain"} {
			r.event(history.Ready, name)
		}
	})
}

// name is the session of an event that eventsOf returned.
func name(event string) string { return event[strings.LastIndex(event, " ")+1:] }

// TestInterruptionIsReportedInPlainWords: its error does not name the program's
// own terms.
func TestInterruptionIsReportedInPlainWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		s := r.spec("api")
		s.Agent.PromptVia, s.Agent.Ready, s.Prompt = "paste", ">", session.PromptOf("go")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		_, err := r.applier.Run(ctx, r.create(s), nil)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("error: %v", err)
		}
		for _, text := range []string{err.Error(), r.record("api").LastError, r.event(history.ApplyErrored, "api").Detail} {
			if strings.Contains(text, "context") || !strings.Contains(text, "wait until it is ready: interrupted") {
				t.Errorf("reported %q", text)
			}
		}
	})
}
