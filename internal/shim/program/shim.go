package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/initd"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// codeTaken is the exit code of a shim that did not get the run; the run's
// directory is then left as it is.
const codeTaken = 125

// Main is the shim's program: args is the run's directory. It starts the agent,
// returns when the agent and everything below it is gone, and leaves with the
// agent's exit code, or dies of the agent's signal.
//
// What keeps the agent from starting, the shim's socket included, because an
// agent that cannot be asked to stop is not started, is written down as
// failed_start, told in one line on the terminal, and gives 127 (command not
// found) or 126.
//
// With notify before the run's directory it is what the agent's hooks call: it keeps
// what they say on standard input, or in one more argument, in the run's directory
// and leaves at once.
//
// With keep before the directory of its socket it is the first process of a container:
// see Init. With attach before that directory and a command it attaches a terminal to a
// container: see shim.AttachMode. With relay before a socket it connects standard input
// and output to that. With verify before a program and its arguments it runs a verification:
// see under. With pod it is the first process of a Kubernetes pod's container:
// see initd.Pod.
func Main(args []string) int {
	if len(args) > 0 && args[0] == shim.NotifyMode {
		return notify(args[1:], os.Stdin, time.Now())
	}
	if len(args) > 0 && args[0] == shim.InitMode {
		return initd.Main(args[1:])
	}
	if len(args) > 0 && args[0] == shim.AttachMode {
		return attach(args[1:])
	}
	if len(args) > 0 && args[0] == shim.RelayMode {
		return relay(args[1:])
	}
	if len(args) > 2 && args[0] == shim.VerifyMode {
		return under(args[1], args[2:])
	}
	if len(args) > 0 && args[0] == shim.PodMode {
		return initd.Pod(args[1:])
	}
	if len(args) != 1 || args[0] == "" {
		fmt.Fprintln(os.Stderr, "usage: agentform-shim RUNDIR")
		return shim.ExitUsage
	}
	runtime.GOMAXPROCS(1) // there is one shim for each agent, and little to do
	dir := args[0]
	self, _ := proc.ReadStat(os.Getpid())
	if err := rundir.Claim(dir, self.Process); errors.Is(err, os.ErrExist) {
		shim.PrintError("this run was already started: %s", dir)
		return codeTaken
	} else if err != nil {
		shim.PrintError("claim run: %v", err)
		return codeTaken
	}
	c, err := rundir.Load(dir)
	if err != nil {
		return failStart(dir, "run", err)
	}
	again := slices.Clone(os.Args[:max(1, len(os.Args)-len(args))])
	r := &run{again: again, dir: dir, moved: lasting(dir), self: self.Process, config: c, empty: make(chan struct{}), done: make(chan struct{}), awaited: map[int]chan<- syscall.WaitStatus{},
		changed: make(chan struct{}, 1), hurry: make(chan struct{}, 1)}
	return r.run()
}

// takeSecrets returns the secrets of a run, from the container's init or from their file.
func takeSecrets(c rundir.Config) (map[string]string, error) {
	if c.Init == "" {
		return c.TakeSecrets()
	}
	return shim.Init{Dir: filepath.Dir(c.Init)}.Secrets(context.Background(), c.Run)
}

// noCores keeps the shim's memory, which holds the secrets, out of core files, and
// the agent's with it: what it inherits is a limit that it may raise again.
func noCores() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &limit) == nil {
		limit.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // lowering one's own is always allowed
	}
}

// failStart writes down that the agent did not start, says so, and returns the
// exit code.
func failStart(dir, what string, err error) int {
	code := shim.ExitCannot
	if s, ok := errors.AsType[*startError](err); ok {
		code = s.code
	}
	detail := []rune(err.Error())
	exit := rundir.Exit{Cause: rundir.CauseFailedStart, Code: code, At: time.Now().UTC(), Detail: string(detail[:min(len(detail), 4000)])}
	if err := rundir.WriteExit(dir, exit); err != nil {
		shim.PrintError("write exit: %v", err)
	}
	shim.PrintError("cannot start %s: %v", what, err)
	return code
}

// shim is one run.
type run struct {
	again    []string // starts this program once more
	dir      string
	moved    string // leads to dir also after it was moved; empty: nothing does
	self     proc.Process
	agent    proc.Process
	began    time.Time
	oomKills uint64        // of the container before the agent was started
	exit     rundir.Exit   // written down; complete once done is closed
	empty    chan struct{} // closed when there is no child left
	done     chan struct{} // closed when the exit is written
	env      []string      // of the agent, and of what runs next to it
	tree     sync.Mutex    // held by a pause and a resume
	probing  sync.Mutex    // held while a probe runs
	verifies sync.Mutex    // held while a verification runs
	mu       sync.Mutex    // guards what follows
	config   rundir.Config
	// The run's clock, for the timeout: it stands still while frozen.
	ranBefore time.Duration
	resumed   time.Time
	frozen    bool
	changed   chan struct{} // the clock or the timeout did
	// The end.
	cause    string // empty: not ending
	signal   syscall.Signal
	deadline time.Time     // then SIGKILL
	hurry    chan struct{} // the deadline came nearer
	gone     bool          // the agent is
	status   syscall.WaitStatus
	left     map[proc.Process]bool // what was signalled after the agent had gone
	// The probe and the verification under way: where the end of their process is awaited.
	awaited map[int]chan<- syscall.WaitStatus
}

