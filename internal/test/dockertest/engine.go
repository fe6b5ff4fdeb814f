package dockertest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Engine is a test's own engine, which the test may kill. Starting one needs root, or sudo
// without a password.
type Engine struct {
	dir     string
	command *exec.Cmd
	prefix  []string // of the command
}

// StartEngine starts an engine without networks, with its data in a new directory, and
// returns when it answers, in less than a second. The flags are dockerd's, such as
// --live-restore. Call Close to end it.
func StartEngine(flags ...string) (*Engine, error) {
	dir, err := os.MkdirTemp("", "afe") // the name of t.TempDir is too long for a socket
	if err != nil {
		return nil, err
	}
	e := &Engine{dir: dir}
	if err := e.Start(flags...); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return e, nil
}

// Host returns the engine's DOCKER_HOST, also while the engine does not run.
func (e *Engine) Host() string { return "unix://" + filepath.Join(e.dir, "s") }

// engineTimeout bounds the start and the end of an engine.
const engineTimeout = 60 * time.Second

// Start starts the engine again, after Kill, with its data. Without --live-restore it ends
// the containers that run.
func (e *Engine) Start(flags ...string) error {
	args := append(append(slices.Clone(e.prefix), "dockerd", "--iptables=false", "--bridge=none", "--host", e.Host(), "--group", strconv.Itoa(os.Getgid()),
		"--data-root", filepath.Join(e.dir, "data"), "--exec-root", filepath.Join(e.dir, "exec"), "--pidfile", e.pidfile()), flags...)
	log, err := os.OpenFile(filepath.Join(e.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	e.command = asRoot(args...)
	e.command.Stdout, e.command.Stderr = log, log
	if err := e.command.Start(); err != nil {
		return fmt.Errorf("start an engine: %w", err)
	}
	for end := time.Now().Add(engineTimeout); ; time.Sleep(20 * time.Millisecond) {
		if _, err = Docker(nil, "-H", e.Host(), "version"); err == nil {
			return nil
		}
		if time.Now().After(end) {
			said, _ := os.ReadFile(log.Name())
			return fmt.Errorf("start an engine: %w\n%s", errors.Join(err, e.end("KILL")), said)
		}
	}
}

// Kill ends the engine with SIGKILL. Its containers keep running.
func (e *Engine) Kill() error { return e.end("KILL") }

// Suspend stops the engine's process with SIGSTOP, and Resume lets it go on.
func (e *Engine) Suspend() error { return e.signal("STOP") }

// Resume lets a suspended engine go on.
func (e *Engine) Resume() error { return e.signal("CONT") }

func (e *Engine) signal(name string) error {
	pid, err := pidOf(e.pidfile())
	if err != nil {
		return err
	}
	if out, err := asRoot("kill", "-"+name, pid).CombinedOutput(); err != nil {
		return fmt.Errorf("signal an engine: %w: %s", err, out)
	}
	return nil
}

// Load copies an image from the machine's engine.
func (e *Engine) Load(image string) error {
	save := exec.Command("docker", "save", image)
	text, err := save.Output()
	if err != nil {
		return fmt.Errorf("docker save %s: %w", image, err)
	}
	_, err = Docker(text, "-H", e.Host(), "load")
	return err
}

// Close removes the engine's containers, ends the engine, and removes its data. An engine
// that was killed is started for that.
func (e *Engine) Close() error {
	if e.command == nil {
		if err := e.Start(); err != nil {
			return err
		}
	}
	left, err := Docker(nil, "-H", e.Host(), "ps", "-aq")
	if ids := strings.Fields(left); len(ids) > 0 {
		_, err = Docker(nil, append([]string{"-H", e.Host(), "rm", "-f"}, ids...)...)
	}
	err = errors.Join(err, e.end("TERM"), e.sweep())
	// An engine that was killed left a mount over its directory, and one of a network is left
	// by each that had containers with the network host.
	sweep := `umount "$1/data" "$1"/exec/netns/* 2>/dev/null; rm -rf "$1"`
	if out, failed := asRoot("sh", "-c", sweep, "sh", e.dir).CombinedOutput(); failed != nil {
		err = errors.Join(err, fmt.Errorf("remove the engine's folder: %w: %s", failed, out))
	}
	return err
}

func (e *Engine) pidfile() string { return filepath.Join(e.dir, "pid") }

// sweep ends the processes of containers that were being started when the engine was
// killed, which no engine knows.
func (e *Engine) sweep() error {
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range commands {
		text, _ := os.ReadFile(path) // empty if it has exited
		if strings.Contains(string(text), e.dir+"/exec/") {
			_ = asRoot("kill", "-KILL", filepath.Base(filepath.Dir(path))).Run() // fails if it has exited
		}
	}
	return err
}

// end sends the engine a signal and returns when it and its containerd have exited: the
// next engine would use a containerd that runs.
func (e *Engine) end(signal string) error {
	c := e.command
	if c == nil {
		return nil
	}
	e.command = nil
	pid, err := pidOf(e.pidfile())
	if err != nil {
		return errors.Join(fmt.Errorf("end an engine: %w", err), c.Process.Kill(), c.Wait())
	}
	pidfile := filepath.Join(e.dir, "exec", "containerd", "containerd.pid")
	containerd, _ := pidOf(pidfile) // none if it was not started yet
	if out, err := asRoot("kill", "-"+signal, pid).CombinedOutput(); err != nil {
		return fmt.Errorf("end an engine: %w: %s", err, out)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return err
		}
	case <-time.After(engineTimeout):
		return fmt.Errorf("the engine of process %s does not end", pid)
	}
	for end := time.Now().Add(engineTimeout); containerd != "" && runs(containerd); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("containerd of process %s does not end", containerd)
		}
	}
	if out, err := asRoot("rm", "-f", pidfile).CombinedOutput(); err != nil {
		return fmt.Errorf("remove %s: %w: %s", pidfile, err, out)
	}
	return nil
}

// runs reports whether a process runs. A zombie has no command line.
func runs(pid string) bool {
	command, err := os.ReadFile("/proc/" + pid + "/cmdline")
	return err == nil && len(command) > 0
}

// pidOf returns the pid that a file contains.
func pidOf(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err == nil {
		_, err = strconv.Atoi(string(text))
	}
	return string(text), err
}

// asRoot returns a command that runs as root.
func asRoot(args ...string) *exec.Cmd {
	if os.Getuid() != 0 {
		args = append([]string{"sudo", "-n"}, args...)
	}
	return exec.Command(args[0], args[1:]...)
}
