//go:build real

package tmux_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

// TestBlankScreen checks that an empty screen differs from one that was not captured.
func TestBlankScreen(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.create(t, b.shell(t, "blank", "read x"))
	for _, screens := range []bool{true, false} {
		lives, err := b.runtime.Observe(t.Context(), screens)
		if err != nil || len(lives) != 1 {
			t.Fatalf("%v, %v", lives, err)
		}
		if l := lives[0]; l.Screen != "" || l.Blank != screens {
			t.Errorf("with screens %v: screen %q, blank %v", screens, l.Screen, l.Blank)
		}
	}
}

// TestScreenOfADeadPane checks that an agent's output before its exit is returned, even a single
// line.
func TestScreenOfADeadPane(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.create(t, b.shell(t, "failed", "echo no account; exit 2"))
	wait.For(t, "it is dead and shows its line", func() (any, bool) {
		lives, err := b.runtime.Observe(t.Context(), true)
		if err != nil || len(lives) != 1 {
			t.Fatalf("%v, %v", lives, err)
		}
		l := lives[0]
		return l, l.Liveness == session.Dead && strings.HasPrefix(l.Screen, "no account")
	})
}

// TestEveryScreenIsSeen checks that the screens of panes %3 to %9 are captured like others.
func TestEveryScreenIsSeen(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const n = 12
	for i := range n {
		b.create(t, b.shell(t, fmt.Sprintf("s%d", i), fmt.Sprintf("echo I am s%d.; read x", i)))
	}
	wait.For(t, "every session shows what it said", func() (any, bool) {
		lives, err := b.runtime.Observe(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		shown := 0
		for _, l := range lives {
			if strings.Contains(l.Screen, "I am "+l.Location.Name+".") {
				shown++
			}
		}
		return lives, shown == n
	})
}

// TestServerThatLeavesBeforeItsScreens checks a server that exits between listing its sessions and
// capturing their screens: there are no sessions and no error.
func TestServerThatLeavesBeforeItsScreens(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	c := b.config
	c.Bin = filepath.Join(b.root, "leaving-tmux")
	script := "#!/bin/sh\ncase \" $* \" in *' source-file '*) tmux -S \"$5\" kill-server;; esac\nexec tmux \"$@\"\n"
	executable.Write(t, c.Bin, []byte(script), 0o700)
	r := tmux.New(c)
	defer r.Close()
	b.create(t, b.shell(t, "listed", "read x"))
	if lives, err := r.Observe(t.Context(), true); err != nil || len(lives) != 0 {
		t.Errorf("observe: %v, %v; want nothing and no error", lives, err)
	}
	p := b.create(t, b.shell(t, "shown", "read x"))
	if shown, err := r.Screens(t.Context(), []session.Location{p}); err != nil || len(shown) != 0 {
		t.Errorf("screens: %v, %v; want nothing and no error", shown, err)
	}
}
