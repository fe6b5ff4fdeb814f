package shim

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// AnswerTimeout bounds any request but a stop when the context sets no earlier deadline. A pause
// takes two seconds at most.
const AnswerTimeout = 5 * time.Second

// Client is a connection to one shim. Its methods must not be called concurrently. A refusal is an
// *Error. The shim closes a connection after five seconds of silence, so a Client is for a few
// requests in a row.
type Client struct {
	conn  Conn
	lines *bufio.Scanner
	pass  Pass // nil: requests go to conn
}

// Pass forwards a request to a shim, which may take as long as limit, and returns the reply.
type Pass func(ctx context.Context, q Request, limit time.Duration) (Reply, error)

// PassedClient returns a client that forwards its requests with pass. It has no connection and need
// not be closed.
func PassedClient(pass Pass) *Client { return &Client{pass: pass} }

// Dial connects to a shim's socket. Without a shim the error is os.ErrNotExist or
// syscall.ECONNREFUSED.
func Dial(socket string) (*Client, error) {
	conn, err := dial(socket)
	if err != nil {
		return nil, fmt.Errorf("request to the shim: %w", err)
	}
	return NewClient(conn), nil
}

// NewClient returns a client on a connection to a shim.
func NewClient(conn Conn) *Client {
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 1024), LineLimit)
	return &Client{conn: conn, lines: lines}
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Hello returns the shim's identity and the protocol version it supports.
func (c *Client) Hello(ctx context.Context) (Hello, error) {
	r, err := c.ask(ctx, AnswerTimeout, Request{Op: OpHello})
	return part(OpHello, r.Hello, err)
}

// Status returns the status of the run.
func (c *Client) Status(ctx context.Context) (Status, error) {
	r, err := c.ask(ctx, AnswerTimeout, Request{Op: OpStatus})
	return part(OpStatus, r.Status, err)
}

// Pause suspends the agent and its descendants, and returns when all are suspended. The timeout's
// clock is suspended too.
func (c *Client) Pause(ctx context.Context) error {
	_, err := c.ask(ctx, AnswerTimeout, Request{Op: OpPause})
	return wrap(OpPause, err)
}

// Resume resumes the agent and its descendants. Resuming what is not suspended is not an error.
func (c *Client) Resume(ctx context.Context) error {
	_, err := c.ask(ctx, AnswerTimeout, Request{Op: OpResume})
	return wrap(OpResume, err)
}

// Stop ends the agent and its descendants with the signal and, after the grace, SIGKILL. It returns
// the exit once no process is left and the exit is written. A second stop can only shorten the
// grace of the first.
func (c *Client) Stop(ctx context.Context, signal string, grace time.Duration) (rundir.Exit, error) {
	grace = max(grace, 0)
	r, err := c.ask(ctx, grace+proc.KillTimeout+AnswerTimeout, Request{Op: OpStop, Settings: Settings{Signal: &signal, Grace: &grace}})
	return part(OpStop, r.Exit, err)
}

// Set changes the run's timeout, signal or grace.
func (c *Client) Set(ctx context.Context, s Settings) error {
	_, err := c.ask(ctx, AnswerTimeout, Request{Op: OpSet, Settings: s})
	return wrap(OpSet, err)
}

// Probe runs a command next to the agent and returns the result.
func (c *Client) Probe(ctx context.Context, p Probe) (Probed, error) {
	r, err := c.ask(ctx, limitOf(OpProbe, p)+AnswerTimeout, Request{Op: OpProbe, Probe: p})
	return part(OpProbe, r.Probed, err)
}

// Verify runs a command next to the agent and returns the result. The error is of CodeBusy while an
// earlier one runs, even if the client of that one has gone.
func (c *Client) Verify(ctx context.Context, p Probe) (Probed, error) {
	r, err := c.ask(ctx, limitOf(OpVerify, p)+proc.KillTimeout+AnswerTimeout, Request{Op: OpVerify, Probe: p})
	return part(OpVerify, r.Probed, err)
}

// limitOf returns how long a probe or a verification may take.
func limitOf(op string, p Probe) time.Duration {
	if op == OpVerify {
		if p.Timeout <= 0 {
			return VerifyDefault
		}
		return min(p.Timeout, VerifyLimit)
	}
	return min(max(p.Timeout, ProbeDefault), ProbeLimit)
}

// Unread returns how many bytes of its input the agent has not read.
func (c *Client) Unread(ctx context.Context) (int, error) {
	r, err := c.ask(ctx, AnswerTimeout, Request{Op: OpUnread})
	return part(OpUnread, r.Unread, err)
}

// Pass sends a request on behalf of another client and returns the reply, even a refusal.
func (c *Client) Pass(ctx context.Context, q Request) (Reply, error) {
	limit := limitOf(q.Op, q.Probe) + proc.KillTimeout + AnswerTimeout
	if q.Grace != nil {
		limit += *q.Grace
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var r Reply
	err := exchange(ctx, c.conn, c.lines, q, &r)
	return r, wrap(q.Op, err)
}

var errIncomplete = errors.New("the answer is incomplete")

// part returns the requested part of an answer.
func part[T any](op string, v *T, err error) (T, error) {
	if err == nil && v == nil {
		err = errIncomplete
	}
	if err != nil {
		var none T
		return none, wrap(op, err)
	}
	return *v, nil
}

func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("request to the shim (%s): %w", op, err)
}

func (c *Client) ask(ctx context.Context, limit time.Duration, q Request) (r Reply, err error) {
	if c.pass != nil {
		r, err = c.pass(ctx, q, limit)
	} else {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		err = exchange(ctx, c.conn, c.lines, q, &r)
	}
	switch {
	case err != nil:
		return Reply{}, err
	case r.OK:
		return r, nil
	case r.Error != nil:
		return Reply{}, r.Error
	}
	return Reply{}, errIncomplete
}

// exchange sends a request and reads its answer, each a line of JSON.
func exchange(ctx context.Context, conn Conn, lines *bufio.Scanner, q, answer any) error {
	b, err := json.Marshal(q)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil && len(b) >= InitLineLimit {
		err = fmt.Errorf("the request is longer than %d MiB", InitLineLimit>>20)
	}
	if err != nil {
		return err
	}
	_ = conn.SetDeadline(time.Time{})
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	_, err = conn.Write(append(b, '\n'))
	if err == nil && !lines.Scan() {
		err = cmp.Or(lines.Err(), errors.New("it closed the connection without an answer"))
	}
	if err == nil {
		if err = json.Unmarshal(lines.Bytes(), answer); err != nil {
			err = fmt.Errorf("answer %.300q: %w", lines.Text(), err)
		}
	}
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return nil
}
