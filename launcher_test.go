package agentform_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// shy is an agent that is ready when it shows a ">".
type shy struct{ sessiontest.Agent }

func (shy) Ready(screen string) bool { return strings.HasSuffix(screen, ">") }

// failing is an agent that says of a screen what its first word is.
type failing struct{ sessiontest.Agent }

func (failing) Detect(e session.Evidence) session.Detection {
	pr := ""
	if i := strings.Index(e.Screen, "https://"); i >= 0 {
		pr = e.Screen[i:]
	}
	return session.Detection{Activity: session.Activity(e.Title), PR: pr}
}

func newLauncher(agent session.Agent) (*agentform.Launcher, *sessiontest.Scripted) {
	rt := sessiontest.New("")
	return &agentform.Launcher{Runtime: rt, Agents: map[string]session.Agent{"robot": agent}}, rt
}

func robot(prompt string) session.Spec {
	return session.Spec{Agent: session.AgentSpec{Name: "robot", Command: []string{"robot"}}, Workspace: session.Workspace{Path: "/work"}, Prompt: session.PromptOf(prompt)}
}

func TestLaunchWaitsUntilReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rt := newLauncher(shy{})
		rt.Script("api", sessiontest.Step{After: 3 * time.Second, Screen: "hello\n>"})
		began := time.Now()
		s, err := l.Launch(t.Context(), "api", robot("write tests"))
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 3*time.Second || took > 4*time.Second {
			t.Errorf("it was ready after %v", took)
		}
		h := s.Handle()
		if h.Name != "api" || h.Agent != "robot" || h.Dir != "/work" || h.Run == "" || h.Pane == "" {
			t.Errorf("handle %+v", h)
		}
		st, _ := rt.State("api")
		if len(st.Sent) != 1 || st.Sent[0].Text != "write tests" {
			t.Errorf("sent %+v", st.Sent)
		}
		if err := s.SendInput(t.Context(), session.Input{Text: "half", NoEnter: true}); err != nil {
			t.Error(err)
		}
		if shown, err := s.Capture(t.Context(), 1); shown != ">" || err != nil {
			t.Errorf("captured %q, %v", shown, err)
		}
		if argv := s.Attach(); len(argv) == 0 {
			t.Error("nothing to attach with")
		}
		if _, err := l.Launch(t.Context(), "api", robot("")); !errors.Is(err, session.ErrExists) {
			t.Errorf("a second of that name: %v", err)
		} else if want := `session "api" already exists; use Find or Stop`; err.Error() != want {
			t.Errorf("a second of that name: %q, want %q", err, want)
		}
		for range 2 { // the second has nothing to do
			if err := s.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if o, err := s.Observe(t.Context()); o.Status != session.StatusStopped || err != nil {
			t.Errorf("after stop: %+v, %v", o, err)
		}
		if left := rt.Places(); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	})
}

func TestLaunchFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rt := newLauncher(shy{})
		rt.Script("slow", sessiontest.Step{Screen: "Do you trust this folder?"})
		began := time.Now()
		_, err := l.Launch(t.Context(), "slow", robot(""))
		var late *agentform.ReadyTimeoutError
		if !errors.As(err, &late) || late.Name != "slow" || late.Screen != "Do you trust this folder?" || late.After != agentform.DefaultReadyTimeout {
			t.Errorf("a dialog: %v", err)
		}
		if took := time.Since(began); took < 30*time.Second || took > 31*time.Second {
			t.Errorf("it was waited %v", took)
		}

		rt.Script("dies", sessiontest.Step{After: time.Second, Screen: "no key\n", Exit: &session.Exit{Code: 2}})
		_, err = l.Launch(t.Context(), "dies", robot(""))
		var failed *agentform.LaunchError
		if !errors.As(err, &failed) || failed.Name != "dies" || failed.Agent != "robot" || failed.Exit == nil || failed.Exit.Code != 2 || !strings.Contains(err.Error(), "no key") {
			t.Errorf("an agent that leaves: %v", err)
		}

		spec := robot("")
		spec.Secrets = []string{"KEY"}
		if _, err = l.Launch(t.Context(), "poor", spec); !errors.As(err, &failed) || !strings.Contains(err.Error(), "secret KEY is not set") {
			t.Errorf("without its secret: %v", err)
		}
		spec = robot("")
		spec.Agent.Name = "nobody"
		if _, err = l.Launch(t.Context(), "nobody", spec); !errors.As(err, &failed) || !strings.Contains(err.Error(), `no agent "nobody"`) {
			t.Errorf("of no agent: %v", err)
		}
		if _, err = l.Launch(t.Context(), "a:b", robot("")); !errors.As(err, &failed) || !strings.Contains(err.Error(), "invalid name") {
			t.Errorf("a bad name: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err = l.Launch(ctx, "canceled", robot("")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("canceled: %v", err)
		}
		if left := rt.Places(); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// told is an agent that gets its prompt as argument, and is seen by its
// hooks when it shows them.
type told struct{ shy }

func (told) Start(in session.StartInput) session.Start {
	return session.Start{Argv: append(in.Spec.Agent.Command, in.Prompt)}
}

func (a told) Detect(e session.Evidence) session.Detection {
	r := a.shy.Detect(e)
	if strings.HasPrefix(e.Screen, "hook") {
		r.Source = "hook"
	}
	return r
}

// An agent that is at its prompt already is launched, also when it asks something;
// one that asks something before is not.
func TestLaunchedWithItsPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rt := newLauncher(told{})
		for i, c := range []struct {
			prompt string
			step   sessiontest.Step
			want   bool
		}{
			{"write", sessiontest.Step{Activity: session.Working, Screen: "reading"}, true},
			{"write", sessiontest.Step{Activity: session.Blocked, Screen: "hook: may I?"}, true},
			{"write", sessiontest.Step{Activity: session.Blocked, Screen: "Do you trust this folder?"}, false},
			{"write", sessiontest.Step{Activity: session.Booting, Screen: "hook: it starts"}, false},
			{"write", sessiontest.Step{Activity: session.Done, Screen: "all tasks completed"}, false},
			{"", sessiontest.Step{Activity: session.Working, Screen: "at work, so it has been ready"}, true},
		} {
			name := fmt.Sprint("s", i)
			rt.Script(name, c.step)
			s, err := l.Launch(t.Context(), name, robot(c.prompt))
			var late *agentform.ReadyTimeoutError
			if c.want != (err == nil) || err != nil && !errors.As(err, &late) {
				t.Errorf("%+v: %v", c.step, err)
			}
			if s != nil {
				if o, err := s.Observe(t.Context()); err != nil || o.Activity != c.step.Activity {
					t.Errorf("%+v: then %+v, %v", c.step, o, err)
				}
			}
		}
	})
}

// A runtime that does not answer for a moment while an agent starts does not end
// it.
func TestLaunchWhileTheRuntimeDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rt := newLauncher(sessiontest.Agent{})
		rt.Faults.Fail(sessiontest.OpObserve, 1, errors.New("busy"))
		if _, err := l.Launch(t.Context(), "api", robot("")); err != nil {
			t.Error(err)
		}
		for n := range 1000 {
			rt.Faults.Fail(sessiontest.OpObserve, n+1, errors.New("down"))
		}
		var failed *agentform.LaunchError
		if _, err := l.Launch(t.Context(), "web", robot("")); !errors.As(err, &failed) || !strings.Contains(err.Error(), "down") {
			t.Errorf("for good: %v", err)
		}
	})
}

func TestWithAlwaysStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rt := newLauncher(sessiontest.Agent{})
		broken := errors.New("broken")
		ctx, cancel := context.WithCancel(t.Context())
		err := l.With(ctx, "api", robot(""), func(ctx context.Context, s *agentform.Session) error {
			cancel()
			return broken
		})
		if !errors.Is(err, broken) || len(rt.Places()) != 0 {
			t.Errorf("canceled: %v, left %v", err, rt.Places())
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_ = l.With(t.Context(), "api", robot(""), func(context.Context, *agentform.Session) error { panic("oh") })
		}()
		if len(rt.Places()) != 0 {
			t.Errorf("after a panic: left %v", rt.Places())
		}
		rt.Faults.Fail(sessiontest.OpRemove, 1, broken)
		if err := l.With(t.Context(), "api", robot(""), func(context.Context, *agentform.Session) error { return nil }); !errors.Is(err, broken) {
			t.Errorf("when it cannot be stopped: %v", err)
		}
	})
}

func TestMonitorAndWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rt := newLauncher(failing{})
		spec := robot("")
		spec.Agent.StatusBarLines = 1
		rt.Script("api",
			sessiontest.Step{Activity: session.Working, Screen: "reading\n1s"},
			sessiontest.Step{After: time.Second, Screen: "reading\n2s"},
			sessiontest.Step{After: 2 * time.Second, Activity: session.Blocked, Screen: "may I? https://github.com/a/b/pull/7"},
			sessiontest.Step{After: 4 * time.Second, Activity: session.Working, Screen: strings.Repeat("x", 600) + "\nsee https://github.com/a/b/pull/7"},
			sessiontest.Step{After: 5 * time.Second, Exit: &session.Exit{Code: 0}})
		s, err := l.Launch(t.Context(), "api", spec)
		if err != nil {
			t.Fatal(err)
		}
		var changes, urls []string
		tell := agentform.Callbacks{
			StatusChanged: func(old, now session.Status, output string) {
				changes = append(changes, string(old)+">"+string(now)+" "+output[:7])
			},
			PRDetected: func(url string) { urls = append(urls, url) },
		}
		var changed []bool
		for range 5 {
			o, err := s.Monitor(t.Context(), tell)
			if err != nil {
				t.Fatal(err)
			}
			changed = append(changed, o.Changed)
			if n := len([]rune(o.Snippet)); n > agentform.SnippetLimit {
				t.Errorf("a snippet of %d characters", n)
			}
			time.Sleep(time.Second)
		}
		if got := strings.Join(changes, ", "); got != "running>blocked may I? , blocked>running xxxxxxx" {
			t.Errorf("changes: %s", got)
		}
		if len(urls) != 1 || urls[0] != "https://github.com/a/b/pull/7" {
			t.Errorf("pull requests: %v", urls)
		}
		if want := []bool{true, false, true, false, true}; !equal(changed, want) {
			t.Errorf("changed %v, want %v", changed, want)
		}

		var last agentform.Observation
		n := 0
		for o, err := range s.Watch(t.Context(), time.Second) {
			if err != nil {
				t.Fatal(err)
			}
			last, n = o, n+1
		}
		if !last.Status.Terminal() || last.Status != session.StatusExited || last.Exit == nil || n != 1 {
			t.Errorf("after %d looks: %+v", n, last)
		}
		rt.Faults.Unreachable(errors.New("down"))
		if _, err := s.Observe(t.Context()); err == nil {
			t.Error("a runtime that does not answer was no error")
		}
		rt.Faults.Unreachable(nil)
		rt.Vanish("api")
		if o, err := s.Observe(t.Context()); o.Status != session.StatusExited || err != nil {
			t.Errorf("gone: %+v, %v", o, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		n = 0
		rt.Faults.Unreachable(errors.New("down"))
		for _, err := range s.Watch(ctx, time.Second) {
			if n++; err == nil {
				t.Error("no error")
			}
		}
		if n < 5 || n > 6 {
			t.Errorf("%d looks in 5 seconds", n)
		}
	})
}

// What an earlier life of a program left running is found and followed.
func TestFind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, rt := newLauncher(sessiontest.Agent{})
		first, err := before.Launch(t.Context(), "api", robot("write tests"))
		if err != nil {
			t.Fatal(err)
		}
		l := &agentform.Launcher{Runtime: rt, Agents: before.Agents}
		s, err := l.Find(t.Context(), "api", robot("write tests"))
		if err != nil || s.Handle() != first.Handle() || s.Record().Run.DeliveredAt.IsZero() {
			t.Fatalf("found %+v, %v; want %+v", s, err, first.Handle())
		}
		if err := s.Send(t.Context(), "go on"); err != nil {
			t.Error(err)
		}
		rt.Exit("api", session.Exit{Code: 1})
		if o, err := s.Observe(t.Context()); err != nil || o.Status != session.StatusExited {
			t.Errorf("dead: %+v, %v", o, err)
		}
		if _, err := l.Find(t.Context(), "web", robot("")); !errors.Is(err, session.ErrGone) {
			t.Errorf("of no such name: %v", err)
		}
		l.Project = "another"
		if _, err := l.Find(t.Context(), "api", robot("")); !errors.Is(err, session.ErrGone) {
			t.Errorf("of another project: %v", err)
		}
		rt.Faults.Unreachable(errors.New("down"))
		if _, err := l.Find(t.Context(), "api", robot("")); err == nil || errors.Is(err, session.ErrGone) {
			t.Errorf("of a runtime that does not answer: %v", err)
		}
	})
}

