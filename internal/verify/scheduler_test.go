package verify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// seen returns a look at the session of a bench, whose agent rests.
func (b *bench) seen() Seen {
	b.record.Intent = session.Settled
	return Seen{Record: b.record, Doing: b.doing, Checkout: session.Checkout{Path: b.work, Exists: true, Git: true, Branch: "agents/api"},
		Live: &session.Live{Liveness: session.Alive, Mark: session.Mark{Run: "run"}}}
}

// scheduler returns a scheduler that records outcomes in the bench, and that opens no runtime if there is a
// reason.
func (b *bench) scheduler(why func() error, told *[]string) *Scheduler {
	folder := b.t.TempDir()
	return NewScheduler(Access{Reach: Reach{
		Open:   func(session.RuntimeSpec) (session.Runtime, error) { return b, why() },
		Folder: func(session.Record) string { return folder },
		Emit:   func(e history.Event) { *told = append(*told, fmt.Sprint(e.Kind, " ", e.Reason, ": ", e.Detail)) },
		Now:    time.Now, Log: slog.New(slog.DiscardHandler),
	}, Record: func(_ context.Context, _ session.Record, v session.Verified) error {
		b.record.Verified = &v
		return nil
	}}, &sync.WaitGroup{}, func() {})
}

// TestRetries checks how often a verification that cannot be made is tried again, and that a person
// is called once for each turn.
func TestRetries(t *testing.T) {
	b := newBench(t)
	b.turn("git commit -q --allow-empty -m one")
	synctest.Test(t, func(t *testing.T) {
		var told, tries []string
		begun := time.Now()
		why := error(errors.New("no runtime"))
		x := b.scheduler(func() error {
			tries = append(tries, time.Since(begun).String())
			return why
		}, &told)
		look := func(d time.Duration) {
			for range int(d / time.Second) {
				x.See(t.Context(), []Seen{b.seen()})
				x.Work.Wait()
				time.Sleep(time.Second)
			}
		}
		look(time.Hour)
		want := []string{"0s", "10s", "30s", "1m10s", "2m30s", "5m10s", "10m30s", "20m30s", "30m30s", "40m30s", "50m30s"}
		if d := cmp.Diff(want, tries); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"escalated cannot_verify: no runtime"}, told); d != "" {
			t.Error(d)
		}
		b.doing.Ended = b.doing.Ended.Add(time.Minute)
		tries, told, why = nil, nil, fmt.Errorf("verify: %w", &shim.Error{Code: shim.CodeBusy, Message: "a verification is running"})
		look(time.Minute)
		if len(tries) != 6 || len(told) > 0 {
			t.Errorf("while another one runs there were tries %q, and it told %q", tries, told)
		}
	})
}

// TestWaitsForASlot checks that a session is not verified that another process has verified while
// it waited.
func TestWaitsForASlot(t *testing.T) {
	b := newBench(t, func(v *session.Verify) { v.Command = []string{"sh", "-c", "echo ran >> ../runs"} })
	b.sh(b.repo, "touch ../runs")
	b.turn("git commit -q --allow-empty -m one")
	synctest.Test(t, func(t *testing.T) {
		var told []string
		x := b.scheduler(func() error { return nil }, &told)
		for range cap(x.slots) {
			x.slots <- struct{}{}
		}
		x.See(t.Context(), []Seen{b.seen()})
		synctest.Wait()
		b.record.Verified = &session.Verified{Commit: "b", At: time.Now()}
		x.See(t.Context(), []Seen{b.seen()})
		<-x.slots
		x.Work.Wait()
		if runs := b.sh(b.repo, "cat ../runs"); runs != "" || len(told) > 0 {
			t.Errorf("it ran %q, and told %q", runs, told)
		}
		if !x.doubts(b.record.Address) {
			t.Error("a command that did not run has changed the workspace")
		}
		time.Sleep(retryAfter)
		x.See(t.Context(), []Seen{b.seen()})
		x.Work.Wait()
		if !b.record.Verified.OK || len(x.slots) != cap(x.slots)-1 {
			t.Errorf("%+v, %d slots are taken, %q", b.record.Verified, len(x.slots), told)
		}
	})
}

// TestCommandThatCommits checks that a command that commits each time is run again once if it had to
// wait, and then fails.
func TestCommandThatCommits(t *testing.T) {
	b := newBench(t, func(v *session.Verify) {
		v.Command = []string{"sh", "-c", "echo ran >> ../runs; git commit -q --allow-empty -m more"}
		v.OnFailure = session.FailureHolds
	})
	b.turn("git commit -q --allow-empty -m one")
	synctest.Test(t, func(t *testing.T) {
		var told []string
		x := b.scheduler(func() error { return nil }, &told)
		for range 3 {
			for range cap(x.slots) {
				x.slots <- struct{}{}
			}
			x.See(t.Context(), []Seen{b.seen()})
			synctest.Wait()
			for range cap(x.slots) {
				<-x.slots
			}
			x.Work.Wait()
			time.Sleep(retryAfter)
		}
		if v := b.record.Verified; v == nil || v.OK || !strings.HasPrefix(v.Detail, "the command moved the branch to ") || b.sh(b.repo, "cat ../runs") != "ran\nran" {
			t.Errorf("%+v, told %q", v, told)
		}
	})
}
