package hub

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentform/agentform/history"
)

// What is kept for those who come back is bounded, and who was too slow learns it.
func TestKeptEvents(t *testing.T) {
	s := newStream()
	for i := range keptEvents + 10 {
		s.put(history.Event{Kind: history.Ready, Detail: fmt.Sprint(i)})
	}
	x := s.after(0)
	if len(x.events) != keptEvents || !x.missed || x.events[0].Detail != "10" || x.last != keptEvents+10 {
		t.Errorf("%d are kept, the first is %s, the last has number %d, missed %v", len(x.events), x.events[0].Detail, x.last, x.missed)
	}
	if x = s.after(x.last - 2); len(x.events) != 2 || x.missed {
		t.Errorf("%d more, missed %v", len(x.events), x.missed)
	}
	if n, _, behind, err := s.start(x.events[0].ID); n != x.last-1 || behind || err != nil {
		t.Errorf("it goes on after %d, behind %v, %v", n, behind, err)
	}
	if _, _, behind, err := s.start("other.5.7"); !behind || err != nil {
		t.Errorf("after an event of another hub: behind %v, %v", behind, err)
	}
	for range 200 {
		s.put(history.Event{Kind: history.StatusChanged, Excerpt: strings.Repeat("x", 48<<10)})
	}
	if x = s.after(0); len(x.events) > keptExcerpts/(48<<10) {
		t.Errorf("%d events with long excerpts are kept", len(x.events))
	}
}
