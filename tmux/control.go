package tmux

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// keeperPrefix begins the names of the sessions that control clients keep.
const keeperPrefix = "_agentform-"

// answerTimeout is how long a tmux server may take to answer. It is far beyond
// what any command takes, and there so that a stopped server stops nobody else.
const answerTimeout = 20 * time.Second

// control is one control-mode client of a server. Any number of goroutines may
// ask through it at once.
type control struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	keeper string

	writing sync.Mutex // held so that lines are written in the order of waiting
	mu      sync.Mutex // never held while writing: the answers must be drained meanwhile
	waiting []*asked
	dead    error // set when the client has gone

	gone chan struct{} // closed when the client has gone and was reaped
}

// asked is one line of commands that was written and not answered in full.
type asked struct {
	line  string // the first words, for errors
	want  int    // replies still to come
	texts []string
	err   error
	done  chan struct{}
}

// connect starts a control client on a socket, and with it the server if there
// is none, and returns when the server has answered.
func connect(ctx context.Context, p program, socket string) (*control, error) {
	random := make([]byte, 4)
	rand.Read(random) // never fails
	c := &control{
		keeper: keeperPrefix + strconv.Itoa(os.Getpid()) + "-" + hex.EncodeToString(random),
		gone:   make(chan struct{}),
	}
	// The client outlives the call that needed it first.
	cmd, err := p.command(context.WithoutCancel(ctx), socket, "-C",
		"new-session", "-s", c.keeper, "-x", "80", "-y", "24", "--", "sleep", "2147483647", ";",
		"set-option", "-t", exactly(c.keeper), "destroy-unattached", "on")
	if err != nil {
		return nil, err
	}
	c.cmd = cmd
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	errs := &tail{}
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		return nil, failure("-C new-session", "", err)
	}
	go c.drain(out, errs)
	if _, err := c.ask(ctx, settings()...); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// ask runs commands, in one line, and returns what each printed. When one
// fails, the rest is not run and the error is of that one.
func (c *control) ask(ctx context.Context, cmds ...command) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	a := &asked{line: cmds[0][0], want: len(cmds), done: make(chan struct{})}
	if err := c.write(a, line(cmds)+"\n"); err != nil {
		return nil, err
	}
	select {
	case <-a.done:
		return a.texts, a.err
	case <-ctx.Done():
		return nil, &Error{Command: a.line, Err: fmt.Errorf("no answer: %w", ctx.Err())}
	}
}

// write queues a and writes its line.
func (c *control) write(a *asked, line string) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	dead := c.dead
	if dead == nil {
		c.waiting = append(c.waiting, a)
	}
	c.mu.Unlock()
	if dead != nil {
		return dead
	}
	if _, err := io.WriteString(c.in, line); err != nil {
		// Half a line may have been written: nothing after it can be trusted. The
		// client ends, and drain answers a.
		_ = c.in.Close()
	}
	return nil
}

// drain reads all that the client prints, hands out the replies, and when the
// client ends tells everyone who still waits.
func (c *control) drain(out io.Reader, errs *tail) {
	var last string // error that concerns no command of ours: why it could not start
	in := bufio.NewReaderSize(out, 64<<10)
	var r replies
	for {
		s, err := in.ReadString('\n')
		if err != nil {
			break
		}
		s = strings.TrimSuffix(s, "\n")
		got, whole := r.line(s)
		switch {
		case !r.open && strings.HasPrefix(s, "%exit "):
			last = strings.TrimPrefix(s, "%exit ")
		case whole && got.ours:
			c.answer(got)
		case whole && got.failed:
			last = got.text
		}
	}
	waited := c.cmd.Wait()
	if errs.String() != "" {
		last = errs.String()
	}
	if last == "" {
		waited = errLeaving
	}
	dead := failure("control client", last, waited)
	c.mu.Lock()
	c.dead = dead
	waiting := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	for _, a := range waiting {
		a.err = dead
		close(a.done)
	}
	close(c.gone)
}

// answer gives a reply to the oldest line that waits.
func (c *control) answer(r reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		return
	}
	a := c.waiting[0]
	if r.failed {
		a.err = failure(a.line, r.text, nil)
		a.want = 0
	} else {
		a.texts = append(a.texts, r.text)
		a.want--
	}
	if a.want == 0 {
		c.waiting = c.waiting[1:]
		close(a.done)
	}
}

// alive reports whether the client can be asked.
func (c *control) alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead == nil
}

// close ends the client, and with it its keeper session, and returns when its
// process is gone.
func (c *control) close() {
	c.in.Close()
	select {
	case <-c.gone:
	case <-time.After(2 * time.Second):
		_ = c.cmd.Process.Kill()
		<-c.gone
	}
}

// tail keeps the first part of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b[:min(len(b), max(0, 4096-len(t.buf)))]...)
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
