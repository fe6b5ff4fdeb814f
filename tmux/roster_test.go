package tmux

import (
	"testing"
	"time"
)

// What is made and ended on a server since its names were read is known, too.
func TestRoster(t *testing.T) {
	s := &server{}
	s.made("early") // nothing was read yet, and so will be
	s.roster.read, s.roster.names = time.Now().Add(time.Hour), map[string]bool{"old": true}
	is := func(when, name string, want bool, all int) {
		t.Helper()
		there, err := s.has(t.Context(), name)
		n, failed := s.holds(t.Context())
		if err != nil || failed != nil || there != want || n != all {
			t.Errorf("%s: %s there: %v, of %d; %v, %v", when, name, there, n, err, failed)
		}
	}
	is("read", "old", true, 1)
	is("read", "new", false, 1)
	s.made("new")
	is("made", "new", true, 2)
	s.gone("old")
	is("ended", "old", false, 1)
}
