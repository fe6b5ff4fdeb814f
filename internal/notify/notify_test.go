package notify

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, c Config) *Notifier {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	n := New(ctx, c)
	t.Cleanup(func() { cancel(); n.Close() })
	return n
}

// logged is what is logged.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	n := start(t, Config{Dir: dir, Environ: []string{"PATH=" + os.Getenv("PATH"), "WHO=ops"}, Targets: []Target{
		{Name: "ops", On: []string{"blocked", "escalated"}, Command: []string{"sh", "-c", "cat > $WHO.json"}},
		{Name: "other", On: []string{"done"}, Command: []string{"sh", "-c", "cat > other.json"}},
		{Name: "environment", On: []string{"stale", "blocked"}, Command: []string{"sh", "-c", `echo "$AGENTFORM_EVENT|$AGENTFORM_PROJECT|$AGENTFORM_ADDRESS|$AGENTFORM_BRANCH|$AGENTFORM_DETAIL" >> env`}},
	}})
	e := Event{Event: "blocked", Time: time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC), Project: "shop", Address: "session.api", ID: "api-1",
		Old: "running", New: "blocked", Detail: "may I?", Excerpt: "❯ 1. Yes"}
	e.Branch = "agents/api"
	n.Send(e)
	n.Send(Event{Event: "exited", Also: "stale", Address: "session.web"})
	n.Close()
	env, err := os.ReadFile(filepath.Join(dir, "env"))
	if want := "blocked|shop|session.api|agents/api|may I?\nstale||session.web||\n"; string(env) != want || err != nil {
		t.Errorf("in the environment: %q, %v; want %q", env, err, want)
	}
	b, err := os.ReadFile(filepath.Join(dir, "ops.json"))
	var got Event
	if err != nil || json.Unmarshal(b, &got) != nil || got != e {
		t.Errorf("it was given %s, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "other.json")); err == nil {
		t.Error("one that did not want it was told")
	}
}

// The same is told once, something else about the same session at once.
func TestOnce(t *testing.T) {
	dir := t.TempDir()
	n := start(t, Config{Dir: dir, Environ: os.Environ(), Targets: []Target{{Name: "a", On: []string{"blocked"}, Command: []string{"sh", "-c", "echo x >> told"}}}})
	for range 50 {
		n.Send(Event{Event: "blocked", Address: "session.api", Detail: "may I?"})
	}
	n.Send(Event{Event: "blocked", Address: "session.api", Detail: "may I go?"})
	n.Send(Event{Event: "blocked", Address: "session.web", Detail: "may I?"})
	for range 2 { // and the same of the next turn
		n.Send(Event{Event: "blocked", Address: "session.web", Detail: "may I?", Given: time.Unix(1, 0)})
	}
	n.Close()
	n.Send(Event{Event: "blocked", Address: "session.late"}) // after the end it is no panic
	if b, _ := os.ReadFile(filepath.Join(dir, "told")); strings.Count(string(b), "x") != 4 {
		t.Errorf("told %d times, want 4", strings.Count(string(b), "x"))
	}
}

func TestCommandFails(t *testing.T) {
	n := &Notifier{config: Config{Dir: t.TempDir(), Environ: os.Environ()}}
	for script, want := range map[string]string{"echo no way >&2; exit 3": `command "sh": exit status 3: no way`, "kill -9 $$": `command "sh": signal: killed: `} {
		if err := n.run(t.Context(), []string{"sh", "-c", script}, Event{}, nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", script, err, want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := n.run(ctx, []string{"sh", "-c", "sleep 100 & sleep 100"}, Event{}, nil); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("one that hangs: %v", err)
	}
}

// A command that starts a daemon does not leave it when the notifier ends.
func TestCommandLeavesADaemon(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := New(ctx, Config{Dir: dir, Environ: os.Environ(), Targets: []Target{{Name: "a", On: []string{"done"},
		Command: []string{"sh", "-c", "sleep 1000 >/dev/null 2>&1 </dev/null & echo $! > pid.new; mv pid.new pid"}}}})
	n.Send(Event{Event: "done"})
	var pid int
	for pid == 0 {
		b, _ := os.ReadFile(filepath.Join(dir, "pid"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		time.Sleep(5 * time.Millisecond)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("it has %s to do what it was started for: %v", commandTimeout, err)
	}
	time.AfterFunc(50*time.Millisecond, cancel)
	n.Close()
	for began := time.Now(); !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the daemon is still there")
		}
	}
}

func TestWebhook(t *testing.T) {
	var calls atomic.Int32
	var body []byte
	var header http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 { // the second time it works
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		body, _ = io.ReadAll(r.Body)
		header = r.Header
	}))
	defer s.Close()
	key := []byte("k3y")
	n := &Notifier{config: Config{Key: func() ([]byte, bool) { return key, true }}}
	if err := n.Deliver(t.Context(), Target{Webhook: s.URL}, Event{Event: "done", Project: "shop"}); err != nil || calls.Load() != 2 {
		t.Fatalf("Deliver = %v, %d calls", err, calls.Load())
	}
	if !strings.HasPrefix(string(body), `{"event":"done",`) || header.Get("Content-Type") != "application/json" {
		t.Errorf("it was sent %q as %q", body, header.Get("Content-Type"))
	}
	if got, want := header.Get(SignatureHeader), Sign(key, header.Get(TimeHeader), body); got != want || !strings.HasPrefix(got, "sha256=") {
		t.Errorf("signed %q, want %q", got, want)
	}
}

