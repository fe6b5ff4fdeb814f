//go:build real

package docs_test

import (
	"encoding/json"
	"testing"
	"time"
)

// TestPipelineStory: the reviewer of examples/pipeline.hcl starts when all of its
// builders have finished, and not before.
func TestPipelineStory(t *testing.T) {
	w := newWorld(t, build(t))
	out, code := w.sh("agentform -f examples/pipeline.hcl apply --auto-approve --wait")
	t.Cleanup(func() { w.sh("agentform -f examples/pipeline.hcl destroy --auto-approve") })
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	started := func(address string) time.Time {
		t.Helper()
		out, _ := w.sh("agentform -f examples/pipeline.hcl show --json '" + address + "'")
		var shown struct {
			Run struct {
				StartedAt time.Time `json:"started_at"`
			}
			Exit *struct {
				Code int
				At   time.Time
			}
		}
		if err := json.Unmarshal([]byte(out), &shown); err != nil {
			t.Fatal(err, out)
		}
		if shown.Exit != nil {
			if shown.Exit.Code != 0 {
				t.Errorf("%s exited with %d", address, shown.Exit.Code)
			}
			return shown.Exit.At // of a builder: when it had finished
		}
		return shown.Run.StartedAt
	}
	review := started("review")
	for _, area := range []string{"api", "web", "docs"} {
		if end := started(`build["` + area + `"]`); end.IsZero() || !end.Before(review) {
			t.Errorf("the reviewer was started at %s, and the builder of %s ended at %s", review, area, end)
		}
	}
}
