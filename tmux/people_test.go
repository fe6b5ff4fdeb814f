//go:build real

package tmux_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

func TestAttachAndDetachByPause(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch(t, "app")
	p := b.create(t, l)
	argv := b.runtime.Attach(p)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "TERM=xterm", "TMUX=")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 120, Rows: 40})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		buf := make([]byte, 4096)
		for {
			if _, err := terminal.Read(buf); err != nil {
				return
			}
		}
	}()
	wait.For(t, "it is attached", func() (any, bool) {
		live, _ := b.see(t, p)
		return live, live.Attached == 1 && live.Size[0] == 120
	})
	b.listening(t, p)
	if _, err := terminal.WriteString("typed by hand\r"); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the agent hears the person", func() (any, bool) {
		heard := b.state(t, p, "heard")
		return heard, strings.Contains(heard, "typed by hand")
	})
	if err := b.runtime.Pause(t.Context(), p, l.Mark.Run, session.Detach); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the client: %v", err)
	}
	<-drained
	if live, _ := b.see(t, p); live.Attached != 0 || !live.InputOff {
		t.Errorf("%d attached, input off %v", live.Attached, live.InputOff)
	}
}

func TestSendIntoAScrolledPane(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.launch(t, "app"))
	b.tmux(t, p.Socket, "copy-mode", "-t", "=app:")
	b.send(t, p, "hello")
	b.hears(t, p, "hello\n")
}

func TestSendMuch(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.launch(t, "app"))
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "line %d of a long prompt with $odd \"text\" in it\n", i)
	}
	// Concurrent texts are typed one after the other.
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { b.send(t, p, strings.TrimSuffix(text.String(), "\n")) })
	}
	wg.Wait()
	b.hears(t, p, text.String()+text.String())
}

func TestTwoRuntimesOnOneSocket(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	other := tmux.New(b.config)
	defer other.Close()
	var wg sync.WaitGroup
	for i := range 10 {
		l := b.launch(t, fmt.Sprintf("n%d", i))
		r := []*tmux.Runtime{b.runtime, other}[i%2]
		wg.Go(func() {
			if _, err := r.Create(t.Context(), l); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	lives, err := other.Observe(t.Context(), false)
	if err != nil || len(lives) != 10 {
		t.Fatalf("%d sessions, %v; want 10", len(lives), err)
	}
	for i, l := range lives {
		r := []*tmux.Runtime{b.runtime, other}[i%2]
		wg.Go(func() {
			if err := r.Remove(t.Context(), l.Location); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if lives, err := b.runtime.Observe(t.Context(), false); err != nil || len(lives) != 0 {
		t.Errorf("%d sessions, %v; want none", len(lives), err)
	}
}

func TestFrozenIsSeenByOthers(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch(t, "app")
	p := b.create(t, l)
	if err := b.runtime.Pause(t.Context(), p, l.Mark.Run, session.Freeze); err != nil {
		t.Fatal(err)
	}
	other := tmux.New(b.config)
	defer other.Close()
	lives, err := other.Observe(t.Context(), false)
	if err != nil || len(lives) != 1 || !lives[0].Frozen {
		t.Fatalf("%+v, %v; want a frozen one", lives, err)
	}
	if err := other.Resume(t.Context(), p, l.Mark.Run); err != nil {
		t.Fatal(err)
	}
	b.send(t, p, "hello")
	b.hears(t, p, "hello\n")
}

func TestTheServerGoesWithTheLastSession(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.launch(t, "app"))
	if err := b.runtime.Remove(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	b.runtime.Close()
	if left := b.processes(t); len(left) > 0 {
		t.Errorf("after close: %q", left)
	}
}

// TestTwoHundred logs the times of a large project, and checks that it has two servers.
func TestTwoHundred(t *testing.T) {
	b := newBed(t)
	const n = 200
	launches := make([]session.Launch, n)
	for i := range launches {
		launches[i] = b.launch(t, fmt.Sprintf("app-n%d-000000", i))
		launches[i].Argv = []string{"sleep", "1000"}
	}
	each := func(what string, f func(i int) error) {
		t.Helper()
		begun := time.Now()
		var wg sync.WaitGroup
		next := make(chan int)
		for range 10 { // apply's default parallelism
			wg.Go(func() {
				for i := range next {
					if err := f(i); err != nil {
						t.Errorf("%s: %v", what, err)
					}
				}
			})
		}
		for i := range n {
			next <- i
		}
		close(next)
		wg.Wait()
		took := time.Since(begun)
		t.Logf("%s: %v, %v a session", what, took.Round(time.Millisecond), (took / n).Round(time.Microsecond))
	}
	places := make([]session.Location, n)
	each("create", func(i int) (err error) { places[i], err = b.runtime.Create(t.Context(), launches[i]); return err })
	sockets := map[string]int{}
	for _, p := range places {
		sockets[p.Socket]++
	}
	if len(sockets) != 2 || sockets[b.socket(0)] != 128 {
		t.Errorf("sessions by server: %v, want 128 on the first and the rest on a second", sockets)
	}
	for _, screens := range []bool{false, true} {
		begun := time.Now()
		lives, err := b.runtime.Observe(t.Context(), screens)
		if err != nil || len(lives) != n {
			t.Fatalf("observe: %d sessions, %v", len(lives), err)
		}
		t.Logf("observe, screens %v: %v", screens, time.Since(begun).Round(time.Microsecond))
	}
	if _, err := b.runtime.Create(t.Context(), b.launch(t, launches[0].Name)); err == nil {
		t.Error("a name of the first server was taken again on the second")
	}
	each("stop", func(i int) error {
		return b.runtime.Stop(t.Context(), places[i], launches[i].Mark.Run, launches[i].Stop)
	})
	each("remove", func(i int) error { return b.runtime.Remove(t.Context(), places[i]) })
	if lives, err := b.runtime.Observe(t.Context(), false); err != nil || len(lives) != 0 {
		t.Errorf("%d sessions are left, %v", len(lives), err)
	}
}
