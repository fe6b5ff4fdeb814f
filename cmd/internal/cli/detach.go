package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// hubLogFile is the log of a hub in the background, in the data folder.
const hubLogFile = "hub.log"

// detachFor is how long a hub in the background may take to begin.
const detachFor = 20 * time.Second

// detachHub starts the hub in a session of its own, and returns when it supervises
// or has said why it does not.
func (a *app) detachHub(ctx context.Context, o serveOptions) error {
	p, _, err := a.recorded()
	if err != nil {
		return err
	}
	return startHub(ctx, a, p, o, a.env.Stdout)
}

// startHub is detachHub for an open project. It tells people on w that it has begun.
func startHub(ctx context.Context, a *app, p *project, o serveOptions, w io.Writer) error {
	if h, runs := hub.Running(p.manifest.DataDir); runs {
		return &hub.TakenError{Holder: h}
	}
	if err := layout.MakeDataDir(p.manifest.DataDir); err != nil {
		return err
	}
	path := o.logFile
	if path == "" {
		path = filepath.Join(p.manifest.DataDir, hubLogFile)
	}
	path = a.absolute(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the log's folder: %w", err)
	}
	// What it says before it logs, and a crash, go to the same file.
	said, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer said.Close()
	from, err := said.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find agentform's own program: %w", err)
	}
	// Everybody on this machine can read a command line, so the values of variables go
	// another way.
	vars, err := json.Marshal(a.globals.vars)
	if err != nil {
		return fmt.Errorf("start the hub: %w", err)
	}
	c := exec.Command(self, slices.Concat(a.sameFlags(), []string{"serve", "--" + varsOnStdin, "--log-file", path}, a.listenFlags(o.listenOptions))...)
	c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr = a.env.Dir, a.env.Environ, bytes.NewReader(vars), said, said
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return fmt.Errorf("start the hub: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = c.Wait() // how it ended stands in its log
		close(ended)
	}()
	for until := time.Now().Add(detachFor); ; {
		h, runs := hub.Running(p.manifest.DataDir)
		late := time.Now().After(until) // its first look may wait for an engine
		if runs && h.PID == c.Process.Pid && (late || a.answers(ctx, p)) {
			fmt.Fprintf(w, "The hub supervises %s (pid %d). It logs to %s.\nagentform serve --stop ends it; the sessions go on.\n", p.manifest.Project, h.PID, a.brief(path))
			return nil
		}
		select {
		case <-ctx.Done():
			return outcome(exitInterrupted)
		case <-ended:
			if h, runs := hub.Running(p.manifest.DataDir); runs { // another was faster
				return &hub.TakenError{Holder: h}
			}
			text := make([]byte, 4<<10)
			n, _ := said.ReadAt(text, from)
			return errors.New("the hub did not begin: " + strings.TrimSpace(string(text[:n])))
		case <-time.After(20 * time.Millisecond):
			if late {
				return fmt.Errorf("the hub (pid %d) did not begin within %s: %s says why", c.Process.Pid, detachFor, path)
			}
		}
	}
}

// answers reports whether the hub of the project answers: it has looked once.
func (a *app) answers(ctx context.Context, p *project) bool {
	path, err := p.hubSocket()
	if err != nil {
		return false
	}
	client := api.Dial(path)
	defer client.Close()
	ctx, done := context.WithTimeout(ctx, time.Second)
	defer done()
	_, err = client.Health(ctx)
	return err == nil
}

// stopFor is how long a hub may take to end: it finishes what is under way.
const stopFor = time.Minute

// stopHub ends the hub of the project, if there is one.
func (a *app) stopHub(ctx context.Context) error {
	p := a.open()
	h, runs := hub.Running(p.manifest.DataDir)
	if !runs {
		fmt.Fprintln(a.env.Stdout, "No hub supervises this project.")
		return nil
	}
	if here, err := os.Hostname(); h.PID <= 1 || err == nil && h.Host != "" && h.Host != here {
		return fmt.Errorf("the hub cannot be ended from here: it is pid %d on %s", h.PID, h.Host)
	}
	if err := syscall.Kill(h.PID, syscall.SIGTERM); err != nil {
		return fmt.Errorf("end the hub (pid %d): %w", h.PID, err)
	}
	_ = syscall.Kill(h.PID, syscall.SIGCONT) // a stopped process would not hear it
	for until := time.Now().Add(stopFor); ; {
		if now, runs := hub.Running(p.manifest.DataDir); !runs || now.PID != h.PID {
			fmt.Fprintf(a.env.Stdout, "The hub (pid %d) has ended. The sessions go on.\n", h.PID)
			return nil
		}
		select {
		case <-ctx.Done():
			return outcome(exitInterrupted)
		case <-time.After(20 * time.Millisecond):
			if time.Now().After(until) {
				return fmt.Errorf("the hub (pid %d) is still finishing something after %s", h.PID, stopFor)
			}
		}
	}
}

// brief is a path as it is shortest from where the person stands.
func (a *app) brief(path string) string {
	if rel, err := filepath.Rel(a.env.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

// varsOnStdin is the hidden flag of a hub that finds --var and --var-file on its
// standard input, as readVars reads them.
const varsOnStdin = "vars-on-stdin"

// readVars reads the values of variables that detachHub hands to a hub.
func readVars(from io.Reader) (vars []config.Var, err error) {
	if err := json.NewDecoder(from).Decode(&vars); err != nil {
		return nil, fmt.Errorf("read the values of variables: %w", err)
	}
	return vars, nil
}

// sameFlags returns the global flags but for the values of variables, so that another
// agentform works for the same project with the same settings.
func (a *app) sameFlags() []string {
	g := a.globals
	args := []string{"--chdir", a.env.Dir, "--log-level", g.logLevel, "--lock-timeout", g.lockTimeout.String()}
	for _, f := range g.files {
		args = append(args, "--file", f)
	}
	if g.stateFile != "" {
		args = append(args, "--state", a.absolute(g.stateFile))
	}
	if g.parallelism > 0 {
		args = append(args, "--parallelism", fmt.Sprint(g.parallelism))
	}
	return args
}

// recordOf is what is on record of a session; nil: nothing, or it cannot be read.
func (p *project) recordOf(address session.Address) *session.Record {
	s, err := state.Read(p.state)
	if err != nil {
		return nil
	}
	return find(s.Sessions, address)
}

// environOf returns the environment that a run was started with, and the names of
// the secrets that it had from there; nothing if its folder is gone.
func environOf(runDir string) (env, secrets []string) {
	env, secrets, err := shim.LaunchEnv(runDir)
	if err != nil {
		return nil, nil
	}
	return env, secrets
}
