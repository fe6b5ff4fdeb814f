package initd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
)

const (
	// watchInterval is how often the init of a pod checks whether its agent is running.
	watchInterval = 250 * time.Millisecond
	// launchTimeout bounds the start of an agent after its shim was started.
	launchTimeout = 30 * time.Second
	// terminationMessage is where the kubelet reads how a container ended: the default of
	// terminationMessagePath.
	terminationMessage = "/dev/termination-log"
	// probeTimeout bounds one probe of the kubelet.
	probeTimeout = 2 * time.Second
)

// Pod is the program of the first process in a Kubernetes pod. It does what Main does, and
//
//   - answers HTTP on a port: 200 for /started, and for /alive while the agent of the last run is
//     alive and its workspace is on the declared branch, else 503. The kubelet's startup and
//     readiness probes carry that into the pod's conditions.
//   - prints one JSON line to standard output when an agent starts, when it ends, and when HEAD
//     of its workspace changes.
//   - writes the exit of the last run to the container's termination message.
func Pod(args []string) int {
	port := 0
	if len(args) == 2 {
		port, _ = strconv.Atoi(args[1])
	}
	if len(args) != 2 || !filepath.IsAbs(args[0]) || port <= 0 {
		fmt.Fprintln(os.Stderr, "usage: agentform-shim pod DIRECTORY PORT")
		return shim.ExitUsage
	}
	l, err := shim.ListenTCP(port)
	if err != nil {
		shim.PrintError("the init's status port: %v", err)
		return shim.ExitCannot
	}
	return keep(args[0], func(k *container) (end func()) {
		go shim.Accept(l, func(conn *os.File) { go k.answerProbe(conn) })
		go k.report(os.Stdout)
		return func() { k.writeTermination(terminationMessage) }
	})
}

// ready reports whether the agent of the last run is alive and its workspace is as declared.
func (k *container) ready() bool {
	last := k.lastRun()
	if last.dir == "" {
		return false
	}
	f, _ := rundir.ReadLiveness(last.dir) // an unreadable run is not alive
	return f.Exit == nil && f.Agent.Alive() && last.inPlace(last.head())
}

// head returns the content of the workspace's HEAD, and whether the workspace exists.
func (b begun) head() (head string, exists bool) {
	if b.branch != "" {
		if head = rundir.ReadHead(b.workspace); head != "" {
			return head, true
		}
	}
	info, err := os.Lstat(b.workspace)
	return "", err == nil && info.IsDir()
}

// inPlace reports whether the workspace is on its branch or, without one, exists.
func (b begun) inPlace(head string, exists bool) bool {
	return exists && (b.branch == "" || head == rundir.BranchRef+b.branch)
}

func (k *container) lastRun() begun {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last
}

// answerProbe answers one HTTP request.
func (k *container) answerProbe(conn *os.File) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(probeTimeout))
	r := bufio.NewReader(io.LimitReader(conn, 8<<10))
	line, err := r.ReadString('\n')
	if err != nil {
		return
	}
	for { // the kubelet waits until its request is read
		if header, err := r.ReadString('\n'); err != nil || strings.TrimSpace(header) == "" {
			break
		}
	}
	status := "404 Not Found"
	words := strings.Fields(line)
	if len(words) == 3 {
		switch {
		case words[1] == "/started", words[1] == "/alive" && k.ready():
			status = "200 OK"
		case words[1] == "/alive":
			status = "503 Service Unavailable"
		}
	}
	fmt.Fprintf(conn, "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status)
}

func printLine(w io.Writer, o shim.Occurrence) {
	b, err := json.Marshal(o)
	if err == nil {
		_, _ = w.Write(append(b, '\n')) // nobody may be reading
	}
}

