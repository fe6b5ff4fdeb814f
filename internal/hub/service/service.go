// Package service runs the hub without a terminal: in the background, or as a systemd
// service.
package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/state"
)

const LogFile = "hub.log"

const (
	startTimeout = 20 * time.Second
	stopTimeout  = time.Minute // it finishes what is under way
	pollInterval = 20 * time.Millisecond
)

// Command is how a hub is started in the background.
type Command struct {
	Args    []string // of agentform
	Dir     string
	Environ []string
	Stdin   io.Reader
	DataDir string
	Socket  string // of the hub's API
	Log     string // the file that it logs to
}

// Start starts a hub in a session of its own and returns its pid when its API answers.
// The error of a hub that exits has what it printed.
func Start(ctx context.Context, c Command) (pid int, err error) {
	if h, runs := hub.Running(c.DataDir); runs {
		return 0, &hub.TakenError{Holder: h}
	}
	if err := layout.MakeDataDir(c.DataDir); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Dir(c.Log), 0o700); err != nil {
		return 0, fmt.Errorf("create the log directory: %w", err)
	}
	// What it prints before it logs, and a crash, go to the same file.
	output, err := os.OpenFile(c.Log, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return 0, fmt.Errorf("open the log: %w", err)
	}
	defer output.Close()
	from, _ := output.Seek(0, io.SeekEnd) // else an error has more of the log
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find agentform's own program: %w", err)
	}
	cmd := exec.Command(self, c.Args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, c.Environ, c.Stdin, output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the hub: %w", err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its log has the reason
		close(exited)
	}()
	for deadline := time.Now().Add(startTimeout); ; {
		h, runs := hub.Running(c.DataDir)
		late := time.Now().After(deadline) // its first look may wait for an engine
		if runs && h.PID == cmd.Process.Pid && (late || answers(ctx, c.Socket)) {
			return h.PID, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-exited:
			if h, runs := hub.Running(c.DataDir); runs { // another one was faster
				return 0, &hub.TakenError{Holder: h}
			}
			text := make([]byte, 4<<10)
			n, _ := output.ReadAt(text, from)
			return 0, errors.New("hub failed to start: " + strings.TrimSpace(string(text[:n])))
		case <-time.After(pollInterval):
			if late {
				return 0, fmt.Errorf("the hub (pid %d) did not start within %s: see %s", cmd.Process.Pid, startTimeout, c.Log)
			}
		}
	}
}

func answers(ctx context.Context, socket string) bool {
	client := api.Dial(socket)
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := client.Health(ctx)
	return err == nil
}

// Stop ends the hub of a data directory and waits for its end. was is false if none ran.
func Stop(ctx context.Context, dataDir string) (h state.Holder, was bool, err error) {
	h, was = hub.Running(dataDir)
	if !was {
		return h, false, nil
	}
	if here, err := os.Hostname(); h.PID <= 1 || err == nil && h.Host != "" && h.Host != here {
		return h, true, fmt.Errorf("the hub cannot be stopped from here: it is pid %d on %s", h.PID, h.Host)
	}
	if err := syscall.Kill(h.PID, syscall.SIGTERM); err != nil {
		return h, true, fmt.Errorf("stop the hub (pid %d): %w", h.PID, err)
	}
	_ = syscall.Kill(h.PID, syscall.SIGCONT) // a stopped process handles no SIGTERM
	for deadline := time.Now().Add(stopTimeout); ; {
		if now, runs := hub.Running(dataDir); !runs || now.PID != h.PID {
			return h, true, nil
		}
		select {
		case <-ctx.Done():
			return h, true, ctx.Err()
		case <-time.After(pollInterval):
			if time.Now().After(deadline) {
				return h, true, fmt.Errorf("the hub (pid %d) is still finishing an operation after %s", h.PID, stopTimeout)
			}
		}
	}
}
