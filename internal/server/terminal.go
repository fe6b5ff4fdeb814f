package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/terminal"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

const (
	historyLines = 2000
	// What a terminal prints is gathered for a frame until it is silent for frameQuiet, or
	// for frameTime, or until there is frameSize of it.
	frameQuiet = 2 * time.Millisecond
	frameTime  = 16 * time.Millisecond
	frameSize  = 16 << 10
	// followTime is how often a viewer checks in the last inspection whether its session still
	// exists and has the same size.
	followTime = 500 * time.Millisecond
	farewell   = 2 * time.Second
	maxInput   = 256 << 10 // bytes of a message: a pasted text
)

// terminalTimes are the times of terminals, which tests shorten.
type terminalTimes struct {
	ping    time.Duration // between pings
	pong    time.Duration // how long an answer may take after that
	silence time.Duration // without input, after which control is released
}

var defaultTimes = terminalTimes{ping: 30 * time.Second, pong: time.Minute, silence: 10 * time.Minute}

// terminals are the terminals that pages show.
type terminals struct {
	times   terminalTimes
	viewers sync.WaitGroup

	mu    sync.Mutex
	rooms map[session.Address]*room
}

// room is one session's viewers. It is guarded by terminals.mu.
type room struct {
	viewers    []*viewer // in the order in which they came
	controller *viewer   // nil: all only watch
	size       terminal.Size
	ruled      time.Time // when a controller last set the size: older inspections do not count
}

// viewer is one page that shows a terminal.
type viewer struct {
	server *Server
	conn   *websocket.Conn
	// connected is the context of the connection: its end closes it without a code.
	connected context.Context
	address   session.Address
	by        string
	operate   bool          // it may take control
	login     string        // the id of its login
	prefixed  bool          // who types into the terminal reaches the commands of tmux
	size      terminal.Size // of its page; guarded by terminals.mu

	changed chan struct{} // its room has changed; holds one

	// The rest is of the goroutine in run.
	relay     *terminal.Relay
	controls  bool // how the relay is attached
	shown     terminal.Size
	output    chan []byte // of the relay; closed at its end
	framer    terminal.Framer
	pending   []byte // output that is not sent yet
	paused    bool
	paneSize  [2]int
	lastInput time.Time
}

// openTerminal shows the terminal of a session over a WebSocket until the page is closed or
// the session has ended. Whatever goes wrong after the upgrade is sent as a close code: a
// page cannot read the response to an upgrade.
func openTerminal(s *Server, w http.ResponseWriter, r *http.Request) error {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return fail(http.StatusUpgradeRequired, "upgrade_required", "a terminal is a WebSocket", "connect to it with a WebSocket client")
	}
	// An upgrade is a GET, which the middleware lets other origins send. It has checked the
	// host, so that one whose name resolves to this hub is refused as well.
	if o := r.Header.Get("Origin"); o != "" {
		if u, err := url.Parse(o); err != nil || !strings.EqualFold(u.Host, r.Host) {
			return errCrossOrigin
		}
	}
	s.terminals.viewers.Add(1)
	defer s.terminals.viewers.Done()
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		s.log.Debug("a terminal was refused", "error", err)
		return nil // Accept has responded
	}
	conn.SetReadLimit(maxInput)
	v := &viewer{server: s, conn: conn, by: by(r), operate: callerOf(r).operate, login: callerOf(r).login, changed: make(chan struct{}, 1)}
	// A connection whose context ends is closed without a code. So it has one that outlasts
	// the hub's by the time that a last message takes.
	connected, disconnect := context.WithCancel(context.WithoutCancel(r.Context()))
	defer disconnect()
	v.connected = connected
	defer context.AfterFunc(s.streams, func() {
		select {
		case <-connected.Done():
		case <-time.After(farewell):
			disconnect()
		}
	})()
	ctx, done := context.WithCancel(r.Context()) // net/http does not end it with the connection
	defer done()
	code, reason := v.serve(ctx, done, r.PathValue("id"))
	if ctx.Err() != nil && s.streams.Err() == nil { // the page is closed or does not answer
		_ = conn.CloseNow()
		return nil
	}
	const longest = 120 // bytes; RFC 6455 allows 123
	if len(reason) > longest {
		reason = shorten(reason)
	}
	_ = conn.Close(code, reason)
	return nil
}

