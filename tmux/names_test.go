package tmux

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/session"
)

// Sessions that are created and removed after a reading of the names are known.
func TestServerNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &servers{dir: t.TempDir(), known: map[string]*server{}, namesAt: time.Now().Add(time.Hour)}
		r.names = map[string]string{"old": r.socket(1)}
		is := func(when, name string, want error, count int) {
			t.Helper()
			s, err := r.reserve(t.Context(), name)
			if !errors.Is(err, want) || err == nil && s.socket != r.socket(0) || len(r.names) != count {
				t.Errorf("%s: %s: %v, want %v, of %d", when, name, err, want, len(r.names))
			}
		}
		is("read", "old", session.ErrExists, 1)
		is("read", "new", nil, 2)
		r.names["new"] = r.socket(1)
		is("made", "new", session.ErrExists, 2)
		r.removed(r.at(r.socket(1)), "old")
		is("ended", "old", nil, 2)
		for i := range sessionsPerServer {
			r.names[string(rune('a'+i))] = r.socket(0)
		}
		if s, err := r.reserve(t.Context(), "more"); err != nil || s.socket != r.socket(1) {
			t.Errorf("beside a full server: %v", err)
		}
	})
}
