package tmux

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// newNonce is a word that nothing tmux prints can contain by chance or intent.
func newNonce() string {
	b := make([]byte, 8)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// Observe lists the sessions of all the project's servers, ordered by socket and
// name: one list-panes a server, and one call more when screens are wanted. Of
// the servers of adopted sessions it lists what is ours, and nothing else.
// Where there is no socket nothing is asked, so tmux need not be installed.
func (r *Runtime) Observe(ctx context.Context, screens bool) ([]session.Live, error) {
	sockets, err := r.sockets()
	if err != nil {
		return nil, err
	}
	if r.config.Server == "" {
		sockets = append(sockets, r.linked()...)
	}
	found := make([][]session.Live, len(sockets))
	errs := make([]error, len(sockets))
	var wg sync.WaitGroup
	for i, socket := range sockets {
		wg.Go(func() { found[i], errs[i] = r.observe(ctx, r.server(socket), screens) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("look at sessions: %w", err)
	}
	return slices.Concat(found...), nil
}

func (r *Runtime) observe(ctx context.Context, s *server, screens bool) ([]session.Live, error) {
	var panes []pane
	err := s.again(ctx, func() error {
		if up, err := s.running(ctx); err == nil && !up {
			return nil // 20 µs, where asking by tmux takes a process
		}
		nonce := newNonce()
		text, err := s.program.run(ctx, s.socket, nil, "list-panes", "-a", "-F", nonce+"|"+tmuxwire.PaneFormat)
		if err == nil {
			panes, err = parsePanes(text, nonce)
			return err
		}
		if errors.Is(err, session.ErrGone) {
			return nil // not one session is left, and the server is about to leave
		}
		if up, asked := s.running(ctx); asked == nil && !up {
			return nil
		}
		return err
	})
	if s.borrowed {
		panes = slices.DeleteFunc(panes, func(p pane) bool { _, foreign := r.markOf(p); return foreign })
	}
	if err != nil || len(panes) == 0 {
		return nil, err
	}
	var shown map[string]string
	if screens {
		var open []string
		for _, p := range panes {
			if !p.closed {
				open = append(open, p.ID)
			}
		}
		if shown, err = s.screens(ctx, open); err != nil {
			return nil, err
		}
	}
	lives := make([]session.Live, len(panes))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(panes)) { // reading the runs' folders is most of the work
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(panes); i = int(next.Add(1)) - 1 {
				l := r.live(s.socket, panes[i])
				if screen, captured := shown[panes[i].ID]; captured {
					l.Show(screen)
				}
				r.assess(ctx, &l, panes[i])
				lives[i] = l
			}
		})
	}
	wg.Wait()
	r.settle(ctx, lives, panes)
	return lives, nil
}

// aboutToWrite is how long a look waits for guests whose agent is gone to write
// down how: that takes them milliseconds, on a machine with nothing to spare
// some hundred.
const aboutToWrite = time.Second

// settle looks again at runs that have just ended, so that who kills an agent
// and then looks sees it dead, and not a contradiction.
func (r *Runtime) settle(ctx context.Context, lives []session.Live, panes []pane) {
	deadline := time.Now().Add(aboutToWrite)
	for wait := time.Millisecond; time.Now().Before(deadline); wait = min(2*wait, 50*time.Millisecond) {
		about := false
		for i := range lives {
			l := &lives[i]
			if l.Vital != session.Unknown || l.Foreign {
				continue
			}
			ending := r.ending(l.Mark.Run) // asked first: it may be over when the exit is read
			r.assess(ctx, l, panes[i])
			about = about || ending && l.Vital == session.Unknown
		}
		if !about || sleep(ctx, wait) != nil {
			return
		}
	}
}

// ending reports whether a run's agent is gone and its guest is not.
func (r *Runtime) ending(run string) bool {
	f, _ := r.facts(run) // what cannot be read is missing
	return f.Agent.PID != 0 && !f.Agent.Alive() && f.Guest.Alive()
}

// screens captures what all the panes show now, in one call. Each screen stands
// behind a line with a nonce, which is given on standard input and so cannot be
// seen from outside: no screen can pretend to be another pane's. One that went
// away meanwhile has none.
func (s *server) screens(ctx context.Context, panes []string) (map[string]string, error) {
	nonce := newNonce()
	var script strings.Builder
	for _, id := range panes {
		// On a line of their own, so that one pane's failure ends only its own. The
		// id is tmux's to write: display-message takes %3 for a form of the time.
		script.WriteString(tmuxwire.Line(tmuxwire.Command{"capture-pane", "-p", "-t", id}, tmuxwire.Command{"display-message", "-p", "-t", id, nonce + "#{pane_id}"}) + "\n")
	}
	text, err := s.program.run(ctx, s.socket, strings.NewReader(script.String()), "source-file", "-")
	if err != nil && !errors.Is(err, session.ErrGone) {
		return nil, err
	}
	shown := map[string]string{}
	for screen, rest, more := strings.Cut(text, nonce); more; screen, rest, more = strings.Cut(rest, nonce) {
		id, after, _ := strings.Cut(rest, "\n")
		shown[id] = tmuxwire.Trim(screen)
		rest = after
	}
	return shown, nil
}
