package tmux

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

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
	turn  sync.Mutex // held while they are read
	mu    sync.Mutex // guards what follows
	read  time.Time
	names map[string]bool
}

// has reports whether a session of that name is on the server.
func (s *server) has(ctx context.Context, name string) (bool, error) {
	s.roster.turn.Lock()
	defer s.roster.turn.Unlock()
	s.roster.mu.Lock()
	fresh, there := time.Since(s.roster.read) < rosterAge, s.roster.names[name]
	s.roster.mu.Unlock()
	if fresh {
		return there, nil
	}
	began := time.Now()
	text, err := s.ask(ctx, command{"list-sessions", "-F", "#{session_name}"})
	if err != nil && !errors.Is(err, session.ErrGone) {
		return false, err
	}
	names := map[string]bool{}
	for line := range strings.Lines(text) {
		names[strings.TrimSuffix(line, "\n")] = true
	}
	s.roster.mu.Lock()
	defer s.roster.mu.Unlock()
	s.roster.read, s.roster.names = began, names
	return names[name], nil
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
