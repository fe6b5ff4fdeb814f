//go:build real

package tmux_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

func TestServer(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "aft") // short: a socket's path may have 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := tmux.Server{Socket: filepath.Join(dir, "s")}
	ctx := t.Context()
	if there, err := s.Has(ctx, "a"); there || err != nil {
		t.Errorf("has without a server: %v, %v", there, err)
	}
	if all, err := s.List(ctx); len(all) != 0 || err != nil {
		t.Errorf("list without a server: %v, %v", all, err)
	}
	if err := s.Kill(ctx, "a"); err != nil {
		t.Errorf("kill without a server: %v", err)
	}
	pane, err := s.New(ctx, "a", dir, "sh", "-c", "while read -r line; do echo \"heard $line in $(pwd)\"; done")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, name := range []string{"a", "a b"} {
			_ = s.Kill(context.WithoutCancel(ctx), name)
		}
	})
	if _, err := s.New(ctx, "a", dir); !errors.Is(err, session.ErrExists) {
		t.Errorf("a second of that name: %v", err)
	}
	if _, err := s.New(ctx, "a b", dir); err != nil { // a shell
		t.Fatal(err)
	}
	all, err := s.List(ctx)
	if err != nil || len(all) != 2 || all[0].Name != "a" || all[0].Pane != pane || all[0].PID <= 0 || all[1].Name != "a b" {
		t.Errorf("list %+v, %v", all, err)
	}
	if there, err := s.Has(ctx, "a"); !there || err != nil {
		t.Errorf("has: %v, %v", there, err)
	}
	if err := s.SendKeys(ctx, "a", "one word", "Enter"); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "it shows what it heard", func() (any, bool) {
		shown, err := s.Capture(ctx, pane, 0)
		if err != nil {
			t.Fatal(err)
		}
		return shown, strings.Contains(shown, "heard one word in "+dir)
	})
	if last, err := s.Capture(ctx, "a", 1); err != nil || strings.Contains(last, "\n") || !strings.HasPrefix(last, "heard") {
		t.Errorf("the last line is %q, %v", last, err)
	}
	if got := s.Attach("a"); got[len(got)-1] != "=a:" {
		t.Errorf("attach %q", got)
	}
	if err := s.Kill(ctx, "a"); err != nil {
		t.Error(err)
	}
	if there, err := s.Has(ctx, "a"); there || err != nil {
		t.Errorf("after kill: %v, %v", there, err)
	}
	var failed *tmux.Error
	if _, err := s.Capture(ctx, "a", 0); !errors.Is(err, session.ErrGone) || !errors.As(err, &failed) {
		t.Errorf("capture of what is gone: %v", err)
	}
	if err := s.Kill(ctx, "a b"); err != nil {
		t.Error(err)
	}
	if _, err := (tmux.Server{Socket: "s"}).List(ctx); err == nil {
		t.Error("a socket that depends on where one stands was taken")
	}
}

func TestAvailable(t *testing.T) {
	if err := tmux.Available(); err != nil {
		t.Error(err)
	}
	t.Setenv("PATH", t.TempDir())
	if err := tmux.Available(); !errors.Is(err, tmux.ErrNotAvailable) {
		t.Errorf("without tmux: %v", err)
	}
}
