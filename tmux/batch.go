package tmux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// request is one line of commands for a server.
type request struct {
	ctx   context.Context
	cmds  []tmuxwire.Command
	start bool // the server is started if there is none

	text string // all that the commands printed, without the last line's end
	err  error
	done chan struct{}
}

// ask runs commands one after the other, with nothing of another client in
// between, until one fails, and returns what they printed. session.ErrGone if no
// server runs, or if it leaves meanwhile: whatever was asked about went with it.
func (s *server) ask(ctx context.Context, cmds ...tmuxwire.Command) (string, error) {
	var text string
	err := s.again(ctx, func() error {
		var err error
		text, err = s.submit(&request{ctx: ctx, cmds: cmds})
		if !errors.Is(err, tmuxwire.ErrNoServer) {
			return err
		}
		if up, asked := s.running(ctx); asked != nil || up {
			return err
		}
		return fmt.Errorf("tmux server %s: %w", s.socket, session.ErrGone)
	})
	return text, err
}

// begin is ask for commands that start the server if there is none. It tries
// nothing twice.
func (s *server) begin(ctx context.Context, cmds ...tmuxwire.Command) (string, error) {
	return s.submit(&request{ctx: ctx, cmds: cmds, start: true})
}

// show runs a command that prints what an agent has written, which may be many
// megabytes: it shares no process with requests, and with few of its like.
func (s *server) show(ctx context.Context, c tmuxwire.Command) (string, error) {
	return s.shows.submit(&request{ctx: ctx, cmds: []tmuxwire.Command{c}}, s.run)
}

// submit hands a request in and waits for its answer.
func (s *server) submit(q *request) (string, error) { return s.requests.submit(q, s.run) }

// queue gathers requests: those that come while others are under way go together
// in the next process.
type queue struct {
	most int // in one process; 0: all

	mu   sync.Mutex
	busy bool       // work runs
	next []*request // for the next batch
}

// submit waits for the answer that a run of the request gives it.
func (w *queue) submit(q *request, run func([]*request)) (string, error) {
	q.done = make(chan struct{})
	w.mu.Lock()
	w.next = append(w.next, q)
	if !w.busy {
		w.busy = true
		go w.work(run)
	}
	w.mu.Unlock()
	select {
	case <-q.done:
		return q.text, q.err
	case <-q.ctx.Done():
		return "", &Error{Command: q.cmds[0][0], Err: fmt.Errorf("no answer: %w", q.ctx.Err())}
	}
}

// work runs batches until nobody waits.
func (w *queue) work(run func([]*request)) {
	for {
		w.mu.Lock()
		n := len(w.next)
		if w.most > 0 {
			n = min(n, w.most)
		}
		batch := w.next[:n:n]
		w.next = w.next[n:]
		if n == 0 {
			w.busy, w.next = false, nil
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		run(batch)
		for _, q := range batch {
			close(q.done)
		}
	}
}

// run runs one batch in one process. Requests whose caller has gone are left
// out.
func (s *server) run(batch []*request) {
	nonce := newNonce()
	var script strings.Builder
	start := false
	for i, q := range batch {
		if q.err = q.ctx.Err(); q.err != nil {
			continue
		}
		if q.start && !start {
			start = true
			// Each time, so that it does not matter who started the server.
			for _, c := range append(tmuxwire.Options(0), tmuxwire.Terminal()) {
				script.WriteString(tmuxwire.Line(c) + "\n")
			}
		}
		// The marks are lines of their own, and the second is in the request's, so
		// that it only shows when nothing before it failed.
		first := tmuxwire.Command{"display-message", "-p", mark(nonce, i, "begin")}
		last := tmuxwire.Command{"display-message", "-p", mark(nonce, i, "end")}
		script.WriteString(tmuxwire.Line(first) + "\n" + tmuxwire.Line(append(q.cmds[:len(q.cmds):len(q.cmds)], last)...) + "\n")
	}
	args, run := []string{"source-file", "-"}, s.program.run
	if start {
		args = append([]string{"start-server", ";"}, args...)
		run = s.program.start
	}
	var out string
	stdin, err := whole(script.String())
	if err == nil {
		defer stdin.Close()
		// Not a caller's context: the others' commands are in it as well.
		out, err = run(context.Background(), s.socket, stdin, args...)
	}
	settle(batch, nonce, out, err)
}

func mark(nonce string, i int, what string) string { return fmt.Sprintf("%s %d %s", nonce, i, what) }

// settle gives each request of a batch its answer. What a request printed stands
// between its marks; without its second mark it failed. tmux prints one error a
// failed line, in their order.
func settle(batch []*request, nonce, out string, err error) {
	var failed []*request
	out = "\n" + out
	for i, q := range batch {
		if q.err != nil {
			continue
		}
		// The end of a line is the beginning of the next one.
		_, rest, begun := strings.Cut(out, "\n"+mark(nonce, i, "begin"))
		text, rest, ended := strings.Cut(rest, "\n"+mark(nonce, i, "end"))
		if begun && ended {
			q.text, out = strings.Clone(strings.TrimPrefix(text, "\n")), rest
			continue
		}
		failed = append(failed, q)
	}
	if len(failed) == 0 {
		return
	}
	var batchErr *Error
	if !errors.As(err, &batchErr) { // tmux was not even started
		for _, q := range failed {
			q.err = err
		}
		return
	}
	if errors.Is(batchErr, tmuxwire.ErrNoServer) || batchErr.Output == "" {
		for _, q := range failed {
			q.err = &Error{Command: q.cmds[0][0], Output: batchErr.Output, Err: batchErr.Err}
		}
		return
	}
	messages := strings.Split(batchErr.Output, "\n")
	for i, q := range failed {
		if len(messages) == len(failed) {
			q.err = failure(q.cmds[0][0], messages[i], nil)
		} else { // whose is whose cannot be told, so nothing is concluded from any
			q.err = &Error{Command: q.cmds[0][0], Output: batchErr.Output}
		}
	}
}

// whole is a text to be read from its beginning, all there before anyone reads:
// an agentform that is killed while it writes must not leave tmux half a line,
// a new session without its mark. Its file has no name any more. Where no file can be
// made, as on a full disk, a pipe holds a text of usual length.
func whole(text string) (*os.File, error) {
	f, err := os.CreateTemp("", "agentform-")
	if err != nil {
		return piped(text, err)
	}
	err = os.Remove(f.Name())
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return piped(text, errors.Join(err, f.Close()))
	}
	return f, nil
}

// pipeHolds is how much a pipe takes before somebody reads: on macOS less than on Linux.
const pipeHolds = 16 << 10

// piped is whole by a pipe, which has all of the text and its end when it returns; for a
// longer text the error why no file has it.
func piped(text string, why error) (*os.File, error) {
	if len(text) > pipeHolds {
		return nil, why
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(why, err)
	}
	_, err = w.WriteString(text)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, errors.Join(why, err, r.Close())
	}
	return r, nil
}
