package initd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// container is the first process of a container. It outlives the agent, so that a container without
// its session differs from a removed one. It reaps orphans and serves requests from outside.
type container struct {
	folder   string // of its socket
	terminal terminal
	secrets  secrets
	turn     sync.Mutex // held while a run is started or ended

	mu   sync.Mutex
	own  map[int]bool // children that another goroutine waits for
	last begun        // the run that was started last
	// holds is how many terminals are held.
	holds int
}

// begun describes a run.
type begun struct {
	dir       string // its directory; empty: there is no run
	workspace string
	branch    string // the declared branch of the workspace; empty: it is not a checkout
}

// Main runs the init. It returns only for SIGTERM and SIGINT, with which an engine stops a
// container, and ends the run first.
func Main(args []string) int {
	if len(args) != 1 || !filepath.IsAbs(args[0]) {
		fmt.Fprintln(os.Stderr, "usage: agentform-shim keep DIRECTORY")
		return shim.ExitUsage
	}
	return keep(args[0], func(*container) func() { return func() {} })
}

// keep is Main for a socket in a directory. serve starts the init's other services, and returns the
// function to call when the last run has ended.
func keep(folder string, serve func(*container) (end func())) int {
	runtime.GOMAXPROCS(1) // there is one init for each container, and little to do
	if home := os.Getenv("HOME"); home == "" || home == "/" {
		os.Setenv("HOME", "/tmp") // for a user that the image does not have
	}
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT)
	drop := make(chan os.Signal, 1)
	for _, s := range append(slices.Clone(proc.GroupSignals), syscall.SIGHUP) {
		if s != syscall.SIGTERM && s != syscall.SIGINT {
			signal.Notify(drop, s)
		}
	}
	k := &container{folder: folder, own: map[int]bool{}}
	k.terminal.init, k.terminal.folder = k, shim.InitFolder
	l, err := shim.Listen(filepath.Join(k.folder, shim.InitSocket))
	if err != nil {
		shim.PrintError("the init's socket: %v", err)
		return shim.ExitCannot
	}
	go k.reap()
	s := shim.Serve(l, shim.InitLineLimit, k.answer)
	last := serve(k)
	end := (<-ends).(syscall.Signal)
	k.leave()
	last()
	s.Close()
	return 128 + int(end)
}

// leave ends the run with the signal and grace that it was started with. The engine has a limit of
// its own and kills what takes longer.
func (k *container) leave() {
	dir := k.lastRun().dir
	if dir == "" {
		return
	}
	if c, err := rundir.Load(dir); err == nil {
		if err := k.end(shim.InitRequest{Run: c.Run, RunDir: dir, Signal: c.Signal, Grace: c.Grace}); err != nil {
			shim.PrintError("end the run: %v", err)
		}
	}
}

// reap reaps the orphans handed to PID 1. The init's own children are reaped by whoever waits for
// them.
func (k *container) reap() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	for range ended {
		k.mu.Lock()
		for _, pid := range proc.Children(os.Getpid()) {
			if s, ok := proc.ReadStat(pid); ok && !k.own[pid] && !s.Alive() {
				_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // it may be gone
			}
		}
		k.mu.Unlock()
	}
}

// begin starts a child process, which the caller must pass to wait.
func (k *container) begin(c *exec.Cmd) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := c.Start()
	if err == nil {
		k.own[c.Process.Pid] = true
	}
	return err
}

func (k *container) wait(c *exec.Cmd) error {
	err := c.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.own, c.Process.Pid)
	return err
}

// orphans returns the running children that the init did not start: those of an agent whose shim
// was killed.
func (k *container) orphans() []proc.Process {
	k.mu.Lock()
	defer k.mu.Unlock()
	var found []proc.Process
	for _, pid := range proc.Children(os.Getpid()) {
		if s, ok := proc.ReadStat(pid); ok && !k.own[pid] && s.Alive() {
			found = append(found, s.Process)
		}
	}
	return found
}

// answer answers one request, a JSON line.
func (k *container) answer(line []byte) (reply any, hold *shim.Hold) {
	var q shim.InitRequest
	if err := json.Unmarshal(line, &q); err != nil {
		return shim.InitReply{Error: &shim.Error{Code: shim.CodeInvalid, Message: "the request is not a valid JSON object"}}, nil
	}
	if q.Op == shim.OpHold {
		hold, err := k.hold(q)
		return replyOf(shim.InitReply{}, err), hold
	}
	return replyOf(k.do(q)), nil
}

func replyOf(r shim.InitReply, err error) shim.InitReply {
	if err != nil {
		refusal, ok := errors.AsType[*shim.Error](err)
		if !ok {
			refusal = &shim.Error{Code: shim.CodeFailed, Message: err.Error()}
		}
		return shim.InitReply{Error: refusal}
	}
	r.OK = true
	return r
}

func (k *container) do(q shim.InitRequest) (r shim.InitReply, err error) {
	switch q.Op {
	case shim.OpHello:
		return shim.InitReply{Protocol: rundir.Version}, nil
	case shim.OpInspect:
		r.Seen, r.Files = k.look(q), files(q)
		if q.Copy {
			r.Copies, r.More = copies(q)
		}
		return r, nil
	case shim.OpBegin:
		return r, k.start(q)
	case shim.OpEnd:
		return r, k.end(q)
	case shim.OpTmux:
		r.Tmux, err = k.terminal.run(q.Args, q.Stdin)
		return r, err
	case shim.OpSecrets:
		r.Secrets, err = k.secrets.hand(q.Run)
		return r, err
	case shim.OpLaunch:
		if r.Seen, err = k.launch(q); err == nil {
			r.Files = files(q)
		}
		return r, err
	case shim.OpShim:
		r.Shim, err = k.passOn(q)
		return r, err
	}
	return r, &shim.Error{Code: shim.CodeUnsupported, Message: fmt.Sprintf("this init does not know %.40q", q.Op)}
}

// files returns the files of a run that the request asks for.
func files(q shim.InitRequest) *rundir.Files {
	if !q.Files {
		return nil
	}
	f := rundir.ReadFiles(q.RunDir, q.Signals)
	if q.Workspace != "" {
		f.Head = rundir.ReadHead(q.Workspace)
	}
	return &f
}
