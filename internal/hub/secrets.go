package hub

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/plan"
)

// secrets asks for the secrets of starts. It may be used by a look and a repair at the
// same time.
type secrets struct {
	ask       func(name string) error
	inherited func(run string) []string // nil: runs inherited none

	mu      sync.Mutex // held while a secret is asked for
	answers map[string]answer
}

// answer says whether a secret is available, and when that was asked.
type answer struct {
	err error
	at  time.Time
}

// How long an answer holds: each question may prompt a person. The answer to one question
// serves the look and the repair that follows it.
const (
	refusedFor = 50 * time.Second
	grantedFor = 5 * time.Second
)

// missing returns why a secret that a start needs is unavailable, or "".
func (s *secrets) missing(c plan.Change, at time.Time) string {
	names := c.After.Secrets
	switch {
	case c.Before != nil && c.Before.Unmade():
		names = slices.Concat(names, c.Before.Inherits)
	case c.Before != nil && s.inherited != nil:
		names = slices.Concat(names, s.inherited(c.Before.Run.ID))
	}
	for _, name := range names {
		if err := s.get(name, at); err != nil {
			return fmt.Sprintf("secret %s cannot be had: %s", name, err)
		}
	}
	return ""
}

// get returns why a secret is unavailable.
func (s *secrets) get(name string, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, asked := s.answers[name]
	if asked && (was.err != nil && at.Sub(was.at) < refusedFor || was.err == nil && at.Sub(was.at) < grantedFor) {
		return was.err
	}
	err := s.ask(name)
	s.answers[name] = answer{err, at}
	return err
}
