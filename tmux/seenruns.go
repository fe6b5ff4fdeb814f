package tmux

import "sync"

// mostSeen bounds a set of runs: a hub that restarts agents for months meets no end of
// them.
const mostSeen = 10_000

// seenRuns is a set of runs. When it is full, it starts over: what is known of a run
// only saves work. The zero value is ready, and may be used from many goroutines.
type seenRuns struct {
	mu   sync.Mutex
	runs map[string]bool
}

func (s *seenRuns) has(run string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[run]
}

// add adds a run and reports whether it was not there.
func (s *seenRuns) add(run string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs[run] {
		return false
	}
	if s.runs == nil || len(s.runs) >= mostSeen {
		s.runs = map[string]bool{}
	}
	s.runs[run] = true
	return true
}
