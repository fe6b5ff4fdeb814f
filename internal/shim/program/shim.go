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

// codeTaken is the exit status of a shim whose run is already claimed. It leaves the run's
// directory unchanged.
const codeTaken = 125

// Main is the shim's program: args is the run's directory. It starts the agent, returns when the
// agent and its descendants are gone, and exits with the agent's exit status or dies of the agent's
// signal.
//
// If the agent cannot be started, Main records failed_start, prints one line on the terminal, and
// returns 127 (command not found) or 126. That includes a failure of the shim's socket: an agent
// that cannot be stopped is not started.
//
// Modes before these arguments select another program:
//
//   - notify: called by the agent's hooks. It keeps their report, from standard input or one more
//     argument, in the run's directory and exits at once.
//   - keep, with the directory of its socket: the first process of a container. See Init.
//   - attach, with that directory and a command: attaches a terminal to a container. See
//     shim.AttachMode.
//   - relay, with a socket: connects standard input and output to it.
//   - verify, with a program and its arguments: runs a verification. See under.
//   - pod: the first process of a Kubernetes pod's container. See initd.Pod.
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

// noCores keeps the shim's memory, which holds the secrets, out of core files. The agent inherits
// the limit, which it may raise again.
func noCores() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &limit) == nil {
		limit.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // a process may always lower its own
	}
}

// failStart records that the agent did not start, prints why, and returns the exit status.
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

// run is one run of the shim.
type run struct {
	again    []string // the command of this program
	dir      string
	moved    string // a path to dir that works after a move; empty: none
	self     proc.Process
	agent    proc.Process
	began    time.Time
	oomKills uint64        // of the container before the agent was started
	exit     rundir.Exit   // recorded; complete once done is closed
	empty    chan struct{} // closed when there is no child left
	done     chan struct{} // closed when the exit is written
	env      []string      // of the agent, and of commands next to it
	tree     sync.Mutex    // held by a pause and a resume
	probing  sync.Mutex    // held while a probe runs
	verifies sync.Mutex    // held while a verification runs
	mu       sync.Mutex    // guards what follows
	config   rundir.Config
	// The run's clock, for the timeout. It stops while frozen.
	ranBefore time.Duration
	resumed   time.Time
	frozen    bool
	changed   chan struct{} // the clock or the timeout changed
	// The end.
	cause    string // empty: not ending
	signal   syscall.Signal
	deadline time.Time     // then SIGKILL
	hurry    chan struct{} // the deadline was brought forward
	gone     bool          // the agent has exited
	status   syscall.WaitStatus
	left     map[proc.Process]bool // signalled after the agent had gone
	// Receives the end of the process of the probe and of the verification under way.
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
	if r.config.Init != "" { // elsewhere the count covers the whole machine
		r.oomKills = oomKills(memoryEvents)
	}
	pid, err := start(r.config, r.env)
	if err != nil {
		shim.Close(listener)
		return failStart(r.dir, name, err)
	}
	r.began = time.Now()
	r.resumed = r.began
	agent, _ := proc.ReadStat(pid) // not reaped yet, so it exists
	r.agent = agent.Process
	go r.reap()
	server := shim.Serve(listener, shim.LineLimit, r.answer)
	unrecorded := rundir.WriteRun(r.dir, r.self, r.agent, r.began)
	if unrecorded != nil { // an agent without a record must not run
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

// watch waits for the end of the run, and ends it on hangup of the terminal or on timeout.
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
				r.cause = rundir.CauseHangup // the kernel signalled the agent, which exited first
			}
			return
		}
	}
}

// rest returns how long the run may continue, if it has a limit.
func (r *run) rest() (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.config.Timeout <= 0 || r.frozen || r.cause != "" {
		return 0, false
	}
	return max(0, r.config.Timeout-r.ran()), true
}

// ran returns the time on the run's clock.
func (r *run) ran() time.Duration {
	if r.frozen {
		return r.ranBefore
	}
	return r.ranBefore + time.Since(r.resumed)
}

// finish completes and records the exit. Only its goroutine still uses the run.
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

// hungUp reports whether the shim's terminal has hung up.
func hungUp() bool {
	var pgrp int32
	errno := ioctl(0, syscall.TIOCGPGRP, &pgrp)
	return errno == syscall.EIO || errno == syscall.ENXIO
}
