package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/verify"
	"github.com/agentform/agentform/session"
)

// TestRecordVerified checks that the outcome of a verification replaces no other one than that
// which was the last when it began.
func TestRecordVerified(t *testing.T) {
	r := newRoom(t)
	r.must(r.spec("api"))
	at := time.Now().UTC()
	for _, v := range []session.Verified{{Commit: "b", At: at, Round: 1}, {Commit: "b", At: at, Round: 1, SentAt: at}, {Commit: "b", At: at, OK: true}} {
		rec := r.record("api")
		for i, want := range []error{nil, verify.ErrOutdated} { // of two processes that saw the same
			if err := engine.RecordVerified(t.Context(), r.another(), rec, v); !errors.Is(err, want) {
				t.Errorf("%+v, %d: %v, want %v", v, i, err, want)
			}
		}
		if now := r.record("api").Verified; !now.Same(&v) {
			t.Errorf("it is %+v, want %+v", now, v)
		}
	}
}
