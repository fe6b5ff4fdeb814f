//go:build real

package tmux_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// carrying returns the processes with a run's mark.
func carrying(run string) []string {
	var found []string
	for p := range proc.Find(func(environ []byte) bool { return bytes.Contains(environ, []byte("AGENTFORM_RUN="+run)) }) {
		pid := strconv.Itoa(p.PID)
		found = append(found, pid+" "+strings.ReplaceAll(read("/proc/"+pid+"/cmdline"), "\x00", " "))
	}
	return found
}

func (b *bed) shell(t *testing.T, name, script string) session.Launch {
	l := b.launch(t, name)
	l.Argv = []string{"sh", "-c", script}
	// The default tmux server's directory is empty.
	l.Env = append(l.Env, "TMUX_TMPDIR="+l.RunDir)
	return l
}

func TestAgentThatKillsTheServer(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	other := b.create(t, b.launch(t, "other"))
	p := b.create(t, b.shell(t, "killer", `echo "${TMUX-unset} ${TMUX_PANE-unset}" >"$STATE/tmux"; tmux kill-server; tmux kill-session; echo done >"$STATE/done"; read x`))
	wait.For(t, "it has tried", func() (any, bool) { return "nothing", b.state(t, p, "done") != "" })
	if got := b.state(t, p, "tmux"); got != "unset unset\n" {
		t.Errorf("it sees TMUX, TMUX_PANE: %q", got)
	}
	for _, p := range []session.Location{p, other} {
		if l, ok := b.see(t, p); !ok || l.Liveness != session.Alive {
			t.Errorf("%s: there %v, %s", p.Name, ok, l.Liveness)
		}
	}
}

