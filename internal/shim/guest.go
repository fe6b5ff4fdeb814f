package shim

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// NotifyMode is the argument that makes the guest's program keep what a hook says:
// it stands before the run's folder.
const NotifyMode = "notify"

const (
	codeUsage = 2
	// codeTaken is the exit code of a guest that did not get the run; the run's
	// folder is then left as it is.
	codeTaken = 125
)

// Main is the guest's program: args is the run's folder. It starts the agent,
// returns when the agent and everything below it is gone, and leaves with the
// agent's exit code, or dies of the agent's signal.
//
// What keeps the agent from starting, the guest's socket included, because an
// agent that cannot be asked to stop is not started, is written down as
// failed_start, told in one line on the terminal, and gives 127 (command not
// found) or 126.
//
// With notify before the run's folder it is what the agent's hooks call: it keeps
// what they say on standard input, or in one more argument, in the run's folder
// and leaves at once.
//
// With keep before the folder of its socket it is the first process of a container:
// see Keeper. With attach before that folder and a command it attaches a terminal to a
// container: see AttachMode.
func Main(args []string) int {
	if len(args) > 0 && args[0] == NotifyMode {
		return notify(args[1:], os.Stdin, time.Now())
	}
	if len(args) > 0 && args[0] == KeepMode {
		return keepContainer(args[1:])
	}
	if len(args) > 0 && args[0] == AttachMode {
		return attach(args[1:])
	}
	if len(args) != 1 || args[0] == "" {
		fmt.Fprintln(os.Stderr, "usage: agentform-shim RUNDIR")
		return codeUsage
	}
	runtime.GOMAXPROCS(1) // there is one guest for each agent, and little to do
	dir := args[0]
	self, _ := look(os.Getpid())
	if err := claim(dir, self.proc()); errors.Is(err, os.ErrExist) {
		tell("this run has been started already: %s", dir)
		return codeTaken
	} else if err != nil {
		tell("claim run: %v", err)
		return codeTaken
	}
	c, err := load(dir)
	if err != nil {
		return failStart(dir, "run", err)
	}
	g := &guest{dir: dir, moved: lasting(dir), self: self.proc(), config: c, empty: make(chan struct{}), done: make(chan struct{}),
		changed: make(chan struct{}, 1), hurry: make(chan struct{}, 1)}
	return g.run()
}

// noCores keeps the guest's memory, which holds the secrets, out of core files, and
// the agent's with it: what it inherits is a limit that it may raise again.
func noCores() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &limit) == nil {
		limit.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // lowering one's own is always allowed
	}
}

func tell(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "agentform: "+format+"\r\n", args...)
}

// failStart writes down that the agent did not start, says so, and returns the
// exit code.
func failStart(dir, what string, err error) int {
	code := codeCannot
	if s, ok := errors.AsType[*startError](err); ok {
		code = s.code
	}
	detail := []rune(err.Error())
	exit := Exit{Cause: CauseFailedStart, Code: code, At: time.Now().UTC(), Detail: string(detail[:min(len(detail), 4000)])}
	if err := writeFact(dir, exitFile, exit, durably); err != nil {
		tell("write exit: %v", err)
	}
	tell("cannot start %s: %v", what, err)
	return code
}

// guest is one run.
type guest struct {
	dir     string
	moved   string // leads to dir also after it was moved; empty: nothing does
	self    Proc
	agent   Proc
	began   time.Time
	starved uint64        // what the kernel had killed by then for want of memory
	exit    Exit          // written down; complete once done is closed
	empty   chan struct{} // closed when there is no child left
	done    chan struct{} // closed when the exit is written
	env     []string      // of the agent, and of probes
	tree    sync.Mutex    // held by a pause and a resume
	probing sync.Mutex    // held while a probe runs
	mu      sync.Mutex    // guards what follows
	config  Config
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
	left     map[Proc]bool // what was signalled after the agent had gone
	// The probe under way.
	probed int // its process; 0: none
	ended  chan<- syscall.WaitStatus
}

