//go:build real

package agentform_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

// open opens a directory with a short path, since sockets lie below.
func open(t *testing.T) *agentform.Launcher {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "afl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Setenv("HOME", dir)
	s, err := agentform.Open(filepath.Join(dir, "data"), agentform.Options{Shim: shim, Secrets: func(name string) (string, bool) { return "the value of " + name, true }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func shell(t *testing.T, script string) session.Spec {
	return session.Spec{
		Agent:     session.AgentSpec{Name: "shell", Command: []string{"sh", "-c", script}, Ready: "ready>", PromptVia: "paste"},
		Workspace: session.Workspace{Path: t.TempDir()},
		Stop:      session.Stop{Grace: session.Duration(2 * time.Second)},
	}
}

const echo = `echo "ready> $KEY"; echo $$ >pid; while read -r line; do echo "heard $line"; [ "$line" = bye ] && exit 0; done`

func TestSessionsInTmux(t *testing.T) {
	sessions := open(t)
	spec := shell(t, echo)
	spec.Secrets = []string{"KEY"}
	spec.Prompt = session.PromptOf("hello there")
	var pid string
	err := sessions.With(t.Context(), "api", spec, func(ctx context.Context, s *agentform.Session) error {
		h := s.Handle()
		if h.Location.Runtime != "tmux" || !strings.HasPrefix(h.Pane, "%") || h.Dir != spec.Workspace.Path {
			t.Errorf("handle %+v", h)
		}
		await(t, s, "heard hello there")
		await(t, s, "the value of KEY")
		b, err := os.ReadFile(filepath.Join(h.Dir, "pid"))
		pid = strings.TrimSpace(string(b))
		if err != nil || !alive(pid) {
			t.Errorf("agent %q does not live: %v", pid, err)
		}
		if o, err := s.Observe(ctx); err != nil || o.Status.Terminal() || !strings.Contains(o.Snippet, "ready>") {
			t.Errorf("observation %+v, %v", o, err)
		}
		if argv := s.Attach(); argv[0] != "tmux" || !strings.Contains(strings.Join(argv, " "), h.Location.Socket) {
			t.Errorf("attach %q", argv)
		}
		if _, err := sessions.Launch(ctx, "api", spec); !errors.Is(err, session.ErrExists) {
			t.Errorf("a second of that name: %v", err)
		} else if want := `session "api" already exists; use Find or Stop`; err.Error() != want {
			t.Errorf("a second of that name: %q, want %q", err, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Error("the agent outlives With")
	}
	left, err := filepath.Glob(filepath.Join(os.Getenv("HOME"), "data", "runs", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("runs that are over are kept: %v, %v", left, err)
	}
}

// TestOccupied starts nothing next to an agent that the program does not know, since its
// directory was lost or another program has it.
func TestOccupied(t *testing.T) {
	first := open(t)
	spec := shell(t, echo)
	s, err := first.Launch(t.Context(), "first", spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(context.Background()) })
	beside, err := first.Launch(t.Context(), "beside", spec)
	if err != nil {
		t.Fatalf("a second one of the same program: %v", err)
	}
	if err := beside.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	other, err := agentform.Open(filepath.Join(os.Getenv("HOME"), "other"), agentform.Options{Shim: shim, Secrets: func(string) (string, bool) { return "", true }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	var occupied *agentform.OccupiedError
	if _, err := other.Launch(t.Context(), "second", spec); !errors.As(err, &occupied) || !alive(strconv.Itoa(occupied.PID)) || occupied.Dir != spec.Workspace.Path {
		t.Errorf("one of another program: %v", err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err = other.Launch(t.Context(), "second", spec)
	if err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestWatchUntilItLeaves(t *testing.T) {
	sessions := open(t)
	s, err := sessions.Launch(t.Context(), "", shell(t, echo))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), "bye"); err != nil {
		t.Fatal(err)
	}
	var last agentform.Observation
	for o, err := range s.Watch(t.Context(), 20*time.Millisecond) {
		if err != nil {
			t.Fatal(err)
		}
		last = o
	}
	if last.Status != session.StatusExited || last.Exit == nil || last.Exit.Code != 0 {
		t.Errorf("last seen %+v", last)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAnswerInTmux answers a question by a word, and only the one that was observed.
func TestAnswerInTmux(t *testing.T) {
	l := open(t)
	spec := shell(t, `echo 'May I go on? (y/n)'; stty -icanon; a=$(dd bs=1 count=1 2>/dev/null); clear; echo "got $a"; exec sleep 600`)
	spec.Agent.Ready, spec.Agent.Patterns.Blocked = "", []string{"May I go on"}
	err := l.With(t.Context(), "asks", spec, func(ctx context.Context, s *agentform.Session) error {
		for o, err := range s.Watch(ctx, 50*time.Millisecond) {
			if err != nil {
				return err
			}
			if o.Question == nil {
				continue
			}
			other := *o.Question
			other.ID = "another"
			var wrong *agentform.OtherQuestionError
			if err := s.Answer(ctx, other, session.Yes); !errors.As(err, &wrong) {
				t.Errorf("another question was answered: %v", err)
			}
			var unknown *agentform.UnknownAnswerError
			if err := s.Answer(ctx, *o.Question, "maybe"); !errors.As(err, &unknown) {
				t.Errorf("an answer that is none was given: %v", err)
			}
			if err := s.Answer(ctx, *o.Question, session.Yes); err != nil {
				return err
			}
			await(t, s, "got y")
			return nil
		}
		return errors.New("it asked nothing")
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWaitTurnInTmux checks that the end of a turn is seen of an agent that only its
// screen tells of, also if it prints meanwhile that it has failed, and that a lost tmux
// socket ends nothing.
func TestWaitTurnInTmux(t *testing.T) {
	sessions := open(t)
	spec := shell(t, `printf 'ready> '; read -r line; echo "it failed, for now"; sleep 2; printf 'answer\nready> '; read -r line`)
	spec.Agent.Ready = "ready> *$"
	spec.Prompt = session.PromptOf("hello there")
	err := sessions.With(t.Context(), "api", spec, func(ctx context.Context, s *agentform.Session) error {
		servers := filepath.Dir(s.Handle().Location.Socket)
		if err := os.Rename(servers, servers+"-away"); err != nil {
			return err
		}
		o, err := s.Observe(ctx)
		if err != nil || o.Status.Terminal() || !strings.Contains(o.Detail, "its agent is running") {
			t.Errorf("without its socket: %+v, %v", o, err)
		}
		if err := os.RemoveAll(servers); err != nil {
			return err
		}
		if err := os.Rename(servers+"-away", servers); err != nil {
			return err
		}
		if o, err = s.WaitTurn(ctx); err != nil || !o.TurnEnded || !strings.Contains(o.Snippet, "answer") {
			t.Errorf("after its turn: %+v, %v", o, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := agentform.Available("nobody"); err == nil || !strings.Contains(err.Error(), "no built-in agent") {
		t.Errorf("an agent that nobody knows: %v", err)
	}
}

// TestFoundByAnotherLife: what was left running is found by the next process.
func TestFoundByAnotherLife(t *testing.T) {
	sessions := open(t)
	spec := shell(t, echo)
	if _, err := sessions.Launch(t.Context(), "api", spec); err != nil {
		t.Fatal(err)
	}
	later, err := agentform.Open(filepath.Join(os.Getenv("HOME"), "data"), agentform.Options{Shim: shim})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(later.Close)
	s, err := later.Find(t.Context(), "api", spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), "hello again"); err != nil {
		t.Error(err)
	}
	await(t, s, "heard hello again")
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := later.Find(t.Context(), "api", spec); !errors.Is(err, session.ErrGone) {
		t.Errorf("after stop: %v", err)
	}
}

// TestAttach: a person sees the session, types, and detaches.
func TestAttach(t *testing.T) {
	sessions := open(t)
	s, err := sessions.Launch(t.Context(), "api", shell(t, echo))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.WithoutCancel(t.Context())) })
	terminal, its, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { its.Close(); terminal.Close() })
	if err := pty.Setsize(terminal, &pty.Winsize{Rows: 30, Cols: 100}); err != nil {
		t.Fatal(err)
	}
	var shown shownText
	go func() { _, _ = io.Copy(&shown, terminal) }()
	t.Setenv("TERM", "xterm")
	t.Setenv("TMUX", "/tmp/another,1,0") // as inside another tmux
	in, out, errs := os.Stdin, os.Stdout, os.Stderr
	t.Cleanup(func() { os.Stdin, os.Stdout, os.Stderr = in, out, errs })
	os.Stdin, os.Stdout, os.Stderr = its, its, its
	ended := make(chan error, 1)
	go func() { ended <- sessions.Attach(t.Context(), s) }()
	wait.For(t, "somebody is attached", func() (any, bool) {
		lives, err := sessions.Runtime.Observe(t.Context(), false)
		return []any{lives, err}, err == nil && len(lives) == 1 && lives[0].Attached == 1
	})
	wait.For(t, "the keys that the outer tmux does not take", func() (any, bool) {
		text := shown.String()
		return text, strings.Contains(text, "Ctrl-b Ctrl-b d detaches")
	})
	if _, err := terminal.WriteString("typed by hand\n"); err != nil {
		t.Fatal(err)
	}
	await(t, s, "heard typed by hand")
	if _, err := terminal.WriteString("\x02d"); err != nil { // Ctrl-B D
		t.Fatal(err)
	}
	if err := wait.Receive(t, "it detaches", ended); err != nil {
		t.Error(err)
	}
}

// shownText is what a terminal was sent.
type shownText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *shownText) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *shownText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func TestWhatCannotStart(t *testing.T) {
	sessions := open(t)
	spec := shell(t, "echo no key; exit 3")
	var failed *agentform.LaunchError
	if _, err := sessions.Launch(t.Context(), "dies", spec); !errors.As(err, &failed) || failed.Exit == nil || failed.Exit.Code != 3 {
		t.Errorf("an agent that leaves: %v", err)
	}
	spec.Agent.Command = []string{"/no/such/program"}
	if _, err := sessions.Launch(t.Context(), "none", spec); !errors.As(err, &failed) {
		t.Errorf("a program that is not there: %v", err)
	}
	spec = shell(t, "echo waiting; sleep 600")
	spec.Agent.ReadyTimeout = session.Duration(5 * time.Second)
	var late *agentform.ReadyTimeoutError
	if _, err := sessions.Launch(t.Context(), "slow", spec); !errors.As(err, &late) || late.Screen != "waiting" {
		t.Errorf("an agent that is not ready: %v", err)
	}
	lives, err := sessions.Runtime.Observe(t.Context(), false)
	if err != nil || len(lives) != 0 {
		t.Errorf("left: %+v, %v", lives, err)
	}
}

func TestWithoutTmux(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := agentform.Open(t.TempDir(), agentform.Options{Shim: shim}); !errors.Is(err, tmux.ErrNotAvailable) {
		t.Errorf("without tmux: %v", err)
	}
}

// TestWithoutShim: a program that is not its own shim and has none beside it is
// told so, and does not start itself as one.
func TestWithoutShim(t *testing.T) {
	bin := t.TempDir()
	path, err := exec.LookPath("tmux")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, filepath.Join(bin, "tmux")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	if _, err := agentform.Open(t.TempDir(), agentform.Options{}); err == nil || !strings.Contains(err.Error(), "agentform.Init") {
		t.Errorf("without a shim: %v", err)
	}
}

func await(t *testing.T, s *agentform.Session, text string) {
	t.Helper()
	wait.For(t, fmt.Sprintf("it shows %q", text), func() (any, bool) {
		shown, err := s.Capture(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return shown, strings.Contains(shown, text)
	})
}

func alive(pid string) bool {
	_, err := os.Stat("/proc/" + pid)
	return pid != "" && err == nil
}