func TestDaemonsEndWithTheirRun(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.shell(t, "daemon", `setsid sh -c 'setsid sleep 5000 & echo $! >"$STATE/daemon"'; exec </dev/null; read x; while :; do sleep 1; done`)
	p := b.create(t, l)
	wait.For(t, "the daemon is there", func() (any, bool) {
		found := carrying(l.Mark.Run)
		return found, len(found) > 1 && b.state(t, p, "daemon") != ""
	})
	if err := b.runtime.Stop(t.Context(), p, l.Mark.Run, l.Stop); err != nil {
		t.Fatal(err)
	}
	if left := carrying(l.Mark.Run); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestLookRightAfterAKill checks that an agent that was just killed is observed as dead and
// not as unknown.
func TestLookRightAfterAKill(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for i := range 20 {
		p := b.create(t, b.launch(t, fmt.Sprintf("app-%d", i)))
		l, ok := b.see(t, p)
		if !ok || l.Agent.PID == 0 {
			t.Fatalf("agent: %+v, there %v", l.Agent, ok)
		}
		if err := syscall.Kill(l.Agent.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		agent := proc.Process{PID: l.Agent.PID, Start: l.Agent.Start}
		for agent.Alive() { // no pause: look right after the end
		}
		if l, ok := b.see(t, p); !ok || l.Liveness != session.Dead || l.Exit == nil || l.Exit.Signal != "SIGKILL" {
			t.Fatalf("look %d: there %v, %s, exit %+v", i, ok, l.Liveness, l.Exit)
		}
	}
}

func TestAgentThatIgnoresTERM(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.shell(t, "stubborn", `trap '' TERM HUP INT; : >"$STATE/ready"; while :; do sleep 1; done`)
	p := b.create(t, l)
	wait.For(t, "it ignores", func() (any, bool) { _, err := os.Stat(filepath.Join(l.RunDir, "ready")); return err, err == nil })
	begun := time.Now()
	if err := b.runtime.Stop(t.Context(), p, l.Mark.Run, session.Stop{Signal: "SIGTERM", Grace: session.Duration(200 * time.Millisecond)}); err != nil {
		t.Fatal(err)
	}
	live, _ := b.see(t, p)
	if took := time.Since(begun); took < 200*time.Millisecond || live.Liveness != session.Dead || live.Exit == nil || live.Exit.Signal != "SIGKILL" {
		t.Errorf("after %v: %s, exit %+v; want SIGKILL after the grace", took, live.Liveness, live.Exit)
	}
}

func TestShimKilled(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.shell(t, "orphan", `trap '' TERM HUP INT; setsid sleep 5000 & while :; do sleep 1; done`)
	p := b.create(t, l)
	wait.For(t, "its daemon is there", func() (any, bool) { found := carrying(l.Mark.Run); return found, len(found) > 1 })
	pid, err := strconv.Atoi(strings.TrimSpace(b.tmux(t, p.Socket, "list-panes", "-t", "=orphan:", "-F", "#{pane_pid}")))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if live := b.dies(t, p); live.Exit != nil {
		t.Errorf("exit %+v: nobody can know how", live.Exit)
	}
	if err := b.runtime.Stop(t.Context(), p, l.Mark.Run, session.Stop{Grace: session.Duration(100 * time.Millisecond)}); err != nil {
		t.Fatal(err)
	}
	if left := carrying(l.Mark.Run); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if left, err := filepath.Glob(filepath.Join(b.config.SocketDir, "*"+l.Mark.Run)); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	if _, err := b.runtime.Restart(t.Context(), p, b.launch(t, "orphan")); err != nil {
		t.Errorf("restart: %v", err)
	}
}

func TestPaneKilled(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch(t, "app")
	p := b.create(t, l)
	b.create(t, b.launch(t, "other"))
	b.tmux(t, p.Socket, "kill-pane", "-t", "=app:")
	if _, ok := b.see(t, p); ok {
		t.Error("it still exists")
	}
	wait.For(t, "its agent is gone", func() (any, bool) { found := carrying(l.Mark.Run); return found, len(found) == 0 })
	if _, err := b.runtime.Restart(t.Context(), p, b.launch(t, "app")); !errors.Is(err, session.ErrGone) {
		t.Errorf("restart: %v, want ErrGone", err)
	}
	if err := b.runtime.Remove(t.Context(), p); err != nil {
		t.Errorf("remove: %v", err)
	}
}

func TestPaneKilledBesideAPersons(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.launch(t, "app"))
	b.tmux(t, p.Socket, "split-window", "-t", "=app:", "--", "sleep", "1000")
	if l, _ := b.see(t, p); l.Location != p || l.Liveness != session.Alive {
		t.Fatalf("with a pane beside it: %+v, %s", l.Location, l.Liveness)
	}
	b.tmux(t, p.Socket, "kill-pane", "-t", p.Pane)
	if l := b.dies(t, p); !l.PlaceUp || l.Exit == nil || l.Exit.Cause != "hangup" {
		t.Errorf("place up %v, exit %+v; want a standing place and a hangup", l.PlaceUp, l.Exit)
	}
	next := b.launch(t, "app")
	again, err := b.runtime.Restart(t.Context(), p, next)
	if err != nil {
		t.Fatal(err)
	}
	if l, _ := b.see(t, p); l.Location != again || l.Mark != next.Mark || l.Liveness != session.Alive {
		t.Errorf("%+v in %+v, %s; want the new run in %+v", l.Mark, l.Location, l.Liveness, again)
	}
	b.send(t, again, "hello")
	b.hears(t, again, "hello\n")
	if panes := b.tmux(t, p.Socket, "list-panes", "-s", "-t", "=app:", "-F", "#{pane_start_command}"); !strings.Contains(panes, "sleep 1000") {
		t.Errorf("the person's pane is gone: %q", panes)
	}
}

func TestServerKilled(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch(t, "app")
	p := b.create(t, l)
	pid, err := strconv.Atoi(strings.TrimSpace(b.tmux(t, p.Socket, "display-message", "-p", "#{pid}")))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "nothing is there", func() (any, bool) { l, ok := b.see(t, p); return l, !ok })
	for what, err := range map[string]error{
		"send":   b.runtime.Send(t.Context(), p, session.Input{Text: "x"}),
		"pause":  b.runtime.Pause(t.Context(), p, l.Mark.Run, session.Detach),
		"resume": b.runtime.Resume(t.Context(), p, l.Mark.Run),
	} {
		if !errors.Is(err, session.ErrGone) {
			t.Errorf("%s: %v, want ErrGone", what, err)
		}
	}
	if err := b.runtime.Stop(t.Context(), p, l.Mark.Run, l.Stop); err != nil {
		t.Errorf("stop: %v", err)
	}
	if left := carrying(l.Mark.Run); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if err := b.runtime.Remove(t.Context(), p); err != nil {
		t.Errorf("remove: %v", err)
	}
	b.create(t, b.launch(t, "app"))
}

