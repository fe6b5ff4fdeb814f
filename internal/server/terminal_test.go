//go:build real

package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/internal/terminal"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

// page is a client of a terminal.
type page struct {
	t          *testing.T
	conn       *websocket.Conn
	ctx        context.Context
	mu         sync.Mutex
	text       strings.Builder
	state      api.TerminalState
	controlled bool // it has controlled the terminal
	errors     []string
	frames     int
	closed     error
}

func (s *shop) dial(ctx context.Context, id string) (*websocket.Conn, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", s.socket())
	}}}
	conn, _, err := websocket.Dial(ctx, "ws://localhost/v1/sessions/"+id+"/terminal", //nolint:bodyclose // Dial closes it, or conn has it
		&websocket.DialOptions{HTTPClient: client})
	return conn, err
}

// open opens the terminal of a session and reads what comes.
func (s *shop) open(id string) *page {
	s.t.Helper()
	ctx, done := context.WithCancel(context.Background())
	conn, err := s.dial(ctx, id)
	if err != nil {
		done()
		s.t.Fatal(err)
	}
	conn.SetReadLimit(4 << 20)
	p := &page{t: s.t, conn: conn, ctx: ctx}
	read := make(chan struct{})
	s.t.Cleanup(func() {
		done()
		_ = conn.CloseNow()
		<-read
	})
	go func() {
		defer close(read)
		for {
			kind, b, err := conn.Read(ctx)
			p.mu.Lock()
			var m api.TerminalState
			switch {
			case err != nil:
				p.closed = err
			case kind == websocket.MessageBinary:
				p.frames++
				p.text.Write(b)
			case json.Unmarshal(b, &m) == nil && m.Type == "state":
				p.state, p.controlled = m, p.controlled || m.Control == "you"
			default:
				p.errors = append(p.errors, m.Message)
			}
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return p
}

func (p *page) say(m api.TerminalInput) {
	p.t.Helper()
	b, err := json.Marshal(m)
	if err == nil {
		err = p.conn.Write(p.ctx, websocket.MessageText, b)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *page) until(what string, is func() bool) {
	p.t.Helper()
	wait.For(p.t, what, func() (any, bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return fmt.Sprintf("state %+v, closed %v, errors %q, shown %.2000q", p.state, p.closed, p.errors, p.text.String()), is()
	})
}

// seen returns what has come so far.
func (p *page) seen() (state api.TerminalState, text string, closed error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state, p.text.String(), p.closed
}

func (p *page) shows(text string) {
	p.t.Helper()
	p.until("shows "+text, func() bool { return strings.Contains(p.text.String(), text) })
}

func (p *page) closes(code websocket.StatusCode) {
	p.t.Helper()
	p.until(fmt.Sprint("closes with ", code), func() bool { return p.closed != nil })
	_, _, closed := p.seen()
	if got := websocket.CloseStatus(closed); got != code {
		p.t.Errorf("closed with %d (%v), want %d", got, closed, code)
	}
}

// tmuxSays runs a tmux command on the server of the sessions.
func (s *shop) tmuxSays(args ...string) string {
	s.t.Helper()
	sockets, err := filepath.Glob(filepath.Join(s.dir, "s", "tmux-*"))
	if err != nil || len(sockets) == 0 {
		s.t.Fatal("there is no tmux server: ", err)
	}
	out, err := exec.Command("tmux", append([]string{"-S", sockets[0]}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *shop) windowSize() string {
	return s.tmuxSays("list-windows", "-a", "-F", "#{window_width}x#{window_height}")
}

func (s *shop) untilSize(size string) {
	s.t.Helper()
	wait.For(s.t, "the window is "+size, func() (any, bool) { now := s.windowSize(); return now, now == size })
}

// pane returns what the only pane shows, after its history with the flags -S -.
func (s *shop) pane(flags ...string) string {
	pane := s.tmuxSays("list-panes", "-a", "-F", "#{pane_id}")
	return s.tmuxSays(append([]string{"capture-pane", "-p", "-t", pane}, flags...)...)
}

func TestTerminalIsControlledByOnePage(t *testing.T) {
	s := newRealShop(t, "session.api")
	s.serve()
	size := s.windowSize()
	a, b := s.open("api"), s.open("api")
	a.shows("ready")
	b.shows("ready")
	b.until("both are counted", func() bool { return b.state.Viewers == 2 })
	if state, _, _ := a.seen(); state.Control != "nobody" || state.Cols != 200 || state.Rows != 51 {
		t.Errorf("at first: %+v", state)
	}

	// Without control nothing is typed or resized.
	a.say(api.TerminalInput{Type: "input", Data: "unasked\r"})
	a.say(api.TerminalInput{Type: "resize", Cols: 90, Rows: 20})
	a.until("typing is refused", func() bool { return len(a.errors) == 1 })
	if got := s.windowSize(); got != size {
		t.Errorf("the window of a page that watches is %s, was %s", got, size)
	}

	a.say(api.TerminalInput{Type: "control", Take: true})
	a.until("a controls", func() bool { return a.state.Control == "you" && a.state.Cols == 90 })
	b.until("b sees that", func() bool {
		return b.state.Control == "other" && b.state.By == "ada" && b.state.Cols == 90 && b.state.Rows == 20
	})
	s.untilSize("90x19")
	a.say(api.TerminalInput{Type: "input", Data: "grüße\r"})
	a.shows("grüße")
	b.shows("grüße")
	if _, text, _ := b.seen(); strings.Contains(text, "unasked") {
		t.Error("what was typed without control arrived")
	}

	// b takes over with its own size, within the limits.
	b.say(api.TerminalInput{Type: "resize", Cols: 3, Rows: 1000})
	b.say(api.TerminalInput{Type: "control", Take: true})
	a.until("a has lost control", func() bool { return a.state.Control == "other" && a.state.Cols == 20 })
	s.untilSize("20x199")
	a.say(api.TerminalInput{Type: "resize", Cols: 100, Rows: 30})
	a.say(api.TerminalInput{Type: "input", Data: "late"})
	a.until("a may not type", func() bool { return len(a.errors) == 2 })

	// Control ends with its page, and the size stays.
	_ = b.conn.Close(websocket.StatusNormalClosure, "")
	a.until("control is released", func() bool { return a.state.Control == "nobody" && a.state.Viewers == 1 })
	if got := s.windowSize(); got != "20x199" {
		t.Errorf("the window is %s once its page is gone", got)
	}
	if _, text, _ := a.seen(); strings.Contains(text, "late") {
		t.Error("what was typed after control was lost arrived")
	}
}

// A page that controls a terminal reaches the agent, and no command of tmux. A person who
// attaches has both, and the status line.
func TestTerminalHasNoPrefix(t *testing.T) {
	s := newRealShop(t, "session.api")
	s.serve()
	p := s.open("api")
	p.shows("ready")
	p.say(api.TerminalInput{Type: "control", Take: true})
	p.until("it controls", func() bool { return p.state.Control == "you" })
	windows := func() int { return len(strings.Fields(s.tmuxSays("list-windows", "-a", "-F", "#{window_id}"))) }
	for _, typed := range []struct{ keys, shows string }{
		{"\x02c-one", "^Bc-one"}, {"\x02:two", "^B:two"}, {"\x1b[98;5ucthree", "^Bcthree"}, {"\x1b[27;5;98~cfour", "^Bcfour"},
		{"\x02\x02cfive", "^B^Bcfive"}, {"\x02d-six", "^Bd-six"},
	} {
		p.say(api.TerminalInput{Type: "input", Data: typed.keys})
		wait.For(t, "the agent has "+typed.shows, func() (any, bool) {
			shown := s.pane()
			return shown, strings.Contains(shown, typed.shows)
		})
	}
	if n := windows(); n != 1 {
		t.Errorf("a page made windows: %d", n)
	}
	if _, text, closed := p.seen(); strings.Contains(text, "detaches") || closed != nil {
		t.Errorf("a page has a status line, or is closed (%v): %q", closed, text)
	}

	sockets, err := filepath.Glob(filepath.Join(s.dir, "s", "tmux-*"))
	if err != nil || len(sockets) == 0 {
		t.Fatal(err)
	}
	attach := tmux.Server{Socket: sockets[0]}.Attach(s.tmuxSays("list-sessions", "-F", "#{session_name}"))
	person, err := terminal.Start(attach, terminal.Environ(os.Environ()), terminal.Size{Cols: 100, Rows: 30})
	if err != nil {
		t.Fatal(err)
	}
	defer person.Close()
	var mu sync.Mutex
	var shown strings.Builder
	go func() {
		for b := make([]byte, 4096); ; {
			n, err := person.Read(b)
			mu.Lock()
			shown.Write(b[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	says := func(text string) {
		t.Helper()
		wait.For(t, "a person sees "+text, func() (any, bool) {
			mu.Lock()
			defer mu.Unlock()
			return shown.String(), strings.Contains(shown.String(), text)
		})
	}
	says("detaches; the agent keeps running")
	for _, step := range []struct {
		key  string
		then func() bool
	}{
		{"[", func() bool { return s.tmuxSays("display-message", "-p", "-t", "%0", "#{pane_in_mode}") == "1" }},
		{"c", func() bool { return windows() == 2 }},
	} {
		for _, key := range []string{"\x02", step.key} {
			time.Sleep(50 * time.Millisecond) // keys at once are a paste to tmux, and no command
			if _, err := person.Write([]byte(key)); err != nil {
				t.Fatal(err)
			}
		}
		wait.For(t, "Ctrl-b "+step.key, func() (any, bool) { return s.tmuxSays("list-panes", "-a"), step.then() })
	}
	for _, key := range []string{"\x02", "d"} {
		time.Sleep(50 * time.Millisecond)
		if _, err := person.Write([]byte(key)); err != nil {
			t.Fatal(err)
		}
	}
	says("[detached")
}

// The tmux of a person has keys of its own: a page only watches there.
func TestTerminalInATmuxWithAPrefix(t *testing.T) {
	s := newRealShop(t, "session.api")
	s.serve()
	s.tmuxSays("set-option", "-g", "prefix", "C-a")
	p := s.open("api")
	p.shows("ready")
	p.say(api.TerminalInput{Type: "control", Take: true})
	p.until("control is refused", func() bool { return len(p.errors) == 1 && p.state.Control == "nobody" })
}

func TestTerminalShowsHistoryOnce(t *testing.T) {
	s := newRealShop(t, "session.api")
	s.serve()
	var lines strings.Builder
	for i := range 120 {
		fmt.Fprintf(&lines, "line-%03d-\n", i)
	}
	if _, err := s.client.Send(t.Context(), "api", api.Input{Text: lines.String()}); err != nil {
		t.Fatal(err)
	}
	// cat repeats what is typed: each line is there twice. tmux may draw a screen twice too.
	wait.For(t, "all is repeated", func() (any, bool) {
		shown := s.pane("-S", "-")
		return shown, strings.Count(shown, "line-119-") == 2
	})
	for range 2 { // the second as a reconnect
		p := s.open("api")
		p.until("shows all lines", func() bool { return strings.Count(p.text.String(), "line-119-") >= 2 })
		_, text, _ := p.seen()
		first := strings.Index(text, "line-000-")
		if !strings.HasPrefix(text, "\x1bc") || first < 0 || first > strings.Index(text, "line-119-") {
			t.Errorf("the history is not before the screen: %.300q", text)
		}
		if n := strings.Count(text, "line-030-"); n != 2 {
			t.Errorf("line 30 is shown %d times", n)
		}
		_ = p.conn.Close(websocket.StatusNormalClosure, "")
	}
}

func TestTerminalSaysWhyItCloses(t *testing.T) {
	s := newRealShop(t, "session.api", "session.web")
	s.serve()
	s.open("nobody").closes(api.CloseGone)

	p := s.open("api")
	p.shows("ready")
	s.tmuxSays("detach-client", "-s", s.tmuxSays("list-clients", "-F", "#{session_name}"))
	p.closes(api.CloseTakenOver)

	p = s.open("api")
	p.shows("ready")
	if _, err := s.client.Tell(t.Context(), "api", "pause", nil); err != nil {
		t.Fatal(err)
	}
	p.closes(api.CloseNotReady)
	s.open("api").closes(api.CloseNotReady)

	p = s.open("web")
	p.shows("ready")
	s.killReal("web")
	p.closes(api.CloseGone)

	if _, err := s.client.Tell(t.Context(), "web", "restart", api.Restart{Wait: true}); err != nil {
		t.Fatal(err)
	}
	p = s.open("web")
	p.shows("ready")
	s.stop()
	p.closes(api.CloseShuttingDown)
}

func TestTerminalChecksOriginHostAndToken(t *testing.T) {
	s := newRealShop(t, "session.api")
	s.serve()
	for name, c := range map[string]struct {
		header http.Header
		host   string
		want   int
	}{
		"no token":           {http.Header{}, "", http.StatusUnauthorized},
		"another origin":     {http.Header{"Authorization": {"Bearer " + token}, "Origin": {"http://evil.example"}}, "", http.StatusForbidden},
		"no origin":          {http.Header{"Authorization": {"Bearer " + token}, "Origin": {"null"}}, "", http.StatusForbidden},
		"another port":       {http.Header{"Authorization": {"Bearer " + token}, "Origin": {"http://127.0.0.1:1"}}, "", http.StatusForbidden},
		"rebound name":       {http.Header{"Authorization": {"Bearer " + token}, "Origin": {"http://evil.example"}}, "evil.example", http.StatusForbidden},
		"the hub's own page": {http.Header{"Authorization": {"Bearer " + token}, "Origin": {"http://" + s.tcp}}, "", http.StatusSwitchingProtocols},
	} {
		conn, r, err := websocket.Dial(t.Context(), "ws://"+s.tcp+"/v1/sessions/api/terminal", //nolint:bodyclose // Dial closes it, or conn has it
			&websocket.DialOptions{HTTPHeader: c.header, Host: c.host, HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
		if r == nil {
			t.Fatal(name, err)
		}
		if r.StatusCode != c.want {
			t.Errorf("%s: %s, want %d", name, r.Status, c.want)
		}
		if conn != nil {
			_ = conn.CloseNow()
		}
	}
}

// A terminal that was opened before the logout takes no more keys.
func TestTerminalOfAPageThatLogsOut(t *testing.T) {
	s := newRealShop(t, "session.api")
	s.serve()
	login := func(path, body, cookie string) string {
		t.Helper()
		q, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+s.tcp+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header = http.Header{"Content-Type": {"application/json"}, "Cookie": {cookie}}
		r, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(q)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatal(r, err)
		}
		_ = r.Body.Close()
		made, _, _ := strings.Cut(r.Header.Get("Set-Cookie"), ";")
		return made
	}
	cookie := login("/v1/login", `{"token": "`+token+`"}`, "")
	conn, _, err := websocket.Dial(t.Context(), "ws://"+s.tcp+"/v1/sessions/api/terminal", //nolint:bodyclose // Dial closes it, or conn has it
		&websocket.DialOptions{HTTPHeader: http.Header{"Cookie": {cookie}}, HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	conn.SetReadLimit(4 << 20)
	login("/v1/logout", "{}", cookie)
	limited, done := context.WithTimeout(t.Context(), time.Minute)
	defer done()
	for err == nil {
		_, _, err = conn.Read(limited)
	}
	if code := websocket.CloseStatus(err); code != websocket.StatusPolicyViolation {
		t.Errorf("closed with %d: %v", code, err)
	}
}

func TestTerminalWaitsForASlowPage(t *testing.T) {
	s := newRealShop(t, "session.api")
	s.serve()
	p := s.open("api")
	p.shows("ready")
	p.say(api.TerminalInput{Type: "control", Take: true})
	p.until("it controls", func() bool { return p.state.Control == "you" })
	p.say(api.TerminalInput{Type: "pause"})
	p.say(api.TerminalInput{Type: "input", Data: "while paused\r"})
	wait.For(t, "the agent has it", func() (any, bool) {
		shown := s.pane()
		return shown, strings.Contains(shown, "while paused")
	})
	p.mu.Lock()
	if strings.Contains(p.text.String(), "while paused") {
		t.Error("a page that has paused got output")
	}
	p.mu.Unlock()
	p.say(api.TerminalInput{Type: "resume"})
	p.shows("while paused")
}

func TestTerminalOfAPageThatIsGone(t *testing.T) {
	s := newRealShop(t, "session.api")
	s.times = server.TerminalTimes(50*time.Millisecond, 2*time.Second, 10*time.Minute)
	s.serve()
	conn, err := s.dial(t.Context(), "api")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	conn.SetReadLimit(4 << 20)
	for shown := ""; !strings.Contains(shown, "ready"); { // which comes from the client of tmux
		_, b, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		shown += string(b)
	}
	// It reads nothing more, so it answers no ping.
	wait.For(t, "the page is detached", func() (any, bool) {
		clients := s.tmuxSays("list-clients", "-F", "#{client_pid}")
		return clients, clients == ""
	})
}

func TestTerminalReleasesControlInSilence(t *testing.T) {
	s := newRealShop(t, "session.api")
	s.times = server.TerminalTimes(time.Minute, time.Minute, 200*time.Millisecond)
	s.serve()
	p := s.open("api")
	p.shows("ready")
	p.say(api.TerminalInput{Type: "control", Take: true})
	p.until("control is released", func() bool { return p.controlled && p.state.Control == "nobody" })
	if x, err := s.client.Session(t.Context(), "api"); err != nil || x.State != session.StateRunning {
		t.Error(x.State, errors.Join(err))
	}
}