// serve shows a session until something ends that. It returns the close code, and why.
func (v *viewer) serve(ctx context.Context, done func(), id string) (websocket.StatusCode, string) {
	s := v.server
	k, err := find(s.cfg.Hub.Snapshot(), id)
	if err != nil {
		return api.CloseGone, err.Error()
	}
	v.address = k.Record.Address
	attach, err := s.cfg.Hub.Attach(v.address)
	if err != nil {
		return closeOf(err)
	}
	env := terminal.Environ(s.cfg.Environ)
	look, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	view, err := terminal.Look(look, attach, env, historyLines)
	if err != nil {
		return api.CloseNotReady, err.Error()
	}
	if v.prefixed = view.Prefixed; k.Live != nil {
		v.paneSize = k.Live.Size
	}
	s.terminals.join(v, view.Size)
	defer s.terminals.leave(v)
	messages := make(chan api.TerminalInput)
	go v.read(ctx, done, messages)
	go v.ping(ctx, done)
	if err := v.attach(ctx, false); err != nil {
		return api.CloseNotReady, err.Error()
	}
	defer func() { v.relay.Close() }()
	// A reset, and the history above an empty screen, which the relay fills.
	first := append([]byte("\x1bc"), view.History...)
	for range view.Size.Rows * min(1, len(view.History)) {
		first = append(first, "\r\n"...)
	}
	if v.tell() != nil || v.write(websocket.MessageBinary, first) != nil {
		return websocket.StatusGoingAway, ""
	}
	return v.run(ctx, messages)
}

// closeOf returns the close code for an error of Hub.Attach.
func closeOf(err error) (websocket.StatusCode, string) {
	switch {
	case errors.Is(err, session.ErrRefused):
		return api.CloseNotReady, "the session is paused"
	case errors.Is(err, session.ErrGone), has[*engine.UnknownError](err):
		return api.CloseGone, err.Error()
	}
	return api.CloseNotReady, err.Error()
}

// run relays in both directions.
func (v *viewer) run(ctx context.Context, messages <-chan api.TerminalInput) (websocket.StatusCode, string) {
	s := v.server
	follow := time.NewTicker(followTime)
	defer follow.Stop()
	quiet, late := time.NewTimer(time.Hour), time.NewTimer(time.Hour)
	defer quiet.Stop()
	defer late.Stop()
	flush := func() error {
		frame, rest := v.framer.Frame(v.pending)
		v.pending = slices.Clone(rest)
		if len(frame) == 0 {
			return nil
		}
		return v.write(websocket.MessageBinary, frame)
	}
	waiting := false // for the rest of a frame
	var err error
	for err == nil {
		output := v.output
		if v.paused {
			output = nil
		}
		select {
		case <-ctx.Done():
			if s.streams.Err() != nil {
				return api.CloseShuttingDown, "the hub is stopping; sessions keep running"
			}
			return websocket.StatusGoingAway, "" // the page does not answer
		case m := <-messages:
			err = v.take(m)
		case <-v.changed:
			err = v.follow(ctx)
		case <-follow.C:
			if code, reason := v.check(ctx); code != 0 {
				_ = flush()
				return code, reason
			}
		case b, more := <-output:
			if !more {
				_ = flush()
				return v.ended(ctx)
			}
			v.pending = append(v.pending, b...)
			if !waiting {
				waiting = true
				late.Reset(frameTime)
			}
			if quiet.Reset(frameQuiet); len(v.pending) >= frameSize {
				waiting, err = false, flush()
			}
		case <-quiet.C:
			if waiting {
				waiting, err = false, flush()
			}
		case <-late.C:
			if waiting {
				waiting, err = false, flush()
			}
		}
	}
	if s.streams.Err() != nil {
		return api.CloseShuttingDown, "the hub is stopping; sessions keep running"
	}
	return websocket.StatusGoingAway, ""
}

// write sends a message. A page that does not read for as long as it may not answer is gone.
func (v *viewer) write(kind websocket.MessageType, b []byte) error {
	ctx, done := context.WithTimeout(v.connected, v.server.terminals.times.ping+v.server.terminals.times.pong)
	defer done()
	return v.conn.Write(ctx, kind, b)
}

// say sends a JSON message.
func (v *viewer) say(m api.TerminalState) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return v.write(websocket.MessageText, b)
}

// read reads the messages of the page until it is closed.
func (v *viewer) read(ctx context.Context, done func(), messages chan<- api.TerminalInput) {
	defer done()
	for {
		kind, b, err := v.conn.Read(v.connected)
		if err != nil {
			return
		}
		var m api.TerminalInput
		if kind != websocket.MessageText || json.Unmarshal(b, &m) != nil {
			_ = v.conn.Close(websocket.StatusUnsupportedData, "a message must be a JSON object with a type")
			return
		}
		select {
		case messages <- m:
		case <-ctx.Done():
			return
		}
	}
}

// ping checks that the page is connected, and otherwise ends the viewer.
func (v *viewer) ping(ctx context.Context, done func()) {
	times := v.server.terminals.times
	tick := time.NewTicker(times.ping)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		waits, cancel := context.WithTimeout(v.connected, times.pong)
		err := v.conn.Ping(waits)
		cancel()
		if err != nil {
			done()
			return
		}
	}
}