func (r *run) run() int {
	name := r.config.Argv[0]
	hangup := watchSignals()
	secrets, err := takeSecrets(r.config)
	if err != nil {
		return failStart(r.dir, name, fmt.Errorf("receive secrets: %w", err))
	}
	listener, err := shim.Listen(r.config.Socket)
	if err != nil {
		return failStart(r.dir, name, fmt.Errorf("the shim's socket: %w", err))
	}
	if err := becomeSubreaper(); err != nil {
		shim.Close(listener)
		return failStart(r.dir, name, err)
	}
	noCores()
	r.env = environment(r.config, secrets, os.Environ())
	if r.config.Init != "" { // elsewhere the count is of the whole machine
		r.oomKills = oomKills(memoryEvents)
	}
	pid, err := start(r.config, r.env)
	if err != nil {
		shim.Close(listener)
		return failStart(r.dir, name, err)
	}
	r.began = time.Now()
	r.resumed = r.began
	agent, _ := proc.ReadStat(pid) // not reaped yet, so it is there
	r.agent = agent.Process
	go r.reap()
	server := shim.Serve(listener, shim.LineLimit, r.answer)
	unrecorded := rundir.WriteRun(r.dir, r.self, r.agent, r.began)
	if unrecorded != nil { // nothing may live that is not on record
		r.end(rundir.CauseFailedStart, syscall.SIGKILL, 0)
	}
	r.watch(hangup)
	if unrecorded != nil {
		code := failStart(r.dir, name, fmt.Errorf("write run: %w", unrecorded))
		r.exit = rundir.Exit{Cause: rundir.CauseFailedStart, Code: code}
		close(r.done)
		server.Close()
		return code
	}
	r.finish()
	close(r.done)
	server.Close()
	return leave(r.status)
}

// watch waits for the end of the run, and ends it when the terminal hangs up or
// the time is over.
func (r *run) watch(hangup <-chan os.Signal) {
	for {
		var timeout <-chan time.Time
		if rest, ok := r.rest(); ok {
			timeout = time.After(rest)
		}
		select {
		case <-hangup:
			r.endAs(rundir.CauseHangup)
		case <-timeout:
			r.endAs(rundir.CauseTimeout)
		case <-r.changed:
		case <-r.empty:
			if r.cause == rundir.CauseSelf && (len(hangup) > 0 || hungUp()) {
				r.cause = rundir.CauseHangup // the agent was told by the kernel, and was faster
			}
			return
		}
	}
}

// rest is how long the run may still go on, if anything bounds it.
func (r *run) rest() (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.config.Timeout <= 0 || r.frozen || r.cause != "" {
		return 0, false
	}
	return max(0, r.config.Timeout-r.ran()), true
}

// ran is the time on the run's clock.
func (r *run) ran() time.Duration {
	if r.frozen {
		return r.ranBefore
	}
	return r.ranBefore + time.Since(r.resumed)
}

// finish completes the exit and writes it down. By now only this goroutine
// works on the shim.
func (r *run) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exit = rundir.Exit{Cause: r.cause, At: time.Now().UTC(), Ran: time.Since(r.began), Leftovers: len(r.left)}
	if r.status.Signaled() {
		r.exit.Signal = proc.SignalName(r.status.Signal())
		if r.config.Init != "" && r.cause == rundir.CauseSelf && r.status.Signal() == syscall.SIGKILL && oomKills(memoryEvents) > r.oomKills {
			r.exit.Detail = OutOfMemory
		}
	} else {
		r.exit.Code = r.status.ExitStatus()
	}
	err := rundir.WriteExit(r.dir, r.exit)
	if errors.Is(err, os.ErrNotExist) && r.moved != "" {
		err = rundir.WriteExit(r.moved, r.exit)
	}
	if err != nil {
		shim.PrintError("write exit: %v", err)
	}
}

// leave ends this process as the agent ended.
func leave(status syscall.WaitStatus) int {
	if !status.Signaled() {
		return status.ExitStatus()
	}
	dieOf(status.Signal())
	return 128 + int(status.Signal())
}

// hungUp reports whether the shim's terminal is gone.
func hungUp() bool {
	var pgrp int32
	errno := ioctl(0, syscall.TIOCGPGRP, &pgrp)
	return errno == syscall.EIO || errno == syscall.ENXIO
}
