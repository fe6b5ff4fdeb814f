package tmux_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

// hold opens a control client, says so, and waits to be killed.
func hold(sockets, data string) int {
	r := tmux.New(tmux.Config{SocketDir: sockets, DataDir: data, Lineage: lineage, Guest: []string{os.Args[0], "guest"}})
	p := session.Place{Socket: filepath.Join(sockets, "tmux-0"), Name: "app"}
	if err := r.Remove(context.Background(), session.Place{Socket: p.Socket, Name: "nobody"}); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("holding")
	time.Sleep(time.Hour)
	return 0
}

func TestKeeperGoesWithAKilledProcess(t *testing.T) {
	b := newBed(t)
	b.create(t, b.launch(t, "app"))
	b.runtime.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.Command(self, "hold", b.config.SocketDir, b.config.DataDir)
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if said, _ := bufio.NewReader(out).ReadString('\n'); said != "holding\n" {
		t.Fatalf("the holder says %q", said)
	}
	if all := b.tmux(t, b.socket(0), "list-sessions", "-F", "#{session_name}"); !strings.Contains(all, "_agentform-") {
		t.Fatalf("no keeper among %q: this test proves nothing", all)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait()
	until(t, "the keeper is gone", func() bool {
		return b.tmux(t, b.socket(0), "list-sessions", "-F", "#{session_name}") == "app\n"
	})
}