func TestCreateOverALingeringServer(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		b.create(t, b.launch(t, name))
	}
	for range 3 {
		b.tmux(t, b.socket(0), "kill-server")
		p := b.create(t, b.launch(t, "next"))
		if l, ok := b.see(t, p); !ok || l.Liveness != session.Alive {
			t.Errorf("there %v, %s", ok, l.Liveness)
		}
	}
}

func TestOddTextArrives(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch(t, "app")
	l.Argv = []string{"sh", "-c", `printf '%s\0' "$PWD" "$ODD" "$@" >"$STATE/got.part"; mv "$STATE/got.part" "$STATE/got"; read x`, "sh",
		`"quoted" $HOME`, "#{pane_id}", "#(touch /tmp/x)", "line\nbreak", "", ";", "ü\x1b[1m"}
	p := b.create(t, l)
	wait.For(t, "it has told", func() (any, bool) { return "nothing", b.state(t, p, "got") != "" })
	want := append([]string{l.Dir, "a b;$c\n\"d\"ü"}, append(slices.Clone(l.Argv[4:]), "")...)
	if got := strings.Split(b.state(t, p, "got"), "\x00"); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	live, _ := b.see(t, p)
	if live.Mark != l.Mark || live.Dir != l.Dir {
		t.Errorf("seen: mark %+v in %q, want %+v in %q", live.Mark, live.Dir, l.Mark, l.Dir)
	}
}

// The title of a killed agent is not shown for the next one.
func TestRestartTakesTheTitleOff(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const working = "⠐ fixing the tests"
	p := b.create(t, b.shell(t, "app", `printf '\033]2;`+working+`\007'; read x; exit 0`))
	wait.For(t, "the title shows", func() (any, bool) { live, _ := b.see(t, p); return live.Title, live.Title == working })
	if err := b.runtime.Send(t.Context(), p, session.Input{Key: "Enter"}); err != nil {
		t.Fatal(err)
	}
	b.dies(t, p)
	p, err := b.runtime.Restart(t.Context(), p, b.shell(t, "app", `read x; printf '\033]2;mine\007'; read x`))
	if err != nil {
		t.Fatal(err)
	}
	if live, _ := b.see(t, p); live.Title != "" {
		t.Errorf("the new run has the title %q", live.Title)
	}
	if err := b.runtime.Send(t.Context(), p, session.Input{Key: "Enter"}); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "its own title shows", func() (any, bool) { live, _ := b.see(t, p); return live.Title, live.Title == "mine" })
}

func TestOddTitlesAndOptions(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const title = `a|b\c "d" 'e' #{pane_id} %end 1 2 1 ✳ ü \|`
	l := b.shell(t, "app", `printf '\033]2;%s\007' "$TITLE"; read x`)
	l.Env = append(l.Env, "TITLE="+title)
	p := b.create(t, l)
	wait.For(t, "the title shows", func() (any, bool) { live, _ := b.see(t, p); return live.Title, live.Title == title })
	// A row of a foreign session stays one row, whatever it contains.
	b.tmux(t, p.Socket, "new-session", "-d", "-s", "garbage", "--", "sleep", "1000")
	b.tmux(t, p.Socket, "set-option", "-t", "=garbage:", "@agentform", "{\n|app|%0|0|0\x1b[1m\x1f\n\n")
	b.tmux(t, p.Socket, "set-option", "-t", "=garbage:", "@agentform_pane", "|\n|")
	lives, err := b.runtime.Observe(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, l := range lives {
		names[l.Location.Name] = l.Foreign
	}
	if len(lives) != 2 || names["app"] || !names["garbage"] {
		t.Errorf("%d sessions, foreign: %v", len(lives), names)
	}
}
