package shim

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	// probeOutput is how much of what a probe prints is told, its end.
	probeOutput = 4 << 10
	// probeLimit is the longest that a probe may take, whatever is asked for.
	probeLimit = 10 * time.Minute
	// probeDefault is how long one may take that nothing is said of.
	probeDefault = 5 * time.Second
	// probeDrain is how long what a probe printed may take to arrive once it ended:
	// what it left behind may hold its output open.
	probeDrain = 100 * time.Millisecond
)

// Probe is what to run beside the agent.
type Probe struct {
	Argv    []string      `json:"argv,omitempty"`
	Timeout time.Duration `json:"probe_timeout_ns,omitempty"` // 0: five seconds
}

// Probed is how a probe went.
type Probed struct {
	Code     int    `json:"code"`             // its exit status; 127 and 126 as of a shell
	Signal   string `json:"signal,omitempty"` // it was ended by
	TimedOut bool   `json:"timed_out,omitempty"`
	Output   string `json:"output,omitempty"` // the end of what it printed, at most 4 KiB
}

// Failure returns why a probe with that timeout failed; nothing if it did not.
func (p Probed) Failure(timeout time.Duration) string {
	how := ""
	switch {
	case p.TimedOut:
		how = fmt.Sprintf("it took longer than %s", timeout)
	case p.Signal != "":
		how = "ended by " + p.Signal
	case p.Code != 0:
		how = fmt.Sprintf("exit status %d", p.Code)
	default:
		return ""
	}
	if printed := strings.TrimSpace(p.Output); printed != "" {
		how += ": " + printed[strings.LastIndexByte(printed, '\n')+1:]
	}
	return how
}

// probe runs a command beside the agent: in its folder, with its environment, away
// from its terminal, in a session of its own. One that takes too long is killed with
// all that is in its process group. One runs at a time.
func (g *guest) probe(p Probe) reply {
	if len(p.Argv) == 0 || p.Argv[0] == "" {
		return refuse(CodeInvalid, "a probe needs a command")
	}
	limit := p.Timeout
	if limit <= 0 {
		limit = probeDefault
	}
	g.mu.Lock()
	standing, ending := g.frozen, g.cause != ""
	g.mu.Unlock()
	switch {
	case ending:
		return refuse(CodeEnding, "the run is being ended")
	case standing:
		return refuse(CodeBusy, "the agent stands still, and its probes with it")
	case !g.probing.TryLock():
		return refuse(CodeBusy, "a probe is under way")
	}
	defer g.probing.Unlock()
	path, err := lookup(p.Argv[0], g.config.Dir, g.env)
	if err != nil {
		if s, ok := errors.AsType[*startError](err); ok {
			return reply{OK: true, Probed: &Probed{Code: s.code, Output: err.Error()}}
		}
		return refuse(CodeFailed, err.Error())
	}
	done, err := g.runProbe(path, p.Argv, min(limit, probeLimit))
	if err != nil {
		return refuse(CodeFailed, fmt.Sprintf("start the probe: %v", err))
	}
	return reply{OK: true, Probed: done}
}

func (g *guest) runProbe(path string, argv []string, limit time.Duration) (*Probed, error) {
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
	printed := make(chan string, 1)
	go func() { printed <- end4K(out) }()
	pid, ended, err := g.startProbe(path, argv, []uintptr{null.Fd(), in.Fd(), in.Fd()})
	in.Close()
	if err != nil {
		return nil, err
	}
	p := &Probed{}
	var status syscall.WaitStatus
	select {
	case status = <-ended:
	case <-time.After(limit):
		p.TimedOut = true
		syscall.Kill(-pid, syscall.SIGKILL)
		status = <-ended
	}
	if status.Signaled() {
		p.Signal = signalName(status.Signal())
	} else {
		p.Code = status.ExitStatus()
	}
	_ = out.SetReadDeadline(time.Now().Add(probeDrain))
	p.Output = <-printed
	return p, nil
}

// startProbe starts a probe's process. Its end is told by the reaper, which collects
// every child: so it must not look before the process is known to it.
func (g *guest) startProbe(path string, argv []string, files []uintptr) (int, <-chan syscall.WaitStatus, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	pid, _, err := syscall.StartProcess(path, argv, &syscall.ProcAttr{
		Dir: g.config.Dir, Env: g.env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, nil, err
	}
	ended := make(chan syscall.WaitStatus, 1)
	g.probed, g.ended = pid, ended
	return pid, ended, nil
}

// reaped hands the end of a probe to whoever waits for it.
func (g *guest) reaped(pid int, status syscall.WaitStatus) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if pid == g.probed {
		g.ended <- status
		g.probed = 0
	}
}

// end4K is the end of what is read, until that ends or may take no longer.
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

// unread is how many bytes of what was typed the agent has not read: what waits in
// the terminal that it shares with the guest.
func unread() (int, error) {
	var n int32
	if errno := ioctl(0, inputWaiting, &n); errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
