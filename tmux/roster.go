package tmux

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// rosterAge is how old what was read of a server's names may be when a name has to be
// free. Nobody else makes sessions while an apply does, but what one that was killed
// had begun, which whoever holds the state's lock waits for first.
const rosterAge = time.Second

// roster is the names of the sessions on a server, read at most once a second: to ask
// every server about every name would cost as many processes as there are sessions,
// times servers.
type roster struct {
	mu    sync.Mutex // held also while they are read, so that nothing that is made or ended meanwhile is missed
	read  time.Time
	names map[string]bool
}

// has reports whether a session of that name is on the server.
func (s *server) has(ctx context.Context, name string) (bool, error) {
	s.roster.mu.Lock()
	defer s.roster.mu.Unlock()
	err := s.roll(ctx)
	return s.roster.names[name], err
}

// holds is how many sessions are on the server.
func (s *server) holds(ctx context.Context) (int, error) {
	s.roster.mu.Lock()
	defer s.roster.mu.Unlock()
	err := s.roll(ctx)
	return len(s.roster.names), err
}

// roll reads the names, unless they are fresh. The caller holds the lock.
func (s *server) roll(ctx context.Context) error {
	began := time.Now()
	if began.Sub(s.roster.read) < rosterAge {
		return nil
	}
	text, err := s.ask(ctx, tmuxwire.Command{"list-sessions", "-F", "#{session_name}"})
	if err != nil && !errors.Is(err, session.ErrGone) {
		return err
	}
	s.roster.read, s.roster.names = began, map[string]bool{}
	for line := range strings.Lines(text) {
		s.roster.names[strings.TrimSuffix(line, "\n")] = true
	}
	return nil
}

// made says that a session has been made on the server, and gone that it is not there
// any more.
func (s *server) made(name string) {
	s.roster.mu.Lock()
	defer s.roster.mu.Unlock()
	if s.roster.names != nil {
		s.roster.names[name] = true
	}
}

func (s *server) gone(name string) {
	s.roster.mu.Lock()
	defer s.roster.mu.Unlock()
	delete(s.roster.names, name)
}

// others are the servers besides one on which a session of the project's may be: those
// that have a socket, looked for at most once a second, and those that this Runtime
// has used.
func (r *Runtime) others(than *server) ([]*server, error) {
	r.mu.Lock()
	fresh := time.Since(r.looked) < rosterAge
	r.mu.Unlock()
	if !fresh {
		began := time.Now()
		sockets, err := r.sockets()
		if err != nil {
			return nil, err
		}
		for _, socket := range sockets {
			r.server(socket)
		}
		r.mu.Lock()
		r.looked = began
		r.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []*server
	for _, s := range r.servers {
		if s != than && !s.borrowed {
			found = append(found, s)
		}
	}
	return found, nil
}
