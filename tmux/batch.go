package tmux

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/internal/tmuxwire"
)

// request is one line of commands for a server.
type request struct {
	ctx   context.Context
	cmds  []tmuxwire.Command
	start bool // the server is started if there is none

	text string // the output of the commands, without the last line's end
	err  error
	done chan struct{}
}

// ask runs commands in order until one fails, with no command of another client in
// between, and returns what they printed. The error is session.ErrGone if no server runs.
func (s *server) ask(ctx context.Context, cmds ...tmuxwire.Command) (string, error) {
	var text string
	err := s.retry(ctx, func() error {
		var err error
		text, err = s.submit(&s.requests, &request{ctx: ctx, cmds: cmds})
		return err
	})
	return text, err
}

// begin is ask for commands that start the server if there is none, without a retry.
func (s *server) begin(ctx context.Context, cmds ...tmuxwire.Command) (string, error) {
	return s.submit(&s.requests, &request{ctx: ctx, cmds: cmds, start: true})
}

func (s *server) submit(queue *batcher, q *request) (string, error) {
	q.done = make(chan struct{})
	queue.add(q, s.run)
	select {
	case <-q.done:
		return q.text, q.err
	case <-q.ctx.Done():
		return "", &Error{Command: q.cmds[0][0], Err: fmt.Errorf("no answer: %w", q.ctx.Err())}
	}
}

// run runs one batch in one process, without requests whose context is done.
func (s *server) run(batch []*request) {
	defer func() {
		for _, q := range batch {
			close(q.done)
		}
	}()
	nonce := newNonce()
	var lines strings.Builder
	start := false
	for i, q := range batch {
		if q.err = q.ctx.Err(); q.err != nil {
			continue
		}
		if q.start && !start {
			start = true
			// Set them each time, so that it does not matter who started the server.
			for _, c := range append(tmuxwire.Options(0), tmuxwire.Terminal()) {
				lines.WriteString(tmuxwire.Line(c) + "\n")
			}
		}
		// The second mark is in the request's line, so that it is printed only if no
		// command has failed.
		first := tmuxwire.Command{"display-message", "-p", mark(nonce, i, "begin")}
		last := tmuxwire.Command{"display-message", "-p", mark(nonce, i, "end")}
		lines.WriteString(tmuxwire.Line(first) + "\n" + tmuxwire.Line(append(q.cmds[:len(q.cmds):len(q.cmds)], last)...) + "\n")
	}
	args, program := []string{"source-file", "-"}, s.program
	if start {
		args = append([]string{"start-server", ";"}, args...)
		program.scope = s.scope
	}
	var out string
	stdin, err := script(lines.String())
	if err == nil {
		defer stdin.Close()
		// Use no caller's context: the batch has commands of several.
		out, err = program.run(context.Background(), s.socket, stdin, args...)
	}
	answer(batch, nonce, out, err)
}

func mark(nonce string, i int, what string) string { return fmt.Sprintf("%s %d %s", nonce, i, what) }

// answer sets the output of each request of a batch, between its marks, or its error. A request
// without the second mark has failed. tmux prints one error for each failed line, in order.
func answer(batch []*request, nonce, out string, err error) {
	var failed []*request
	out = "\n" + out
	for i, q := range batch {
		if q.err != nil {
			continue
		}
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
	var whole *Error
	if !errors.As(err, &whole) { // tmux was not started
		for _, q := range failed {
			q.err = err
		}
		return
	}
	messages := strings.Split(whole.Output, "\n")
	for i, q := range failed {
		name := q.cmds[0][0]
		switch {
		case errors.Is(whole, tmuxwire.ErrNoServer) || whole.Output == "":
			q.err = &Error{Command: name, Output: whole.Output, Err: whole.Err}
		case len(messages) == len(failed):
			q.err = failure(name, messages[i], nil)
		default: // the messages cannot be assigned to requests
			q.err = &Error{Command: name, Output: whole.Output}
		}
	}
}

// pipeCapacity is how much a pipe takes before it is read, on macOS.
const pipeCapacity = 16 << 10

// script returns a file from which tmux reads text. The text is complete before tmux starts, since
// an agentform killed while writing must not leave half a line, such as a new session without its
// mark. A long text needs a temporary file, which is already unlinked.
func script(text string) (*os.File, error) {
	if len(text) <= pipeCapacity {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		_, err = w.WriteString(text)
		if err = errors.Join(err, w.Close()); err != nil {
			r.Close()
		}
		return r, err
	}
	f, err := os.CreateTemp("", "agentform-")
	if err != nil {
		return nil, err
	}
	removeErr := os.Remove(f.Name())
	_, err = f.WriteString(text)
	_, seekErr := f.Seek(0, io.SeekStart)
	if err = errors.Join(removeErr, err, seekErr); err != nil {
		f.Close()
	}
	return f, err
}

// newNonce returns a word that no output of tmux can contain.
func newNonce() string {
	b := make([]byte, 8)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// poll calls f until it reports that it is done or fails, at intervals that grow to most.
func poll(ctx context.Context, most time.Duration, f func() (done bool, err error)) error {
	for wait := time.Millisecond; ; wait = min(2*wait, most) {
		if done, err := f(); done || err != nil {
			return err
		}
		if !sleep.For(ctx, wait) {
			return ctx.Err()
		}
	}
}

// batcher runs requests in batches. Requests that arrive during a batch are in the next one.
type batcher struct {
	most int // requests in a batch; 0: no limit

	mu   sync.Mutex
	busy bool
	next []*request
}

func (b *batcher) add(item *request, run func([]*request)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next = append(b.next, item)
	if !b.busy {
		b.busy = true
		go b.work(run)
	}
}

func (b *batcher) work(run func([]*request)) {
	for {
		b.mu.Lock()
		n := len(b.next)
		if b.most > 0 {
			n = min(n, b.most)
		}
		batch := b.next[:n:n]
		b.next = b.next[n:]
		if n == 0 {
			b.busy, b.next = false, nil
			b.mu.Unlock()
			return
		}
		b.mu.Unlock()
		run(batch)
	}
}
