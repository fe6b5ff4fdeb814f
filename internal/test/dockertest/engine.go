package dockertest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Engine is an engine of a test's own, which it may kill. Only root may start one:
// anybody else has to be allowed sudo without a password.
type Engine struct {
	dir     string
	command *exec.Cmd
}

// StartEngine starts an engine without networks, with what it keeps in a new folder,
// and returns when it answers, in less than a second. The flags are dockerd's, such
// as --live-restore. Whoever starts it ends it; see Close.
func StartEngine(flags ...string) (*Engine, error) {
	dir, err := os.MkdirTemp("", "afe") // a test's own folder has too long a name for a socket
	if err != nil {
		return nil, err
	}
	e := &Engine{dir: dir}
	if err := e.Start(flags...); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return e, nil
}

// Host is how the engine is reached, as DOCKER_HOST has it; also while it is dead.
func (e *Engine) Host() string { return "unix://" + filepath.Join(e.dir, "s") }

// comesUp is how long an engine may take until it answers, or until it is gone.
const comesUp = 60 * time.Second

// Start starts the engine again, after Kill, on what it has kept. With --live-restore
// it leaves the containers that run as they are, else it ends them.
func (e *Engine) Start(flags ...string) error {
	args := append([]string{"dockerd", "--iptables=false", "--bridge=none", "--host", e.Host(), "--group", strconv.Itoa(os.Getgid()),
		"--data-root", filepath.Join(e.dir, "data"), "--exec-root", filepath.Join(e.dir, "exec"), "--pidfile", e.pidfile()}, flags...)
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
	for end := time.Now().Add(comesUp); ; time.Sleep(20 * time.Millisecond) {
		if _, err = Docker(nil, "-H", e.Host(), "version"); err == nil {
			return nil
		}
		if time.Now().After(end) {
			said, _ := os.ReadFile(log.Name()) // else there is nothing more to tell
			return fmt.Errorf("start an engine: %w\n%s", errors.Join(err, e.end("KILL")), said)
		}
	}
}

// Kill ends the engine as the kernel does when memory is short: it gets to do nothing
// more. What runs in its containers runs on.
func (e *Engine) Kill() error { return e.end("KILL") }

// Load brings an image that the machine's engine has to this one, under its name.
func (e *Engine) Load(image string) error {
	save := exec.Command("docker", "save", image)
	text, err := save.Output()
	if err != nil {
		return fmt.Errorf("docker save %s: %w", image, err)
	}
	_, err = Docker(text, "-H", e.Host(), "load")
	return err
}

// Close removes the engine's containers, ends it, and removes all that it kept. One
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
	// One that was killed did not take away the mount that it lays over its folder.
	sweep := `umount "$1/data" 2>/dev/null; rm -rf "$1"`
	if out, failed := asRoot("sh", "-c", sweep, "sh", e.dir).CombinedOutput(); failed != nil {
		err = errors.Join(err, fmt.Errorf("remove the engine's folder: %w: %s", failed, out))
	}
	return err
}

func (e *Engine) pidfile() string { return filepath.Join(e.dir, "pid") }

// sweep ends what a kill has left of containers that were just being started, of which
// no engine knows.
func (e *Engine) sweep() error {
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range commands {
		text, _ := os.ReadFile(path) // it has gone
		if strings.Contains(string(text), e.dir+"/exec/") {
			_ = asRoot("kill", "-KILL", filepath.Base(filepath.Dir(path))).Run() // it has gone
		}
	}
	return err
}

// beneath names the containerd that the engine has started.
func (e *Engine) beneath() string {
	return filepath.Join(e.dir, "exec", "containerd", "containerd.pid")
}

// end sends the engine a signal, and waits until it is gone, and the containerd that
// it has started with it: the next one would take that for its own. That a signal
// ended it is no failure.
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
	beneath, _ := pidOf(e.beneath()) // it came to none
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
	case <-time.After(comesUp):
		return fmt.Errorf("the engine of process %s does not end", pid)
	}
	for end := time.Now().Add(comesUp); beneath != "" && lives(beneath); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("containerd of process %s does not end", beneath)
		}
	}
	if out, err := asRoot("rm", "-f", e.beneath()).CombinedOutput(); err != nil {
		return fmt.Errorf("remove %s: %w: %s", e.beneath(), err, out)
	}
	return nil
}

// lives reports whether a process runs: one that is dead and waits for its parent has
// no command line.
func lives(pid string) bool {
	command, err := os.ReadFile("/proc/" + pid + "/cmdline")
	return err == nil && len(command) > 0
}

// pidOf is the process that a file names.
func pidOf(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err == nil {
		_, err = strconv.Atoi(string(text))
	}
	return string(text), err
}

// asRoot is a command as root.
func asRoot(args ...string) *exec.Cmd {
	if os.Getuid() != 0 {
		args = append([]string{"sudo", "-n"}, args...)
	}
	return exec.Command(args[0], args[1:]...)
}
