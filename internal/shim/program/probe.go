package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
)

// probeOutput bounds the reported end of a probe's output.
const probeOutput = 4 << 10

// probeDrain bounds the wait for output after a probe has ended: processes that it started may hold
// the output open.
const probeDrain = 100 * time.Millisecond

// probe runs a command next to the agent: in its directory and with its environment, but in a
// session of its own and away from the terminal. On timeout the command's process group is killed.
// One probe runs at a time.
func (r *run) probe(p shim.Probe) shim.Reply {
	limit := p.Timeout
	if limit <= 0 {
		limit = shim.ProbeDefault
	}
	if refused := admit(r, p, "probe", &r.probing); refused != nil {
		return *refused
	}
	defer r.probing.Unlock()
	path, err := lookup(p.Argv[0], r.config.Dir, r.env)
	if err != nil {
		if s, ok := errors.AsType[*startError](err); ok {
			return shim.Reply{OK: true, Probed: &shim.Probed{Code: s.code, Output: err.Error()}}
		}
		return shim.Refuse(shim.CodeFailed, err.Error())
	}
	printed := ""
	done, err := r.runNext(path, p.Argv, r.env, min(limit, shim.ProbeLimit), func(out io.Reader) { printed = end4K(out) }, func(pid int) { syscall.Kill(-pid, syscall.SIGKILL) })
	if err != nil {
		return shim.Refuse(shim.CodeFailed, fmt.Sprintf("start the probe: %v", err))
	}
	done.Output = printed
	return shim.Reply{OK: true, Probed: done}
}

// admit locks turn for a command that is to run next to the agent, or returns a refusal.
func admit(r *run, p shim.Probe, what string, turn *sync.Mutex) *shim.Reply {
	var refused shim.Reply
	switch o := occupied(r); {
	case len(p.Argv) == 0 || p.Argv[0] == "":
		refused = shim.Refuse(shim.CodeInvalid, "a "+what+" needs a command")
	case o != nil:
		return o
	case !turn.TryLock():
		refused = shim.Refuse(shim.CodeBusy, "a "+what+" is running")
	default:
		return nil
	}
	return &refused
}

// occupied returns a refusal if nothing can be started next to the agent, else nil.
func occupied(r *run) *shim.Reply {
	r.mu.Lock()
	defer r.mu.Unlock()
	var refused shim.Reply
	switch {
	case r.cause != "":
		refused = shim.Refuse(shim.CodeEnding, "the run is being stopped")
	case r.frozen:
		refused = shim.Refuse(shim.CodeBusy, "the agent is suspended, and all that runs next to it")
	default:
		return nil
	}
	return &refused
}

// runNext runs a command next to the agent, and kills it at the limit. read reads what it prints,
// until that ends or may take no longer.
func (r *run) runNext(path string, argv, env []string, limit time.Duration, read func(io.Reader), kill func(pid int)) (*shim.Probed, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		read(out)
	}()
	pid, ended, err := r.startNext(path, argv, env, []uintptr{null.Fd(), in.Fd(), in.Fd()})
	in.Close()
	if err != nil {
		return nil, err
	}
	p := &shim.Probed{}
	var status syscall.WaitStatus
	select {
	case status = <-ended:
	case <-time.After(limit):
		p.TimedOut = true
		kill(pid)
		status = <-ended
	}
	tell(p, status)
	_ = out.SetReadDeadline(time.Now().Add(probeDrain))
	<-printed
	return p, nil
}

// tell sets how the process of a command ended.
func tell(p *shim.Probed, status syscall.WaitStatus) {
	if status.Signaled() {
		p.Signal = proc.SignalName(status.Signal())
	} else {
		p.Code = status.ExitStatus()
	}
}

// startNext starts a process next to the agent. The reaper reports its end, so it must not reap
// before the process is registered.
func (r *run) startNext(path string, argv, env []string, files []uintptr) (int, <-chan syscall.WaitStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, _, err := syscall.StartProcess(path, argv, &syscall.ProcAttr{
		Dir: r.config.Dir, Env: env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, nil, err
	}
	ended := make(chan syscall.WaitStatus, 1)
	r.awaited[pid] = ended
	return pid, ended, nil
}

// reaped reports the end of a process to its waiter.
func (r *run) reaped(pid int, status syscall.WaitStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ended := r.awaited[pid]; ended != nil {
		ended <- status
		delete(r.awaited, pid)
	}
}

// end4K returns the last 4 KiB of r, read until its end or deadline.
func end4K(r io.Reader) string {
	var kept []byte
	for buf := make([]byte, 1024); ; {
		n, err := r.Read(buf)
		kept = append(kept, buf[:n]...)
		if over := len(kept) - probeOutput; over > 0 {
			kept = append(kept[:0], kept[over:]...)
		}
		if err != nil {
			return strings.ToValidUTF8(string(kept), "")
		}
	}
}

// unread returns how many bytes of input the agent has not read. They wait in the terminal that it
// shares with the shim.
func unread() (int, error) {
	var n int32
	if errno := ioctl(0, inputWaiting, &n); errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
