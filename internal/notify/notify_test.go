package notify

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/agentform/agentform/internal/test/pipe"
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

// A report goes to those who get one at its time, whatever events they get.
func TestReportGoesToItsTargets(t *testing.T) {
	dir := t.TempDir()
	target := func(name, report string, on ...string) Target {
		return Target{Name: name, On: on, Report: report, Command: []string{"sh", "-c", `echo "$AGENTFORM_EVENT $AGENTFORM_DETAIL" >>` + name}}
	}
	n := start(t, Config{Dir: dir, Environ: []string{"PATH=" + os.Getenv("PATH")}, Targets: []Target{
		target("early", "08:00"), target("late", "17:00", "done"), target("none", "", "done"),
	}})
	n.Send(Event{Event: Report, New: "08:00", Detail: "a night"})
	n.Send(Event{Event: Report, New: "17:00", Detail: "a night"})
	n.Close()
	for name, want := range map[string]string{"early": "report a night\n", "late": "report a night\n", "none": ""} {
		if got, _ := os.ReadFile(filepath.Join(dir, name)); string(got) != want {
			t.Errorf("%s got %q, want %q", name, got, want)
		}
	}
}

// The same is reported once, something else about the same session at once.
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

// TestOnceForEachIllness checks that a run's illness causes one notification, whatever its
// detail says.
func TestOnceForEachIllness(t *testing.T) {
	dir := t.TempDir()
	n := start(t, Config{Dir: dir, Environ: []string{"PATH=" + os.Getenv("PATH")}, Targets: []Target{
		{Name: "ops", On: []string{"unhealthy"}, Command: []string{"sh", "-c", `echo "$AGENTFORM_DETAIL" >> told`}}}})
	for _, e := range []Event{
		{Reason: "hung", Run: "1", Detail: "5.1s"}, {Reason: "hung", Run: "1", Detail: "5.7s"}, {Reason: "silent", Run: "1", Detail: "6s"}, {Reason: "hung", Run: "2", Detail: "5.2s"},
	} {
		e.Event, e.Address = "unhealthy", "session.api"
		n.Send(e)
	}
	n.Close()
	if told, err := os.ReadFile(filepath.Join(dir, "told")); err != nil || string(told) != "5.1s\n6s\n5.2s\n" {
		t.Errorf("told %q, %v", told, err)
	}
}

func TestCommandFails(t *testing.T) {
	n := &Notifier{config: Config{Dir: t.TempDir(), Environ: os.Environ()}}
	for script, want := range map[string]string{"echo no way >&2; exit 3": `command "sh": exit status 3: no way`, "kill -9 $$": `command "sh": signal: killed: `} {
		if err := n.run(t.Context(), []string{"sh", "-c", script}, Event{}, nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", script, err, want)
		}
	}
}

func TestWebhook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		var body []byte
		var header http.Header
		s := pipe.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if calls.Add(1) == 1 { // the second time it works
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			body, _ = io.ReadAll(r.Body)
			header = r.Header
		}))
		key := []byte("k3y")
		n := &Notifier{config: Config{Key: func() ([]byte, bool) { return key, true }, Transport: pipe.Transport()}}
		if err := n.Deliver(t.Context(), Target{Webhook: s.URL}, Event{Event: "done", Project: "shop"}); err != nil || calls.Load() != 2 {
			t.Fatalf("Deliver = %v, %d calls", err, calls.Load())
		}
		if !strings.HasPrefix(string(body), `{"event":"done",`) || header.Get("Content-Type") != "application/json" {
			t.Errorf("it was sent %q as %q", body, header.Get("Content-Type"))
		}
		if got, want := header.Get(SignatureHeader), Sign(key, header.Get(TimeHeader), body); got != want || !strings.HasPrefix(got, "sha256=") {
			t.Errorf("signed %q, want %q", got, want)
		}
	})
}

// A webhook that refuses is not asked again, and its address, which may hold a
// token, is in no error.
func TestWebhookRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		s := pipe.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			w.WriteHeader(http.StatusForbidden)
		}))
		n := &Notifier{config: Config{Transport: pipe.Transport()}}
		if err := n.Deliver(t.Context(), Target{Webhook: s.URL + "/t0ken"}, Event{}); err == nil || err.Error() != "webhook: it answers 403 Forbidden" || calls.Load() != 1 {
			t.Errorf("%v after %d calls", err, calls.Load())
		}
		s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := n.Deliver(ctx, Target{Webhook: s.URL + "/t0ken"}, Event{}); err == nil || strings.Contains(err.Error(), "t0ken") {
			t.Errorf("of one that is gone: %v", err)
		}
	})
}

// What a webhook is sent goes nowhere else, and an answer without an end is not
// read to it.
func TestWebhookLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var elsewhere atomic.Int32
		other := pipe.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { elsewhere.Add(1) }))
		s := pipe.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
		n := &Notifier{config: Config{Transport: pipe.Transport()}}
		if err := n.Deliver(t.Context(), Target{Webhook: s.URL + "/redirect"}, Event{}); err == nil || !strings.Contains(err.Error(), "307") || elsewhere.Load() != 0 {
			t.Errorf("a redirect: %v, and %d calls elsewhere", err, elsewhere.Load())
		}
		began := time.Now()
		if err := n.Deliver(t.Context(), Target{Webhook: s.URL + "/endless"}, Event{}); err != nil || time.Since(began) > requestTimeout {
			t.Errorf("an answer without an end: %v after %s", err, time.Since(began))
		}
	})
}

// A webhook that hangs keeps nobody waiting, and no other target.
func TestWebhookThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		other := pipe.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { told++ }))
		n, cancel := hangs(t, Config{Targets: []Target{{Name: "ops", On: []string{"failed"}, Webhook: other.URL}}})
		began := time.Now()
		for i := range 2 * queueSize {
			n.Send(Event{Event: "failed", Address: "session.api", Detail: strings.Repeat("x", i)})
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("telling took %s", took)
		}
		synctest.Wait()
		if told == 0 {
			t.Error("the other target is not told")
		}
		cancel()
		n.Close()
	})
}

func TestTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		n, cancel := hangs(t, Config{Log: textLog(&log)})
		for i := range queueSize + 10 {
			n.Send(Event{Event: "failed", Address: "session.api", Detail: strings.Repeat("x", i)})
		}
		if !strings.Contains(log.String(), "the queue is full") {
			t.Errorf("logged: %s", &log)
		}
		cancel()
		n.Close()
	})
}

// hangs returns a notifier whose first target is a webhook that does not answer before the
// test ends.
func hangs(t *testing.T, c Config) (*Notifier, context.CancelFunc) {
	hang := make(chan struct{})
	s := pipe.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-hang }))
	t.Cleanup(func() { close(hang) })
	c.Targets = append([]Target{{Name: "hook", On: []string{"failed"}, Webhook: s.URL}}, c.Targets...)
	c.Transport = pipe.Transport()
	ctx, cancel := context.WithCancel(context.Background())
	return New(ctx, c), cancel
}

func textLog(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
