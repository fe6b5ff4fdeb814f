//go:build real

package bench

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/price"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/internal/test/crowd"
	"github.com/agentform/agentform/internal/usage"
)

const (
	pageSessions = 200
	pageEvents   = 20
	// The goals.
	firstBytes  = 60e3
	eventBytes  = 2e3
	rowsSoon    = 300 * time.Millisecond
	eventSoon   = 200 * time.Millisecond
	wallResting = 0.1
)

// browserPage is the page of two hundred sessions that are not there: what it transfers, and in Chromium how
// soon it shows them and an event of one of them, and what the wall takes at rest.
func browserPage(t *testing.T, m *measurement) {
	const token = "0123456789abcdef0123456789abcdef"
	dir, hub := t.TempDir(), crowd.NewHub(pageSessions)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serving := server.New(server.Config{
		Hub: hub, Project: "shop", Version: "test", By: "ada",
		Activity: activity.New(dir, dir, agent.For), Usage: usage.New(dir, price.BuiltIn().Cost),
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	listens := server.Listener{Listener: listener, Token: token}
	serving.Listens(listens)
	go func() { ended <- serving.Run(ctx, listens) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	beside := fmt.Sprintf("the page, %d scripted sessions: ", pageSessions)
	first, event := transferred(t, hub, "http://"+listener.Addr().String(), token)
	m.add(Row{Work: beside + "bytes until it shows them, without its files", Took: Memory(first),
		Goals: []Goal{{Says: "≤ 60 kB", Got: first / 1e3, Bound: firstBytes / 1e3}}})
	m.add(Row{Work: beside + "bytes for an event", Took: Memory(event),
		Goals: []Goal{{Says: "≤ 2 kB", Got: event / 1e3, Bound: eventBytes / 1e3}}})

	chromium, lacks := inChromium()
	if lacks != "" {
		m.leftOut("the page in Chromium: " + lacks)
		return
	}
	link, err := serving.Link(api.Operate, "")
	if err != nil {
		t.Fatal(err)
	}
	watched := watchPage(t, m, hub, chromium, link.URL)
	painted, shown := m.typical(watched.paints()), m.typical(watched.lates())
	m.add(Row{Work: beside + "until they are on the screen", Took: Time(painted), Shown: true,
		Goals: []Goal{{Says: "≤ 300 ms", Got: painted.Seconds(), Bound: rowsSoon.Seconds()}}})
	m.add(Row{Work: beside + "until an event of the hub is on the screen", Took: Time(shown), Shown: true,
		Goals: []Goal{{Says: "≤ 200 ms", Got: shown.Seconds(), Bound: eventSoon.Seconds()}}})
	m.add(Row{Work: "the wall of 12 in Chromium: processor at rest", Took: Quantity{watched.Wall, Share},
		Goals: []Goal{{Says: "≤ 10 % of a core", Got: 100 * watched.Wall, Bound: 100 * wallResting}}})
}

// counted counts the bytes that its client receives.
type counted struct {
	net.Conn
	received *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}

// transferred returns how much a page receives of the hub at first and for an event, with the headers.
func transferred(t *testing.T, hub *crowd.Hub, origin, token string) (first, event float64) {
	t.Helper()
	var received atomic.Int64
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return counted{c, &received}, err
	}}}
	defer client.CloseIdleConnections()
	open := func(path, tag string) *http.Response {
		t.Helper()
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, origin+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header = http.Header{"Authorization": {"Bearer " + token}, "Accept-Encoding": {"gzip"}, "If-None-Match": {tag}}
		r, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	ask := func(path, tag string, status int) (d api.StatusDocument, now string) {
		t.Helper()
		r := open(path, tag)
		defer r.Body.Close()
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			var err error
			if body, err = gzip.NewReader(body); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := io.ReadAll(body); err != nil || r.StatusCode != status || len(text) > 0 && json.Unmarshal(text, &d) != nil {
			t.Fatalf("GET %s: %s, %v", path, r.Status, err)
		}
		return d, r.Header.Get("ETag")
	}
	all, _ := ask("/v1/sessions?ranked=true", "", http.StatusOK)
	_, plan := ask("/v1/plan?none=false", "", http.StatusOK)
	first = float64(received.Load())

	stream := open("/v1/events?excerpts=false", "")
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	lines.Scan() // it has begun
	received.Store(0)
	hub.Ask(0, "may I?")
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data:") {
	}
	if d, _ := ask("/v1/sessions?ranked=true&version="+all.Version, "", http.StatusOK); len(d.Sessions) != 1 {
		t.Fatalf("an event of one session changed %d", len(d.Sessions))
	}
	ask("/v1/plan?none=false", plan, http.StatusNotModified)
	return first, float64(received.Load())
}

// inChromium returns the program, or what the page cannot be measured without.
func inChromium() (program, lacks string) {
	program, err := exec.LookPath(cmp.Or(os.Getenv("CHROMIUM"), "chromium"))
	if err != nil {
		return "", "there is no chromium"
	}
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			return "", "there is no " + name
		}
	}
	if _, err := os.Stat("../page/node_modules"); err != nil {
		if out, err := exec.Command("npm", "ci", "--prefix", "../page", "--no-audit", "--no-fund", "--ignore-scripts", "--silent").CombinedOutput(); err != nil {
			return "", "npm has not installed what drives it: " + strings.TrimSpace(string(out))
		}
	}
	return program, ""
}

// seen is what internal/test/page/measure.mjs prints: times in milliseconds, and a share of a core.
type seen struct {
	Paints, Late []float64
	Wall         float64
}

func (s seen) paints() []time.Duration { return durations(s.Paints) }
func (s seen) lates() []time.Duration  { return durations(s.Late) }

func durations(ms []float64) (all []time.Duration) {
	for _, x := range ms {
		all = append(all, time.Duration(x*float64(time.Millisecond)))
	}
	return all
}

// watchPage measures the page of a link in Chromium. A session asks again whenever the page waits for that.
func watchPage(t *testing.T, m *measurement, hub *crowd.Hub, chromium, link string) (s seen) {
	t.Helper()
	seconds := "10"
	if m.full {
		seconds = "60"
	}
	c := exec.CommandContext(t.Context(), "node", "measure.mjs", link, fmt.Sprint(pageEvents), seconds)
	c.Dir, c.Stderr = "../page", os.Stderr
	c.Env = append(os.Environ(), "CHROMIUM="+chromium)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "event" {
			hub.Ask(0, fmt.Sprintf("at %d", time.Now().UnixMilli()))
		} else if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Errorf("%s: %v", lines.Text(), err)
		}
	}
	if err := c.Wait(); err != nil || len(s.Paints) == 0 || len(s.Late) == 0 {
		t.Fatalf("measure.mjs: %v, %+v", err, s)
	}
	return s
}