// report prints the events of the runs. It never returns.
func (k *container) report(w io.Writer) {
	type workspace struct {
		head   string
		exists bool
	}
	started, ended := "", ""
	var shown *workspace // of the current run
	for ; ; time.Sleep(watchInterval) {
		last := k.lastRun()
		if last.dir == "" {
			continue
		}
		run := filepath.Base(last.dir)
		if last.dir != ended {
			f, _ := rundir.ReadLiveness(last.dir) // an unreadable run has no events
			if f.Agent.PID != 0 && started != last.dir {
				started, shown = last.dir, nil
				printLine(w, shim.Occurrence{At: f.StartedAt, Event: shim.Started, Run: run, PID: f.Agent.PID})
			}
			if f.Exit != nil || f.Agent.PID != 0 && !f.Agent.Alive() && !f.Shim.Alive() {
				ended = last.dir
				o := shim.Occurrence{At: time.Now().UTC(), Event: shim.Exited, Run: run, Exit: f.Exit}
				if f.Exit != nil {
					o.At = f.Exit.At
				}
				printLine(w, o)
			}
		}
		if started != last.dir {
			continue
		}
		var now workspace
		if now.head, now.exists = last.head(); shown == nil || now != *shown {
			shown = &now
			printLine(w, shim.Occurrence{At: time.Now().UTC(), Event: shim.Head, Run: run, Head: now.head, Gone: !now.exists})
		}
	}
}

func (k *container) writeTermination(path string) {
	dir := k.lastRun().dir
	if dir == "" {
		return
	}
	f, _ := rundir.ReadFacts(dir)
	b, err := json.Marshal(shim.Occurrence{At: time.Now().UTC(), Event: shim.Exited, Run: filepath.Base(dir), Exit: f.Exit})
	if err == nil {
		_ = os.WriteFile(path, b, 0o644) // informative only: the exit is also in the run's directory
	}
}

// launch prepares a run's directory, starts the run, and returns when its agent runs or has ended.
// A failed launch leaves no process.
func (k *container) launch(q shim.InitRequest) (*shim.ContainerRun, error) {
	if q.Config == nil || !proc.ValidRun(q.Config.Run) || filepath.Base(q.RunDir) != q.Config.Run || !filepath.IsAbs(q.RunDir) {
		return nil, &shim.Error{Code: shim.CodeInvalid, Message: "the run has no valid directory"}
	}
	if err := k.over(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(q.Config.Dir, 0o700); err != nil {
		return nil, err
	}
	if err := rundir.Prepare(q.RunDir, *q.Config, nil); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(q.RunFiles)) {
		path := filepath.Join(q.RunDir, name)
		if !filepath.IsLocal(name) {
			return nil, &shim.Error{Code: shim.CodeInvalid, Message: fmt.Sprintf("%.200q is not a name of a file of the run", name)}
		}
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = rundir.WriteFile(path, []byte(q.RunFiles[name]), false)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := k.start(q); err != nil {
		return nil, err
	}
	if err := k.awaitAgent(q); err != nil {
		return nil, errors.Join(err, k.end(shim.InitRequest{Run: q.Config.Run, RunDir: q.RunDir, Signal: "SIGKILL"}))
	}
	return k.look(q), nil
}

func (k *container) awaitAgent(q shim.InitRequest) error {
	deadline := time.Now().Add(launchTimeout)
	for wait := time.Millisecond; ; wait = min(2*wait, proc.MaxWait) {
		f, _ := rundir.ReadFacts(q.RunDir) // what cannot be read does not exist yet
		switch {
		case f.Exit != nil && f.Exit.Cause == rundir.CauseFailedStart:
			return &shim.Error{Code: shim.CodeFailed, Message: f.Exit.Detail}
		case f.Agent.PID != 0 || f.Exit != nil:
			return nil // the next look reports an exit
		case time.Now().After(deadline):
			_, screen, _ := k.terminal.look(q.Target, q.Format, true)
			return fmt.Errorf("the shim did not start the agent within %s: %s", launchTimeout, shim.OneLine(screen, 200))
		}
		time.Sleep(wait)
	}
}

// passOn forwards a request to the shim of a run. Anything in the container may listen on the
// shim's socket, so passOn checks the run first.
func (k *container) passOn(q shim.InitRequest) (*shim.Reply, error) {
	if q.Request == nil {
		return nil, &shim.Error{Code: shim.CodeInvalid, Message: "nothing to pass on"}
	}
	c, err := rundir.Load(q.RunDir)
	if err != nil {
		return nil, err
	}
	client, err := shim.Dial(c.Socket)
	if err != nil {
		return nil, &shim.Error{Code: shim.CodeGone, Message: "no shim answers"}
	}
	defer client.Close()
	ctx := context.Background()
	if h, err := client.Hello(ctx); err != nil || h.Run != q.Run {
		return nil, &shim.Error{Code: shim.CodeGone, Message: "the shim of another run answers"}
	}
	r, err := client.Pass(ctx, *q.Request)
	return &r, err
}
