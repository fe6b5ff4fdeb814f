package guest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// KeepMode is the argument that makes the guest's program the first process of a
// container: it stands before the folder of its socket.
const KeepMode = "keep"

const (
	// KeeperSocket is the name of a keeper's socket in its folder.
	KeeperSocket = "k"
	// KeptSocket is the tmux server's in the container.
	KeptSocket = "/tmp/agentform-tmux"

	// keeperLine bounds a request to a keeper and its reply: a text that is typed has
	// at most 1 MiB, and JSON makes it longer.
	keeperLine = 4 << 20
	// tmuxTimeout bounds one tmux command, and printed what it may print.
	tmuxTimeout = 20 * time.Second
	printed     = 2 << 20
)

// The operations of a keeper.
const (
	opTmux = "tmux"
	opLook = "look"
	opEnd  = "end"
)

// keeperRequest asks a keeper for something.
type keeperRequest struct {
	Op     string        `json:"op"`
	Args   []string      `json:"args,omitempty"`  // of tmux
	Stdin  string        `json:"stdin,omitempty"` // of tmux
	Run    string        `json:"run,omitempty"`
	RunDir string        `json:"run_dir,omitempty"`
	Signal string        `json:"signal,omitempty"`
	Grace  time.Duration `json:"grace_ns,omitempty"`
}

type keeperReply struct {
	OK    bool       `json:"ok"`
	Error string     `json:"error,omitempty"`
	Tmux  *TmuxReply `json:"tmux,omitempty"`
	Seen  *Inside    `json:"seen,omitempty"`
}

// TmuxReply is what a tmux command in the container came to.
type TmuxReply struct {
	Code   int    `json:"code"`
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

// Inside is what a keeper sees of a run: it shares the run's processes, which this
// machine numbers otherwise.
type Inside struct {
	Guest  bool `json:"guest"` // it runs
	Agent  bool `json:"agent"` // it runs
	Frozen bool `json:"frozen"`
}

// keeper is the first process of a container. It stays when the agent is gone, so
// that a container without its session can be told from one that is gone, reaps
// what nobody else does, and does in the container what it is asked to from outside.
type keeper struct {
	running sync.Mutex // held while a child of its own runs: else it would be reaped
}

// keepContainer is the program: it never returns but for SIGTERM and SIGINT.
func keepContainer(args []string) int {
	if len(args) != 1 || !filepath.IsAbs(args[0]) {
		fmt.Fprintln(os.Stderr, "usage: agentform-guest keep FOLDER")
		return codeUsage
	}
	if home := os.Getenv("HOME"); home == "" || home == "/" {
		os.Setenv("HOME", "/tmp") // of a user whom the image does not know
	}
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT)
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	l, err := listen(filepath.Join(args[0], KeeperSocket))
	if err != nil {
		tell("the keeper's socket: %v", err)
		return codeCannot
	}
	k := &keeper{}
	go k.accept(l)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case s := <-ends:
			l.Close()
			return 128 + int(s.(syscall.Signal))
		case <-children:
		case <-tick.C: // signals of several children may be one
		}
		k.reap()
	}
}

// reap collects the processes that were handed over to the first one.
func (k *keeper) reap() {
	if !k.running.TryLock() {
		return // in a second
	}
	defer k.running.Unlock()
	for _, pid := range children(os.Getpid()) {
		if s, ok := look(pid); ok && !s.alive() {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // gone meanwhile is as well
		}
	}
}

func (k *keeper) accept(l net.Listener) {
	places := make(chan struct{}, maxConns)
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		select {
		case places <- struct{}{}:
			go func() {
				defer func() { <-places }()
				k.hear(conn)
			}()
		default:
			conn.Close()
		}
	}
}

// hear answers one request.
func (k *keeper) hear(conn net.Conn) {
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(lineTimeout))
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 4096), keeperLine)
	if !lines.Scan() {
		return
	}
	var q keeperRequest
	r := keeperReply{Error: "the request is not a JSON object as it should be"}
	if json.Unmarshal(lines.Bytes(), &q) == nil {
		r = k.do(q)
	}
	b, err := json.Marshal(r)
	if err != nil {
		return
	}
	conn.SetWriteDeadline(time.Now().Add(lineTimeout))
	_, _ = conn.Write(append(b, '\n')) // who asked has gone: nobody to tell
}

func (k *keeper) do(q keeperRequest) keeperReply {
	switch q.Op {
	case opHello:
		return keeperReply{OK: true}
	case opTmux:
		t, err := k.tmux(q.Args, q.Stdin)
		return outcome(keeperReply{Tmux: t}, err)
	case opLook:
		return keeperReply{OK: true, Seen: lookInside(q.RunDir)}
	case opEnd:
		return outcome(keeperReply{}, endInside(q))
	}
	return keeperReply{Error: fmt.Sprintf("this keeper does not know %.40q", q.Op)}
}

func outcome(r keeperReply, err error) keeperReply {
	if err != nil {
		return keeperReply{Error: err.Error()}
	}
	r.OK = true
	return r
}

// tmux runs one tmux command on the container's server, which it starts if need be.
func (k *keeper) tmux(args []string, stdin string) (*TmuxReply, error) {
	k.running.Lock()
	defer k.running.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), tmuxTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, "tmux", append([]string{"-u", "-f", "/dev/null", "-S", KeptSocket}, args...)...)
	var out, errs bounded
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &errs
	c.WaitDelay = time.Second
	err := c.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return &TmuxReply{exit.ExitCode(), out.String(), errs.String()}, nil
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // a server that was started holds the pipe
		return nil, fmt.Errorf("run tmux: %w", err)
	}
	return &TmuxReply{0, out.String(), errs.String()}, nil
}

// bounded keeps the beginning of what is written to it.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if left := printed - b.Len(); left > 0 {
		b.Buffer.Write(p[:min(left, len(p))])
	}
	return len(p), nil
}

// lookInside is how a run stands, by its own word and by its processes.
func lookInside(runDir string) *Inside {
	f, _ := Glance(runDir) // what cannot be read tells nothing
	seen := &Inside{Guest: f.Guest.Alive(), Agent: f.Agent.Alive()}
	if s, ok := look(f.Agent.PID); ok && seen.Agent {
		seen.Frozen = s.stopped()
	}
	return seen
}

// endInside ends a run: its guest is asked to, then whatever still carries the
// run's mark is ended.
func endInside(q keeperRequest) error {
	ctx, cancel := context.WithTimeout(context.Background(), q.Grace+killTimeout+answerTimeout)
	defer cancel()
	if c, err := load(q.RunDir); err == nil {
		if client, err := Dial(ctx, c.Socket); err == nil {
			defer client.Close()
			if _, err := client.Stop(ctx, q.Signal, q.Grace); err != nil {
				return err
			}
		}
	}
	_, err := Sweep(q.Run, q.Grace, q.Signal)
	return err
}
