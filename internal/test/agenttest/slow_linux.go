package agenttest

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/test/wait"
)

// Freeze has the session's agent, and what it has started, execute nothing for so long, as
// on a machine that is busy. It is traced: agentform would call an agent paused that
// SIGSTOP has stopped. It returns when the agent stands.
func (p *Project) Freeze(d time.Duration) (thawed <-chan struct{}) {
	p.Lab.t.Helper()
	agent := p.Status().PID
	if agent == 0 {
		p.Lab.t.Fatal("the agent has no process")
	}
	return p.Lab.freeze(agent, d)
}

func (l *Lab) freeze(agent int, d time.Duration) (thawed <-chan struct{}) {
	stands, goesOn := make(chan struct{}), make(chan struct{})
	go func() {
		runtime.LockOSThread() // which ends with its goroutine: a tracer is a thread
		defer close(goesOn)
		var frozen []int
		for q := range l.processes() {
			if q.PID == agent || descends(q.PID, agent) {
				frozen = append(frozen, trace(q.PID)...)
			}
		}
		close(stands)
		time.Sleep(d)
		for _, thread := range frozen {
			_ = syscall.PtraceDetach(thread) // gone already is as good
		}
	}()
	<-stands
	return goesOn
}

// trace stops the threads of a process, and returns them.
func trace(pid int) []int {
	tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*")
	var traced []int
	for _, task := range tasks {
		thread, err := strconv.Atoi(filepath.Base(task))
		if err == nil && syscall.PtraceAttach(thread) == nil {
			var status syscall.WaitStatus
			_, _ = syscall.Wait4(thread, &status, syscall.WALL, nil)
			traced = append(traced, thread)
		}
	}
	return traced
}

func descends(pid, from int) bool {
	for pid > 1 {
		if pid = parent(pid); pid == from {
			return true
		}
	}
	return false
}

// FreezeAtTurnEnd waits until the agent's title says that a turn has ended, and freezes the
// agent then. It reports whether it came before the next turn.
func (p *Project) FreezeAtTurnEnd(d time.Duration) (thawed <-chan struct{}, between bool) {
	p.Lab.t.Helper()
	agent := p.Status().PID
	sockets, err := filepath.Glob(filepath.Join(p.Lab.root, "run", "agentform", "*", "tmux-*"))
	if err != nil || len(sockets) != 1 {
		p.Lab.t.Fatalf("tmux servers: %q, %v", sockets, err)
	}
	rests := func() bool {
		title, _ := exec.Command("tmux", "-S", sockets[0], "list-panes", "-a", "-F", "#{pane_title}").Output()
		return strings.Contains(string(title), "Ready") || strings.HasPrefix(string(title), "✳")
	}
	ended := make(chan struct{})
	go func() { // the rest between two turns may be shorter than the pause of wait.For
		defer close(ended)
		for !rests() && p.Lab.t.Context().Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
	}()
	wait.Receive(p.Lab.t, "a turn has ended", ended)
	thawed = p.Lab.freeze(agent, d)
	time.Sleep(100 * time.Millisecond) // tmux reads what was written before
	return thawed, rests()
}
