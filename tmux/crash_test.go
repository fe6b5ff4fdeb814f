//go:build real

package tmux_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

// hold creates, observes and removes sessions until it is killed. It prints when it starts.
func hold(sockets, data string) int {
	r := tmux.New(tmux.Config{SocketDir: sockets, DataDir: data, Lineage: lineage, Shim: []string{os.Args[0], "shim"}})
	ctx := context.Background()
	fmt.Println("at work")
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				run := newRun()
				l := session.Launch{
					Mark: session.Mark{Project: lineage, Address: "session.x", Run: run}, Name: fmt.Sprintf("w%d-%d-%s", worker, i, run),
					RunDir: filepath.Join(data, "runs", run), Dir: "/", Argv: []string{"sleep", "1000"}, Env: []string{"PATH=" + os.Getenv("PATH")},
				}
				p, err := r.Create(ctx, l)
				if err != nil {
					fmt.Println(err)
					continue
				}
				_, _ = r.Observe(ctx, true)
				if i%2 == 0 {
					_ = r.Remove(ctx, p)
				}
			}
		})
	}
	wg.Wait()
	return 0
}

// TestKilledAtWork checks that killing agentform at any moment harms no session and leaves only
// sessions with a mark.
func TestKilledAtWork(t *testing.T) {
	b := newBed(t)
	app := b.create(t, b.launch(t, "app"))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	moments := rand.New(rand.NewPCG(1, 1))
	for range 10 {
		holder := exec.Command(self, "hold", b.config.SocketDir, b.config.DataDir)
		out, err := holder.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := holder.Start(); err != nil {
			t.Fatal(err)
		}
		if said, _ := bufio.NewReader(out).ReadString('\n'); said != "at work\n" {
			t.Fatalf("the holder says %q", said)
		}
		time.Sleep(time.Duration(moments.IntN(60)) * time.Millisecond)
		if err := holder.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = holder.Wait()
		if l, ok := b.see(t, app); !ok || l.Liveness != session.Alive {
			t.Fatalf("another session: there %v, %s", ok, l.Liveness)
		}
	}
	wait.For(t, "its tmux processes are gone", func() (any, bool) {
		// The server's command line is that of the client that started it.
		asking := slices.DeleteFunc(b.processes(t), func(p string) bool { return !strings.Contains(p, "source-file") })
		return asking, len(asking) <= 1
	})
	lives, err := b.runtime.Observe(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d sessions are left", len(lives)-1)
	for _, l := range lives {
		if l.Foreign {
			t.Errorf("%s has no mark", l.Location.Name)
		}
	}
}
