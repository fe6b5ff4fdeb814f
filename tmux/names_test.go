package tmux

import (
	"testing"
	"time"
)

// Sessions that are created and removed after the names were read are known.
func TestServerNames(t *testing.T) {
	s := &server{}
	s.created("early") // no names were read yet
	s.namesAt, s.names = time.Now().Add(time.Hour), map[string]bool{"old": true}
	is := func(when, name string, want bool, count int) {
		t.Helper()
		there, err := s.has(t.Context(), name)
		if err != nil || there != want || len(s.names) != count {
			t.Errorf("%s: %s there: %v, of %d; %v", when, name, there, len(s.names), err)
		}
	}
	is("read", "old", true, 1)
	is("read", "new", false, 1)
	s.created("new")
	is("made", "new", true, 2)
	s.removed("old")
	is("ended", "old", false, 1)
}
