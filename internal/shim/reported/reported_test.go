package reported

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/shim/rundir"
)

// What a container says of an exit is one line, and not long.
func TestExit(t *testing.T) {
	e := Exit(&rundir.Exit{Cause: "self", Signal: "SIGKILL", Detail: "killed\n\n\tPlan: 0 to destroy " + strings.Repeat("ü", 9999)})
	if want := "killed Plan: 0 to destroy üü"; !strings.HasPrefix(e.Detail, want) || len([]rune(e.Detail)) != detailLimit+1 {
		t.Errorf("%.80q…, %d runes", e.Detail, len([]rune(e.Detail)))
	}
	if Exit(nil) != nil {
		t.Error("an exit of nothing")
	}
}