// A hundred sessions that are watched do not cost a hundred looks each time, and
// each is reported in time.
func TestLooksAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rt := newLauncher(sessiontest.Agent{})
		rt.Faults.Slow(sessiontest.OpObserve, 20*time.Millisecond)
		var all sync.WaitGroup
		for i := range 100 {
			name := fmt.Sprintf("s%d", i)
			rt.Script(name, sessiontest.Step{After: 10 * time.Second, Exit: &session.Exit{}})
			all.Go(func() {
				time.Sleep(time.Duration(i) * 9 * time.Millisecond) // not all at once
				s, err := l.Launch(t.Context(), name, robot(""))
				if err != nil {
					t.Error(err)
					return
				}
				began := time.Now()
				for _, err := range s.Watch(t.Context(), time.Second) {
					if err != nil {
						t.Error(err)
					}
				}
				if took := time.Since(began); took < 10*time.Second || took > 12*time.Second {
					t.Errorf("%s: its end was told after %v", name, took)
				}
			})
		}
		all.Wait()
		// For each: one to be ready, one to begin with, and eleven.
		if n := len(rt.Calls(sessiontest.OpObserve)); n > 200 {
			t.Errorf("%d looks", n)
		}
	})
}

// A look of which one has tired does not spoil it for those who wait.
func TestALookThatIsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rt := newLauncher(sessiontest.Agent{})
		s, err := l.Launch(t.Context(), "api", robot(""))
		if err != nil {
			t.Fatal(err)
		}
		rt.Faults.Slow(sessiontest.OpObserve, time.Second)
		hasty, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := s.Observe(hasty); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the hasty one: %v", err)
			}
		})
		time.Sleep(time.Millisecond)
		all.Go(func() {
			if o, err := s.Observe(t.Context()); err != nil || o.Status != session.StatusRunning {
				t.Errorf("the patient one: %+v, %v", o, err)
			}
		})
		all.Wait()
	})
}

// hooked is an agent with a file of settings.
type hooked struct{ sessiontest.Agent }

func (h hooked) Start(in session.StartInput) session.Start {
	start := h.Agent.Start(in)
	start.Files = map[string]string{"hooks": strings.Join(in.Notify, " ") + " " + in.Private}
	return start
}

func TestDirectoriesOfRuns(t *testing.T) {
	l, rt := newLauncher(hooked{})
	l.Dir, l.Hook, l.Facts = t.TempDir(), []string{"shim", "notify"}, rt.Facts
	runs := filepath.Join(l.Dir, "runs")
	s, err := l.Launch(t.Context(), "api", robot(""))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(runs, s.Handle().Run)
	hooks, err := os.ReadFile(filepath.Join(dir, "private", "hooks"))
	if want := "shim notify " + dir + " " + dir + "/private"; err != nil || string(hooks) != want {
		t.Errorf("hooks %q, %v, want %q", hooks, err, want)
	}
	if st, _ := rt.State("api"); st.Launch.RunDir != dir {
		t.Errorf("launched with %q", st.Launch.RunDir)
	}
	kept := func() int {
		entries, err := os.ReadDir(runs)
		if err != nil {
			t.Error(err)
		}
		return len(entries)
	}
	if _, err := l.Launch(t.Context(), "api", robot("")); !errors.Is(err, session.ErrExists) || kept() != 1 {
		t.Errorf("a launch that failed: %v, left %v", err, kept())
	}
	if err := s.Stop(t.Context()); err != nil || kept() != 0 {
		t.Errorf("after stop: %v, left %v", err, kept())
	}
}

func TestNamesAreMadeUp(t *testing.T) {
	l, _ := newLauncher(sessiontest.Agent{})
	s, err := l.Launch(t.Context(), "", robot(""))
	if err != nil || len(s.Handle().Name) != len("task-01234567") || !strings.HasPrefix(s.Handle().Name, "task-") {
		t.Errorf("%+v, %v", s, err)
	}
}

func equal[T comparable](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestLauncherWithoutRuntime: what was forgotten is named, by Find as by Launch.
func TestLauncherWithoutRuntime(t *testing.T) {
	l := agentform.Launcher{Agents: map[string]session.Agent{"a": sessiontest.Agent{}}}
	spec := session.Spec{Agent: session.AgentSpec{Name: "a"}}
	_, launch := l.Launch(t.Context(), "api", spec)
	_, find := l.Find(t.Context(), "api", spec)
	for _, err := range []error{launch, find} {
		if err == nil || !strings.Contains(err.Error(), "no Launcher.Runtime") {
			t.Errorf("without a runtime: %v", err)
		}
	}
}