func (g *guest) run() int {
	name := g.config.Argv[0]
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	drop := make(chan os.Signal, 1)
	for _, s := range ignored {
		signal.Notify(drop, s)
	}
	secrets, err := takeSecrets(g.config)
	if err != nil {
		return failStart(g.dir, name, err)
	}
	listener, err := listen(g.config.Socket)
	if err != nil {
		return failStart(g.dir, name, fmt.Errorf("the guest's socket: %w", err))
	}
	if err := becomeSubreaper(); err != nil {
		listener.Close()
		return failStart(g.dir, name, err)
	}
	noCores()
	g.env = environment(g.config, secrets, os.Environ())
	g.starved = starved(memoryEvents)
	started := make(chan error)
	go g.parent(started)
	if err := <-started; err != nil {
		listener.Close()
		return failStart(g.dir, name, err)
	}
	server := serve(listener, lineLimit, g.answer)
	unrecorded := writeFact(g.dir, runFile, running{BootID: BootID(), Guest: g.self, Agent: g.agent, StartedAt: g.began.UTC()}, durably)
	if unrecorded != nil { // nothing may live that is not on record
		g.end(CauseFailedStart, syscall.SIGKILL, 0)
	}
	g.watch(hangup)
	if unrecorded != nil {
		code := failStart(g.dir, name, fmt.Errorf("write run: %w", unrecorded))
		g.exit = Exit{Cause: CauseFailedStart, Code: code}
		close(g.done)
		server.close()
		return code
	}
	g.finish()
	close(g.done)
	server.close()
	return leave(g.status)
}

// watch waits for the end of the run, and ends it when the terminal hangs up or
// the time is over.
func (g *guest) watch(hangup <-chan os.Signal) {
	for {
		var timeout <-chan time.Time
		if rest, ok := g.rest(); ok {
			timeout = time.After(rest)
		}
		select {
		case <-hangup:
			g.endAs(CauseHangup)
		case <-timeout:
			g.endAs(CauseTimeout)
		case <-g.changed:
		case <-g.empty:
			if g.cause == CauseSelf && (len(hangup) > 0 || hungUp()) {
				g.cause = CauseHangup // the agent was told by the kernel, and was faster
			}
			return
		}
	}
}

// rest is how long the run may still go on, if anything bounds it.
func (g *guest) rest() (time.Duration, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.config.Timeout <= 0 || g.frozen || g.cause != "" {
		return 0, false
	}
	return max(0, g.config.Timeout-g.ran()), true
}

// ran is the time on the run's clock.
func (g *guest) ran() time.Duration {
	if g.frozen {
		return g.ranBefore
	}
	return g.ranBefore + time.Since(g.resumed)
}

// finish completes the exit and writes it down. By now only this goroutine
// works on the guest.
func (g *guest) finish() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.exit = Exit{Cause: g.cause, At: time.Now().UTC(), Ran: time.Since(g.began), Leftovers: len(g.left)}
	if g.status.Signaled() {
		g.exit.Signal = signalName(g.status.Signal())
		if g.config.Keeper != "" && g.cause == CauseSelf && g.status.Signal() == syscall.SIGKILL && starved(memoryEvents) > g.starved {
			g.exit.Detail = OutOfMemory
		}
	} else {
		g.exit.Code = g.status.ExitStatus()
	}
	err := writeFact(g.dir, exitFile, g.exit, durably)
	if errors.Is(err, os.ErrNotExist) && g.moved != "" {
		err = writeFact(g.moved, exitFile, g.exit, durably)
	}
	if err != nil {
		tell("write exit: %v", err)
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

// hungUp reports whether the guest's terminal is gone.
func hungUp() bool {
	var pgrp int32
	errno := ioctl(0, syscall.TIOCGPGRP, &pgrp)
	return errno == syscall.EIO || errno == syscall.ENXIO
}