// A webhook that refuses is not asked again, and its address, which may hold a
// token, is in no error.
func TestWebhookRefuses(t *testing.T) {
	var calls atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusForbidden)
	}))
	n := &Notifier{}
	if err := n.Deliver(t.Context(), Target{Webhook: s.URL + "/t0ken"}, Event{}); err == nil || err.Error() != "webhook: it answers 403 Forbidden" || calls.Load() != 1 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := n.Deliver(ctx, Target{Webhook: s.URL + "/t0ken"}, Event{}); err == nil || strings.Contains(err.Error(), "t0ken") {
		t.Errorf("of one that is gone: %v", err)
	}
}

// What a webhook is sent goes nowhere else, and an answer without an end is not
// read to it.
func TestWebhookLimits(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			return
		}
		for text := make([]byte, 64<<10); r.Context().Err() == nil; {
			if _, err := w.Write(text); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	n := &Notifier{}
	if err := n.Deliver(t.Context(), Target{Webhook: s.URL + "/redirect"}, Event{}); err == nil || !strings.Contains(err.Error(), "307") || elsewhere.Load() != 0 {
		t.Errorf("a redirect: %v, and %d calls elsewhere", err, elsewhere.Load())
	}
	began := time.Now()
	if err := n.Deliver(t.Context(), Target{Webhook: s.URL + "/endless"}, Event{}); err != nil || time.Since(began) > requestTimeout {
		t.Errorf("an answer without an end: %v after %s", err, time.Since(began))
	}
}

// A webhook that hangs keeps nobody waiting, and no other target.
func TestWebhookThatHangs(t *testing.T) {
	hang := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-hang }))
	defer s.Close()
	defer close(hang)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	n := New(ctx, Config{Dir: dir, Environ: os.Environ(), Targets: []Target{
		{Name: "hook", On: []string{"failed"}, Webhook: s.URL},
		{Name: "ops", On: []string{"failed"}, Command: []string{"sh", "-c", "echo x >> told"}},
	}})
	began := time.Now()
	for i := range 2 * queueSize {
		n.Send(Event{Event: "failed", Address: "session.api", Detail: strings.Repeat("x", i)})
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("telling took %s", took)
	}
	until(t, "the other target is told", func() bool { _, err := os.Stat(filepath.Join(dir, "told")); return err == nil })
	cancel()
	n.Close()
}

func TestTooMuch(t *testing.T) {
	block := filepath.Join(t.TempDir(), "go")
	var log logged
	ctx, cancel := context.WithCancel(context.Background())
	n := New(ctx, Config{Dir: t.TempDir(), Environ: os.Environ(), Log: textLog(&log), Targets: []Target{
		{Name: "slow", On: []string{"failed"}, Command: []string{"sh", "-c", "while [ ! -e " + block + " ]; do sleep 0.05; done"}}}})
	for i := range queueSize + 10 {
		n.Send(Event{Event: "failed", Address: "session.api", Detail: strings.Repeat("x", i)})
	}
	until(t, "it is logged", func() bool { return strings.Contains(log.String(), "the queue is full") })
	cancel()
	n.Close()
}

func textLog(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
