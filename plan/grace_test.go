package plan

import (
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

// TestGraceOfAPod checks that a plan says when a changed grace applies to a drain of a node.
func TestGraceOfAPod(t *testing.T) {
	with := func(kind string, grace time.Duration) session.Spec {
		s := spec("a")
		s.Runtime.Kind, s.Stop.Grace = kind, session.Duration(grace)
		return s
	}
	for kind, want := range map[string]string{"tmux": "", "docker": "", "kubernetes": "; until its next restart a drain of its node leaves it 10s"} {
		after := with(kind, 5*time.Minute)
		c := Change{Before: &session.Record{Spec: with(kind, 10*time.Second)}, After: &after}
		if got := graceLater(c); got != want {
			t.Errorf("%s: %q", kind, got)
		}
		c.Before.Spec = after
		if got := graceLater(c); got != "" {
			t.Errorf("%s: %q", kind, got)
		}
	}
}
