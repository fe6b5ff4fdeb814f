//go:build real

package tmux_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

// other is an external tmux server with a session that runs argv.
type other struct {
	*bed
	socket, dir string
}

func newOther(t *testing.T, name string, argv ...string) *other {
	t.Helper()
	b := newBed(t)
	o := &other{bed: b, socket: filepath.Join(b.root, "o", "their server"), dir: filepath.Join(b.root, "their work ü")}
	for _, d := range []string{filepath.Dir(o.socket), o.dir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	o.add(t, name, argv...)
	t.Cleanup(func() {
		// The server may have exited with its last session.
		_ = exec.Command("tmux", "-S", o.socket, "kill-server").Run()
	})
	return o
}

func (o *other) add(t *testing.T, name string, argv ...string) {
	t.Helper()
	o.tmux(t, o.socket, append([]string{"new-session", "-d", "-s", name, "-c", o.dir, "--"}, argv...)...)
}

func (o *other) id(name string) string { return "tmux:" + o.socket + "/" + name }

// sessions returns the names of the external server's sessions.
func (o *other) sessions(t *testing.T) []string {
	t.Helper()
	return strings.Fields(o.tmux(t, o.socket, "list-sessions", "-F", "#{session_name}"))
}

func (o *other) adopt(t *testing.T, name string) (session.Location, session.Mark) {
	t.Helper()
	m := session.Mark{Project: lineage, Address: "session.api", ID: "api-1", Run: newRun(), Hash: "1:abc"}
	p, err := o.runtime.Adopt(t.Context(), o.id(name), m)
	if err != nil {
		t.Fatal(err)
	}
	return p, m
}

// listener is an agent that prints its input, below a shell as a user starts it.
const listener = `trap 'echo bye; exit 7' TERM; while IFS= read -r line; do case $line in exit*) exit ${line#exit };; esac; echo "heard $line"; done`

func TestFind(t *testing.T) {
	o := newOther(t, "work", "sh", "-c", listener)
	var l session.Live
	// tmux lists a pane before its process has executed the command.
	wait.For(t, "the pane has its command", func() (any, bool) {
		found := o.runtime.Find(t.Context(), o.id("work"))
		if found.Err != nil {
			t.Fatal(found.Err)
		}
		l = *found.Live
		return l, l.Dir == o.dir && l.Command[0] != "tmux"
	})
	start, _ := proc.StartTime(l.Agent.PID)
	if !l.Foreign || !l.PlaceUp || l.Liveness != session.Alive || l.Dir != o.dir || l.Location.Name != "work" || l.Location.Socket != o.socket ||
		l.Agent.PID == 0 || l.Agent.Start != start || l.BootID != proc.BootID() || time.Since(l.Started) > time.Minute || l.Started.IsZero() {
		t.Errorf("found %+v", l)
	}
	if want := []string{"sh", "-c", listener}; !slices.Equal(l.Command, want) {
		t.Errorf("it runs %q, want %q", l.Command, want)
	}
	if lives, err := o.runtime.Observe(t.Context(), true); err != nil || len(lives) != 0 {
		t.Errorf("looking it up made it visible: %+v, %v", lives, err)
	}
}

func TestFindByNameOfTheSocket(t *testing.T) {
	b := newBed(t)
	t.Setenv("TMUX_TMPDIR", b.root)
	socket := filepath.Join(b.root, "tmux-"+strconv.Itoa(os.Getuid()), "mine")
	if err := os.Mkdir(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tmux", "-f", "/dev/null", "-L", "mine", "new-session", "-d", "-s", "work", "--", "sleep", "1000").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	defer b.tmux(t, socket, "kill-server")
	if f := b.runtime.Find(t.Context(), "tmux:mine/work"); f.Err != nil || f.Live.Location.Socket != socket {
		t.Errorf("found %+v", f)
	}
}

func TestFindsNothingElse(t *testing.T) {
	o := newOther(t, "work", "sleep", "1000")
	o.add(t, "split", "sleep", "1000")
	o.tmux(t, o.socket, "split-window", "-t", "=split:", "--", "sleep", "1000")
	o.add(t, "theirs", "sleep", "1000")
	o.tmux(t, o.socket, "set-option", "-t", "=theirs:", "@agentform", `{"project":"another","address":"session.x","run":"00"}`)
	for id, want := range map[string]string{
		"work":                            "expected tmux:SOCKET/SESSION",
		"docker:work":                     "expected tmux:SOCKET/SESSION",
		"tmux:work":                       "expected tmux:SOCKET/SESSION",
		"tmux:" + o.socket + "/":          "it names no session",
		"tmux:../x/work":                  "neither a name nor an absolute path",
		"tmux:/work":                      "neither a name nor an absolute path",
		"tmux:a\x1b/work":                 "control characters",
		o.id("a.b"):                       "no tmux session is called",
		o.id("$1"):                        "no tmux session is called",
		o.id("wor"):                       "sessions: split, theirs, work",
		o.id("split"):                     "has 2 panes",
		o.id("theirs"):                    "session.x of another agentform project",
		"tmux:" + o.root + "/nobody/work": "no tmux server runs on " + o.root + "/nobody",
	} {
		f := o.runtime.Find(t.Context(), id)
		if f.Live != nil || f.Err == nil || !strings.Contains(f.Err.Error(), want) {
			t.Errorf("%q: %v, want %q", id, f.Err, want)
		}
		if _, err := o.runtime.Adopt(t.Context(), id, session.Mark{Project: lineage, Run: newRun()}); err == nil {
			t.Errorf("%q was adopted", id)
		}
	}
	if left, _ := os.ReadDir(filepath.Join(o.config.DataDir, "runs")); len(left) != 0 {
		t.Errorf("what failed left %v", left)
	}
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	o := newOther(t, "work", "sh", "-c", listener)
	o.add(t, "private", "sh", "-c", listener)
	p, m := o.adopt(t, "work")
	if p.Socket != o.socket || p.Name != "work" {
		t.Errorf("its place is %+v", p)
	}
	lives, err := o.runtime.Observe(t.Context(), true)
	if err != nil || len(lives) != 1 {
		t.Fatalf("seen: %+v, %v; want what is ours and nothing else", lives, err)
	}
	l := lives[0]
	if l.Foreign || l.Mark != m || l.Liveness != session.Alive || l.Location != p || l.Dir != o.dir || l.Agent.PID == 0 {
		t.Errorf("seen: %+v", l)
	}
	if _, err := o.runtime.Adopt(t.Context(), o.id("work"), m); !errors.Is(err, session.ErrExists) {
		t.Errorf("adopted twice: %v", err)
	}
	if option := o.tmux(t, o.socket, "show-options", "-g", "-w", "remain-on-exit"); !strings.Contains(option, "off") {
		t.Errorf("an option of the whole server was changed: %s", option)
	}
	if err := o.runtime.Send(t.Context(), p, session.Input{Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "it heard", func() (any, bool) {
		text, err := o.runtime.Capture(t.Context(), p, 0)
		return []any{text, err}, strings.Contains(text, "heard hello")
	})
	if err := o.runtime.Pause(t.Context(), p, m.Run, session.Freeze); err == nil || !strings.Contains(err.Error(), "no shim to suspend it") {
		t.Errorf("frozen: %v", err)
	}
	if err := o.runtime.Pause(t.Context(), p, m.Run, session.Detach); err != nil {
		t.Error(err)
	}
	if err := o.runtime.Resume(t.Context(), p, m.Run); err != nil {
		t.Error(err)
	}
	// Another runtime, as in the next run of agentform, observes it too.
	next := tmux.New(o.config)
	defer next.Close()
	if lives, err := next.Observe(t.Context(), false); err != nil || len(lives) != 1 || lives[0].Liveness != session.Alive {
		t.Errorf("the next one sees %+v, %v", lives, err)
	}
	// A name on the external server is available on the project's.
	created := o.create(t, o.launch(t, "private"))
	if err := o.runtime.Remove(t.Context(), created); err != nil {
		t.Fatal(err)
	}
	if err := o.runtime.Remove(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got := o.sessions(t); !slices.Equal(got, []string{"private"}) {
		t.Errorf("left on their server: %q", got)
	}
	if links, _ := filepath.Glob(filepath.Join(o.config.SocketDir, "tmux-x-*")); len(links) != 0 {
		t.Errorf("links that nothing needs: %q", links)
	}
}

func TestAdoptedLeaves(t *testing.T) {
	t.Parallel()
	o := newOther(t, "work", "sh", "-c", listener)
	p, _ := o.adopt(t, "work")
	if err := o.runtime.Send(t.Context(), p, session.Input{Text: "exit 3"}); err != nil {
		t.Fatal(err)
	}
	if l := o.dies(t, p); l.Exit == nil || l.Exit.Code != 3 || l.Exit.Cause != "self" {
		t.Errorf("exit %+v", l.Exit)
	}
}

// tmux may reap an agent just after it has listed its panes.
func TestAdoptedIsReapedMeanwhile(t *testing.T) {
	t.Parallel()
	o := newOther(t, "work", "sh", "-c", listener)
	p, _ := o.adopt(t, "work")
	real, err := exec.LookPath("tmux")
	if err != nil {
		t.Fatal(err)
	}
	c := o.config
	c.Bin = filepath.Join(o.root, "tmux")
	early := "#!/bin/sh\ncase \"$*\" in\n*'list-panes -a'*) '" + real + "' \"$@\" | sed -E 's/^(([^|]*\\|){3}1\\|)[^|]*\\|[^|]*\\|/\\1||/';;\n*) exec '" + real + "' \"$@\";;\nesac\n"
	executable.Write(t, c.Bin, []byte(early), 0o700)
	r := tmux.New(c)
	if err := r.Send(t.Context(), p, session.Input{Text: "exit 3"}); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "it is dead", func() (any, bool) {
		all, err := r.Observe(t.Context(), false)
		if err != nil || len(all) != 1 {
			t.Fatalf("%v, %v", all, err)
		}
		if all[0].Liveness == session.Dead && (all[0].Exit == nil || all[0].Exit.Code != 3) {
			t.Fatalf("exit %+v", all[0].Exit)
		}
		return all, all[0].Liveness == session.Dead
	})
}

func TestAdoptedIsKilled(t *testing.T) {
	t.Parallel()
	o := newOther(t, "work", "sh", "-c", listener)
	p, _ := o.adopt(t, "work")
	l, _ := o.see(t, p)
	if err := syscall.Kill(l.Agent.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "how it ended is known", func() (any, bool) {
		l, ok := o.see(t, p)
		return l, ok && l.Liveness == session.Dead && l.Exit != nil && l.Exit.Signal == "SIGKILL"
	})
}

func TestStopAndRestartAdopted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string // $0 is the directory for pids
		signal string // that ends it
	}{
		"polite":               {`echo $$ >"$0"; sleep 1000 & echo $! >>"$0"; wait`, "SIGTERM"},
		"ignores TERM":         {`trap '' TERM; echo $$ >"$0"; sh -c 'trap "" TERM; echo $$ >>"$0"; while :; do sleep 0.1; done' "$0"`, "SIGKILL"},
		"a shell with its job": {`exec bash --norc -i -c 'echo $$ >"$0"; sleep 1000 & echo $! >>"$0"; wait; read x' "$0"`, "SIGTERM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			pids := filepath.Join(dir, "pids")
			o := newOther(t, "work", "sh", "-c", c.script, pids)
			wait.For(t, "it runs", func() (any, bool) { text := read(pids); return text, len(strings.Fields(text)) == 2 })
			p, m := o.adopt(t, "work")
			stop := session.Stop{Signal: "SIGTERM", Grace: session.Duration(2 * time.Second)}
			if err := o.runtime.Stop(t.Context(), p, m.Run, stop); err != nil {
				t.Fatal(err)
			}
			for _, word := range strings.Fields(read(pids)) {
				pid, err := strconv.Atoi(word)
				if err != nil {
					t.Fatal(err)
				}
				if start, runs := proc.StartTime(pid); runs && (proc.Process{PID: pid, Start: start}).Alive() {
					t.Errorf("process %d lives on", pid)
				}
			}
			l, ok := o.see(t, p)
			if !ok || l.Liveness != session.Dead || l.Exit == nil || l.Exit.Cause != "requested" || l.Exit.Signal != c.signal {
				t.Fatalf("after the stop: %+v %+v", l, l.Exit)
			}
			// Its next run has a shim.
			launch := o.launch(t, "api")
			launch.Mark.Address, launch.Mark.ID = m.Address, m.ID
			p, err := o.runtime.Restart(t.Context(), p, launch)
			if err != nil {
				t.Fatal(err)
			}
			o.listening(t, p)
			if l, _ := o.see(t, p); l.Liveness != session.Alive || l.Mark.Run != launch.Mark.Run || p.Socket != o.socket {
				t.Errorf("restarted: %+v", l)
			}
			if err := o.runtime.Pause(t.Context(), p, launch.Mark.Run, session.Freeze); err != nil {
				t.Errorf("it cannot be frozen: %v", err)
			}
			if err := o.runtime.Remove(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestStopAdoptedLeavesSharedDaemon checks that stop does not end a daemon that agents in other
// terminals share, even if this agent started it.
func TestStopAdoptedLeavesSharedDaemon(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pid := filepath.Join(dir, "pid")
	if err := os.WriteFile(filepath.Join(dir, "app-server"), []byte("echo $$ >pid; while :; do sleep 0.1; done"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := newOther(t, "work", "bash", "-c", `cd "$0"; (exec -a codex setsid bash -c 'exec -a codex bash app-server') & wait`, dir)
	wait.For(t, "it runs", func() (any, bool) { text := read(pid); return text, strings.HasSuffix(text, "\n") })
	daemon, err := strconv.Atoi(strings.TrimSpace(read(pid)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(daemon, syscall.SIGKILL) })
	p, m := o.adopt(t, "work")
	if err := o.runtime.Stop(t.Context(), p, m.Run, session.Stop{Signal: "SIGTERM", Grace: session.Duration(2 * time.Second)}); err != nil {
		t.Fatal(err)
	}
	if start, runs := proc.StartTime(daemon); !runs || !(proc.Process{PID: daemon, Start: start}).Alive() {
		t.Error("the daemon was ended")
	}
	if l, ok := o.see(t, p); !ok || l.Liveness != session.Dead || l.Exit == nil || l.Exit.Signal != "SIGTERM" {
		t.Errorf("after the stop: %+v %+v", l, l.Exit)
	}
}

func TestPanes(t *testing.T) {
	o := newOther(t, "work", "sleep", "1000")
	o.tmux(t, o.socket, "new-window", "-d", "-t", "=work:", "-c", o.dir, "--", "sleep", "1000")
	o.add(t, "a|b", "sleep", "1000")
	o.adopt(t, "a|b")
	server := tmux.Server{Socket: o.socket}
	var panes []tmux.PaneInfo
	// tmux lists a pane before its process has changed to its directory.
	wait.For(t, "the panes are in their directory", func() (any, bool) {
		var err error
		if panes, err = server.Panes(t.Context()); err != nil || len(panes) != 3 {
			t.Fatalf("%+v, %v", panes, err)
		}
		return panes, !slices.ContainsFunc(panes, func(p tmux.PaneInfo) bool { return p.Dir != o.dir })
	})
	var got []string
	for _, p := range panes {
		got = append(got, p.Name+" "+strconv.Itoa(p.Window)+" "+string(p.Mark.Address))
		if p.PID == 0 || p.Dead || time.Since(p.ActiveAt) > time.Minute {
			t.Errorf("%+v", p)
		}
	}
	if want := []string{"a|b 0 session.api", "work 0 ", "work 1 "}; !slices.Equal(got, want) {
		t.Errorf("panes %q, want %q", got, want)
	}
	server.Socket += "-2"
	if _, err := server.Panes(t.Context()); !errors.Is(err, session.ErrGone) {
		t.Errorf("without a server: %v", err)
	}
	if _, err := os.Lstat(server.Socket); !os.IsNotExist(err) {
		t.Errorf("asking made a socket: %v", err)
	}
}
