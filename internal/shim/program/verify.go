package program

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
)

const (
	// verifyLog is the size at which the first half of a log is discarded.
	verifyLog = 16 << 20
	// verifyLines and verifyOutput bound the end of the log in the reply: JSON takes at most six
	// bytes for one, and a reply has shim.LineLimit.
	verifyLines  = 100
	verifyOutput = 10 << 10
)

// verifyVariable is the environment variable that marks the processes of one verification.
const verifyVariable = "AGENTFORM_VERIFY"

// verify runs a command next to the agent as a probe does, but keeps all its output in a file of
// the run, and on timeout ends every process that the command started. The command continues if the
// client disconnects. One verification runs at a time.
func verify(r *run, p shim.Probe) shim.Reply {
	limit := p.Timeout
	if limit <= 0 {
		limit = shim.VerifyDefault
	}
	if refused := admit(r, p, "verification", &r.verifies); refused != nil {
		return *refused
	}
	defer r.verifies.Unlock()
	log := newLog(r.dir)
	if errors.Is(log.err, os.ErrNotExist) && r.moved != "" {
		log = newLog(r.moved)
	}
	defer log.close()
	done, err := runVerify(r, p.Argv, min(limit, shim.VerifyLimit), log)
	if err != nil {
		return shim.Refuse(shim.CodeFailed, fmt.Sprintf("run the command: %v", err))
	}
	if refused := occupied(r); refused != nil && (done.TimedOut || done.Signal != "") {
		return *refused // it was ended, or frozen, with the agent
	}
	return shim.Reply{OK: true, Probed: done}
}

func runVerify(r *run, argv []string, limit time.Duration, log *log) (*shim.Probed, error) {
	path, err := lookup(argv[0], r.config.Dir, r.env)
	if s, ok := errors.AsType[*startError](err); ok {
		_, _ = io.WriteString(log, err.Error()+"\n") // the reply has it, too
		return &shim.Probed{Code: s.code, Output: err.Error(), Log: log.name()}, nil
	}
	if err != nil {
		return nil, err
	}
	program, err := executable()
	if err != nil {
		return nil, err
	}
	mark := strconv.FormatInt(time.Now().UnixNano(), 10)
	env := append(r.env[:len(r.env):len(r.env)], verifyVariable+"="+mark)
	argv = slices.Concat(r.again, []string{shim.VerifyMode, path}, argv)
	p, err := r.runNext(program, argv, env, limit, func(out io.Reader) { _, _ = io.Copy(log, out) }, func(pid int) { killMarked(pid, mark) })
	if err != nil {
		return nil, err
	}
	p.Output, p.Log = log.end(), log.name()
	return p, nil
}

// under runs the command of a verification as its parent, and exits as the command does. On Linux
// the command's descendants stay below it, so that killMarked finds them even without the mark.
func under(path string, argv []string) int {
	runtime.GOMAXPROCS(1)
	_ = becomeSubreaper() // if it fails, the mark alone must do
	pid, _, err := syscall.StartProcess(path, argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		shim.PrintError("cannot start %s: %v", argv[0], err)
		return shim.ExitCannot
	}
	for {
		var status syscall.WaitStatus
		switch ended, err := syscall.Wait4(-1, &status, 0, nil); {
		case err != nil && err != syscall.EINTR:
			return shim.ExitCannot
		case ended != pid || err != nil:
		case status.Signaled():
			dieOf(status.Signal())
			return 128 + int(status.Signal())
		default:
			return status.ExitStatus()
		}
	}
}

// killMarked kills a process, its descendants, and every process with the mark of its verification,
// until a look finds none.
func killMarked(pid int, mark string) {
	syscall.Kill(pid, syscall.SIGSTOP) // it starts nothing more, and keeps its descendants
	for until := time.Now().Add(proc.KillTimeout); ; time.Sleep(time.Millisecond) {
		living := false
		kill := func(p proc.Process) {
			if p.PID != pid {
				living = true
				syscall.Kill(p.PID, syscall.SIGKILL)
			}
		}
		for _, s := range proc.Descendants(pid) {
			if s.Alive() {
				kill(s.Process)
			}
		}
		for p := range proc.Find(func(environ []byte) bool { return proc.Getenv(environ, verifyVariable) == mark }) {
			kill(p)
		}
		if !living || time.Now().After(until) {
			syscall.Kill(pid, syscall.SIGKILL)
			return
		}
	}
}

// log is the file with the output of a verification. It keeps the end of what is longer than
// verifyLog. If it cannot be written, it ends early but the command still runs.
type log struct {
	file *os.File // nil: it could not be created
	size int64
	err  error  // the first
	last []byte // the end of the output
}

// newLog creates the log of a run, replacing the last one.
func newLog(dir string) *log {
	path := filepath.Join(dir, rundir.VerifyLog)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return &log{err: err}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return &log{err: err}
	}
	return &log{file: f}
}

func (l *log) name() string {
	if l.file == nil {
		return ""
	}
	return l.file.Name()
}

func (l *log) close() {
	if l.file != nil {
		l.file.Close()
	}
}

// Write appends to the log. It never returns an error, so that the command can keep printing;
// log.err has the first error.
func (l *log) Write(p []byte) (int, error) {
	l.last = append(l.last, p...)
	l.last = append(l.last[:0], l.last[max(0, len(l.last)-verifyOutput):]...)
	if l.err == nil && l.size+int64(len(p)) > verifyLog {
		l.err = l.halve()
	}
	if l.err == nil {
		var n int
		n, l.err = l.file.WriteAt(p, l.size)
		l.size += int64(n)
	}
	return len(p), nil
}

// halve drops the first half of the log.
func (l *log) halve() error {
	buf := make([]byte, 256<<10)
	from, to := l.size/2, int64(0)
	for from < l.size {
		n, err := l.file.ReadAt(buf, from)
		if n == 0 {
			return err
		}
		if _, err := l.file.WriteAt(buf[:n], to); err != nil {
			return err
		}
		from, to = from+int64(n), to+int64(n)
	}
	l.size = to
	return l.file.Truncate(to)
}

// end returns the last lines of the output, and why the log is incomplete.
func (l *log) end() string {
	lines := bytes.SplitAfter(bytes.TrimRight(l.last, "\n"), []byte("\n"))
	lines = lines[max(0, len(lines)-verifyLines):]
	text := strings.ToValidUTF8(string(bytes.Join(lines, nil)), "")
	if l.err != nil {
		text += "\nagentform: the log is incomplete: " + shim.OneLine(l.err.Error(), 200)
	}
	return strings.TrimPrefix(text, "\n")
}