// attach starts a relay that watches or controls, in place of the one before. The new client
// is attached before the old one is detached: without a client the window would change its
// size.
func (v *viewer) attach(ctx context.Context, control bool) error {
	attach, err := v.server.cfg.Hub.Attach(v.address)
	if err != nil {
		return err
	}
	if control {
		attach = tmuxwire.Controlling(attach)
	} else {
		attach = tmuxwire.Watching(attach)
	}
	size := v.server.terminals.sizeOf(v.address)
	relay, err := terminal.Start(attach, terminal.Environ(v.server.cfg.Environ), size)
	if err != nil {
		return err
	}
	old, before, output := v.relay, v.output, make(chan []byte)
	ended := ctx.Done()
	go func() {
		defer close(output)
		for {
			b := make([]byte, 8<<10)
			n, err := relay.Read(b)
			if err != nil {
				return
			}
			select {
			case output <- b[:n]:
			case <-ended:
				return
			}
		}
	}()
	v.relay, v.output, v.controls, v.shown = relay, output, control, size
	v.framer, v.pending = terminal.Framer{}, nil
	if old == nil {
		return nil
	}
	// Its first output proves that the new client is attached.
	select {
	case b, more := <-output:
		if v.pending = b; !more {
			return fmt.Errorf("attach to %s: %w", v.address, session.ErrGone)
		}
	case <-time.After(lookTime):
	case <-ended:
	}
	go func() {
		for range before { // the old client's last output is not shown
		}
	}()
	old.Close()
	return nil
}

// take carries out a message of the page.
func (v *viewer) take(m api.TerminalInput) error {
	t := &v.server.terminals
	switch m.Type {
	case "input":
		if !v.controls {
			return v.say(api.TerminalState{Type: "error", Message: "only who controls the terminal types: take control first"})
		}
		v.lastInput = time.Now()
		_, _ = v.relay.Write([]byte(m.Data)) // its end shows in the output
	case "resize":
		t.resize(v, terminal.Size{Cols: m.Cols, Rows: m.Rows}.Clamp())
	case "control":
		if !v.operate {
			return v.say(api.TerminalState{Type: "error", Message: "this page may only read"})
		}
		if v.prefixed && m.Take {
			return v.say(api.TerminalState{Type: "error", Message: "its tmux is your own, and takes keys for itself: agentform attach controls the terminal, and the conversation sends text"})
		}
		v.lastInput = time.Now()
		if t.control(v, m.Take) {
			v.server.log.Info("terminal", "session", v.address, "control", m.Take, "by", v.by)
		}
	case "pause", "resume":
		v.paused = m.Type == "pause"
	default:
		return v.say(api.TerminalState{Type: "error", Message: "unknown message " + shorten(m.Type)})
	}
	return nil
}

// follow updates the relay from the room: who controls, and the size.
func (v *viewer) follow(ctx context.Context) error {
	if controls := v.server.terminals.controls(v); controls != v.controls {
		if err := v.attach(ctx, controls); err != nil {
			return err
		}
	}
	if size := v.server.terminals.sizeOf(v.address); size != v.shown {
		if err := v.relay.Resize(size); err != nil {
			return nil // it has ended, which shows in the output
		}
		v.shown = size
	}
	return v.tell()
}

func (v *viewer) tell() error {
	return v.say(v.server.terminals.stateOf(v))
}

// check looks whether the session is still there, whether its window has another size,
// whether who controls it is silent, and whether the page has been logged out.
func (v *viewer) check(ctx context.Context) (websocket.StatusCode, string) {
	s := v.server
	if s.cfg.Logins.over(v.login, time.Now()) {
		return websocket.StatusPolicyViolation, "logged out"
	}
	snapshot := s.cfg.Hub.Snapshot()
	k, there := snapshot.Of(v.address)
	if _, err := s.cfg.Hub.Attach(v.address); err != nil {
		return closeOf(err)
	}
	if v.controls && time.Since(v.lastInput) > s.terminals.times.silence {
		s.terminals.control(v, false)
	}
	if there && k.Live != nil && k.Live.Size != v.paneSize {
		v.paneSize = k.Live.Size
		if s.terminals.rules(v.address, snapshot.At) {
			return 0, "" // a page has set the size
		}
		attach, err := s.cfg.Hub.Attach(v.address)
		if err != nil {
			return closeOf(err)
		}
		look, done := context.WithTimeout(ctx, lookTime)
		defer done()
		if view, err := terminal.Look(look, attach, terminal.Environ(s.cfg.Environ), 1); err == nil {
			s.terminals.adopt(v.address, view.Size)
		}
	}
	return 0, ""
}

// ended returns why the relay has ended: the session has, or the client was detached.
func (v *viewer) ended(ctx context.Context) (websocket.StatusCode, string) {
	look, done := context.WithTimeout(ctx, lookTime)
	defer done()
	if _, err := v.server.cfg.Hub.Look(look); err != nil {
		return api.CloseNotReady, "the hub timed out"
	}
	if _, err := v.server.cfg.Hub.Attach(v.address); err != nil {
		return closeOf(err)
	}
	return api.CloseTakenOver, "the terminal was detached"
}
