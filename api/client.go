package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/sleep"
)

// Client is a client of a hub's unix socket, safe for concurrent use. Sessions are named
// by id, address or short name. If the hub refuses a request, the error is an *Error.
type Client struct{ http *http.Client }

// Dial returns a client of the hub with that unix socket.
func Dial(socket string) *Client {
	return DialWith(func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	})
}

// DialWith returns a client of the hub that connect connects to, such as through a tunnel.
func DialWith(connect func(ctx context.Context) (net.Conn, error)) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return connect(ctx) }
	return &Client{&http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second}}}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Health returns whether the hub is healthy, also if it is stuck.
func (c *Client) Health(ctx context.Context) (h Health, err error) {
	return h, c.ask(ctx, "GET", "/healthz", nil, &h)
}

// Sessions returns all sessions on record, as last observed.
func (c *Client) Sessions(ctx context.Context) (d StatusDocument, err error) {
	return d, c.ask(ctx, "GET", "/v1/sessions", nil, &d)
}

// Session returns one session in full.
func (c *Client) Session(ctx context.Context, id string) (d ShownDocument, err error) {
	return d, c.ask(ctx, "GET", pathOf(id), nil, &d)
}

// Data returns the end of a session's conversation and screen: at most tail entries and
// lines, or 48 KiB if tail is 0.
func (c *Client) Data(ctx context.Context, id string, tail int) (d Data, err error) {
	path := pathOf(id) + "/data"
	if tail > 0 {
		path += "?tail=" + strconv.Itoa(tail)
	}
	return d, c.ask(ctx, "GET", path, nil, &d)
}

// Plan returns what the hub is about to do and what it holds.
func (c *Client) Plan(ctx context.Context) (d PlanDocument, err error) {
	return d, c.ask(ctx, "GET", "/v1/plan", nil, &d)
}

// Tell carries out an action: restart-session, start, restart, pause, resume or stop.
// body has its options, such as a Stop, or is nil.
func (c *Client) Tell(ctx context.Context, id, verb string, body any) (d Done, err error) {
	return d, c.ask(ctx, "POST", pathOf(id)+"/"+verb, body, &d)
}

// Send types into a session.
func (c *Client) Send(ctx context.Context, id string, in Input) (d Sent, err error) {
	return d, c.ask(ctx, "POST", pathOf(id)+"/send", in, &d)
}

// Answer answers the question of a session.
func (c *Client) Answer(ctx context.Context, id string, in Answer) (d Answered, err error) {
	return d, c.ask(ctx, "POST", pathOf(id)+"/answer", in, &d)
}

// Link returns a link to the hub's page that works once.
func (c *Client) Link(ctx context.Context, o LinkOptions) (l Link, err error) {
	return l, c.ask(ctx, "POST", "/v1/links", o, &l)
}

func pathOf(id string) string { return "/v1/sessions/" + url.PathEscape(id) }

const longestAnswer = 64 << 20

func (c *Client) ask(ctx context.Context, method, path string, body, into any) error {
	r, err := c.do(ctx, method, path, body, nil)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if err := json.NewDecoder(io.LimitReader(r.Body, longestAnswer)).Decode(into); err != nil {
		return fmt.Errorf("read the hub's answer to %s %s: %w", method, path, err)
	}
	return nil
}

func (c *Client) do(ctx context.Context, method, path string, body any, header http.Header) (*http.Response, error) {
	var text io.Reader = http.NoBody
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("request to the hub: %w", err)
		}
		text = bytes.NewReader(b)
	}
	q, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, text)
	if err != nil {
		return nil, fmt.Errorf("request to the hub: %w", err)
	}
	for name, values := range header {
		q.Header[name] = values
	}
	if body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	r, err := c.http.Do(q)
	if err != nil {
		return nil, fmt.Errorf("request to the hub: %w", err)
	}
	if r.StatusCode < 300 || path == "/healthz" && r.StatusCode == http.StatusServiceUnavailable {
		return r, nil
	}
	defer r.Body.Close()
	var f Failure
	if err := json.NewDecoder(io.LimitReader(r.Body, longestAnswer)).Decode(&f); err != nil || f.Error == nil {
		return nil, fmt.Errorf("request to the hub: %s %s: %s", method, path, r.Status)
	}
	f.Error.Status = r.StatusCode
	return nil, f.Error
}

// Event is an event with its position among all events.
type Event struct {
	ID string // names the last event for a stream to resume after
	EventRecord
}

const again = 500 * time.Millisecond

// Events yields the events of sessions, or of all, after the one with an id, or from now
// on. It resumes a broken stream. It ends with ctx or an error, which it yields last.
func (c *Client) Events(ctx context.Context, after string, ids ...string) iter.Seq2[Event, error] {
	path := "/v1/events"
	if len(ids) > 0 {
		path += "?" + url.Values{"session": ids}.Encode()
	}
	return func(yield func(Event, error) bool) {
		for ctx.Err() == nil {
			header := http.Header{}
			if after != "" {
				header.Set("Last-Event-ID", after)
			}
			r, err := c.do(ctx, "GET", path, nil, header)
			if err == nil {
				for e := range received(r.Body) {
					if after = e.ID; !yield(e, nil) {
						r.Body.Close()
						return
					}
				}
				r.Body.Close()
			} else if ctx.Err() == nil {
				yield(Event{}, err)
				return
			}
			sleep.For(ctx, again)
		}
	}
}

func received(stream io.Reader) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		lines := bufio.NewReader(stream)
		var e Event
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ": ")
			switch {
			case name == "id":
				e.ID = value
			case name == "data" && json.Unmarshal([]byte(value), &e.EventRecord) == nil:
				if !yield(e) {
					return
				}
				e = Event{}
			}
		}
	}
}

// NotThere reports whether an error means that no hub is listening.
func NotThere(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
