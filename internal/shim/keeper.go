package shim

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
)

// KeepMode is the argument that makes the guest's program the first process of a
// container: it stands before the folder of its socket.
const KeepMode = "keep"

const (
	// KeeperSocket is the name of a keeper's socket in its folder.
	KeeperSocket = "k"
	// KeptFolder is a folder in a container that is in memory and its user's alone.
	KeptFolder = "/run/agentform"
	// KeptSocket is the socket of the tmux server in a container.
	KeptSocket     = KeptFolder + "/" + terminalSocket
	terminalSocket = "tmux"
)

// keeper is the first process of a container. It stays when the agent has gone, so
// that a container without its session can be told from one that is gone, reaps
// what nobody else does, and does in the container what it is asked to from outside.
type keeper struct {
	folder   string // of its socket
	terminal terminal
	secrets  secrets
	turn     sync.Mutex // held while a run is begun or ended

	mu   sync.Mutex
	own  map[int]bool // children that somebody here waits for
	last string       // the folder of the run that was begun last
	// holds is how many terminals are watched.
	holds int
}

// keepContainer is the program: it never returns but for SIGTERM and SIGINT, by which an
// engine stops a container, and then ends the run first.
func keepContainer(args []string) int {
	if len(args) != 1 || !filepath.IsAbs(args[0]) {
		fmt.Fprintln(os.Stderr, "usage: agentform-shim keep FOLDER")
		return codeUsage
	}
	runtime.GOMAXPROCS(1) // there is one keeper for each container, and little to do
	if home := os.Getenv("HOME"); home == "" || home == "/" {
		os.Setenv("HOME", "/tmp") // of a user whom the image does not know
	}
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT)
	drop := make(chan os.Signal, 1)
	for _, s := range append(slices.Clone(ignored), syscall.SIGHUP) {
		if s != syscall.SIGTERM && s != syscall.SIGINT {
			signal.Notify(drop, s)
		}
	}
	k := &keeper{folder: args[0], own: map[int]bool{}}
	k.terminal.keeper, k.terminal.folder = k, KeptFolder
	l, err := listen(filepath.Join(k.folder, KeeperSocket))
	if err != nil {
		tell("the keeper's socket: %v", err)
		return codeCannot
	}
	go k.reap()
	s := serve(l, keeperLine, k.answer)
	end := (<-ends).(syscall.Signal)
	k.leave()
	s.close()
	return 128 + int(end)
}

// leave ends the run, with the signal and the grace that it was started with: the
// engine has its own idea of how long that may take, and kills what is late.
func (k *keeper) leave() {
	k.mu.Lock()
	dir := k.last
	k.mu.Unlock()
	if dir == "" {
		return
	}
	if c, err := load(dir); err == nil {
		if err := k.end(keeperRequest{Run: c.Run, RunDir: dir, Signal: c.Signal, Grace: c.Grace}); err != nil {
			tell("end the run: %v", err)
		}
	}
}

// reap collects the processes that were handed over to the first one. Children of
// its own are left to whoever waits for them.
func (k *keeper) reap() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	for range ended {
		k.mu.Lock()
		for _, pid := range children(os.Getpid()) {
			if s, ok := look(pid); ok && !k.own[pid] && !s.alive() {
				_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // gone meanwhile is as well
			}
		}
		k.mu.Unlock()
	}
}

// begin starts a child of its own, which has to be awaited by wait.
func (k *keeper) begin(c *exec.Cmd) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := c.Start()
	if err == nil {
		k.own[c.Process.Pid] = true
	}
	return err
}

func (k *keeper) wait(c *exec.Cmd) error {
	err := c.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.own, c.Process.Pid)
	return err
}

// orphans are the living children that nobody here started: what an agent has left
// behind whose guest was killed.
func (k *keeper) orphans() []Proc {
	k.mu.Lock()
	defer k.mu.Unlock()
	var found []Proc
	for _, pid := range children(os.Getpid()) {
		if s, ok := look(pid); ok && !k.own[pid] && s.alive() {
			found = append(found, s.proc())
		}
	}
	return found
}

// answer answers one request, a JSON line.
func (k *keeper) answer(line []byte) any {
	var q keeperRequest
	if err := json.Unmarshal(line, &q); err != nil {
		return keeperReply{Error: &Error{Code: CodeInvalid, Message: "the request is not a JSON object as it should be"}}
	}
	r, err := k.do(q)
	if err != nil {
		refusal, ok := errors.AsType[*Error](err)
		if !ok {
			refusal = &Error{Code: CodeFailed, Message: err.Error()}
		}
		return keeperReply{Error: refusal}
	}
	r.OK = true
	return r
}

func (k *keeper) do(q keeperRequest) (r keeperReply, err error) {
	switch q.Op {
	case opHello:
		return keeperReply{Protocol: ProtocolVersion}, nil
	case opLook:
		r.Seen = k.look(q)
		return r, nil
	case opBegin:
		return r, k.start(q)
	case opEnd:
		return r, k.end(q)
	case opTmux:
		r.Tmux, err = k.terminal.run(q.Args, q.Stdin)
		return r, err
	case opHold:
		r.release, err = k.hold(q.Client)
		return r, err
	case opSecrets:
		r.Secrets, err = k.secrets.hand(q.Run)
		return r, err
	}
	return r, &Error{Code: CodeUnsupported, Message: fmt.Sprintf("this keeper does not know %.40q", q.Op)}
}
