package hub_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// verified is the scripted runtime with shims that verify: each command takes a minute, and fails
// as verdicts say, one after the other.
type verified struct {
	*sessiontest.Scripted
	r        *room
	busy     bool // with the command of a hub that was killed
	verdicts []string
	runs     int
}

func (v *verified) Verify(ctx context.Context, _ session.Location, _ string, _ []string, _ time.Duration) (session.Verification, error) {
	v.r.mu.Lock()
	busy := v.busy
	v.busy = false
	v.r.mu.Unlock()
	if busy {
		return session.Verification{}, session.ErrUnprobeable
	}
	select {
	case <-time.After(time.Minute):
	case <-ctx.Done():
		return session.Verification{}, errors.Join(session.ErrUnprobeable, ctx.Err())
	}
	v.r.mu.Lock()
	defer v.r.mu.Unlock()
	failed := v.verdicts[min(v.runs, len(v.verdicts)-1)]
	v.runs++
	return session.Verification{Failed: failed, Output: "the end", Log: "/log"}, nil
}

// repo makes a repository whose branch agents/api, checked out, has work.
func (r *room) repo() (path string, commit func()) {
	r.t.Helper()
	path = filepath.Join(r.dir, "repo")
	git := func(script string) {
		r.t.Helper()
		c := exec.Command("sh", "-e", "-c", script)
		c.Dir = r.dir
		if out, err := c.CombinedOutput(); err != nil {
			r.t.Fatalf("%s: %v\n%s", script, err, out)
		}
	}
	commit = func() {
		git("cd repo; git -c user.name=a -c user.email=a@example.invalid commit -q --allow-empty -m more")
	}
	git("git init -q -b main repo")
	commit()
	git("cd repo; git switch -q -c agents/api")
	commit()
	return path, commit
}

// TestVerification checks that the hub verifies the work of a session when its turn has ended, once
// for each commit also if it is killed, and that it sends the failure to its agent.
func TestVerification(t *testing.T) {
	in(t, func(r *room) {
		path, commit := r.repo()
		r.branch[path] = "agents/api"
		shims := &verified{r.rt, r, false, []string{"exit status 2: red", ""}, 0}
		with := onRuntime(shims)
		s := r.spec("api", finishes, func(s *session.Spec) {
			s.Finish, s.Branch = session.FinishNever, "agents/api"
			s.Workspace = session.Workspace{Mode: session.InPlace, Path: path, Repo: path, OnDestroy: session.Keep}
			s.Verify = session.Verify{Command: []string{"make"}, Timeout: session.Duration(time.Hour), OnFailure: session.FailureSends, Rounds: 3}
		})
		r.rt.Script(place("api"), sessiontest.Step{Screen: "busy"}, sessiontest.Step{After: 25 * time.Second, Screen: "Done.\n>"})
		r.apply(s)
		for range 3 { // hubs that are killed while they verify
			_, stop := r.hub(with)
			time.Sleep(50 * time.Second)
			stop()
		}
		if shims.runs != 0 || r.record("api").Verified != nil {
			t.Fatalf("%d runs: %+v", shims.runs, r.record("api").Verified)
		}
		shims.busy = true
		_, stop := r.hub(with)
		defer stop()
		sent := func() bool { st, _ := r.rt.State(place("api")); return len(st.Sent) > 0 }
		for i := 0; i < 120 && !sent(); i++ {
			time.Sleep(time.Second)
		}
		r.rt.Edit(place("api"), func(st *sessiontest.State) { st.Live.Screen, st.Live.MovedAt = "busy", time.Now() })
		time.Sleep(time.Minute)
		v := r.record("api").Verified
		if v == nil || v.OK || v.Round != 1 || v.SentAt.IsZero() || v.Held || v.Detail != "exit status 2: red" {
			t.Fatalf("%+v", v)
		}
		if st, _ := r.rt.State(place("api")); len(st.Sent) == 0 || !strings.Contains(st.Sent[0].Text, "the end") {
			t.Errorf("it was sent %+v", st.Sent)
		}
		commit()
		r.rt.Edit(place("api"), func(st *sessiontest.State) { st.Live.Screen, st.Live.MovedAt = "Fixed.\n>", time.Now() })
		time.Sleep(5 * time.Minute)
		if v := r.record("api").Verified; v == nil || !v.OK || shims.runs != 2 {
			t.Errorf("%d runs: %+v", shims.runs, v)
		}
		want := []string{"verification_failed red 1/3", "verified " + r.record("api").Verified.Commit}
		if d := cmp.Diff(want, r.events("api", history.Verified, history.VerificationFailed, history.Escalated)); d != "" {
			t.Error(d)
		}
	})
}
