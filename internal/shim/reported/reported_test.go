package reported

import (
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

// TestCauses checks that package session has all causes that shims record.
func TestCauses(t *testing.T) {
	for recorded, want := range map[string]session.Cause{
		rundir.CauseSelf: session.CauseSelf, rundir.CauseRequested: session.CauseRequested, rundir.CauseHangup: session.CauseHangup,
		rundir.CauseTimeout: session.CauseTimeout, rundir.CauseFailedStart: session.CauseFailedStart,
	} {
		if got := Exit(&rundir.Exit{Cause: recorded}).Cause; got != want || !rundir.KnownCause(string(want)) {
			t.Errorf("%q is %q, want %q", recorded, got, want)
		}
	}
}

// An exit that a container reports has a short detail of one line.
func TestClaimedExit(t *testing.T) {
	e := ClaimedExit(&rundir.Exit{Cause: "self", Signal: "SIGKILL", Detail: "killed\n\n\tPlan: 0 to destroy " + strings.Repeat("ü", 9999)})
	if want := "killed Plan: 0 to destroy üü"; !strings.HasPrefix(e.Detail, want) || len([]rune(e.Detail)) != detailLimit+1 {
		t.Errorf("%.80q…, %d runes", e.Detail, len([]rune(e.Detail)))
	}
	if ClaimedExit(nil) != nil {
		t.Error("an exit of nothing")
	}
}

// TestVerification checks that the reason of a failure, which is kept, contains no output.
func TestVerification(t *testing.T) {
	for want, p := range map[string]shim.Probed{
		"":                         {Output: "token t0p"},
		"exit status 2":            {Code: 2, Output: "token t0p"},
		"killed by SIGKILL":        {Code: 137, Signal: "SIGKILL", Output: "token t0p"},
		"it took longer than 1m0s": {TimedOut: true, Output: "token t0p"},
	} {
		if v := Verification(p, time.Minute); v.Failed != want || v.Output != "token t0p" {
			t.Errorf("%+v, want %q", v, want)
		}
		if got := p.Failure(time.Minute); want != "" && got != want+": token t0p" {
			t.Errorf("a probe has failed for %q", got)
		}
	}
}
