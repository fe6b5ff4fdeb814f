package cli

import (
	"encoding/json"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
	"github.com/agentform/agentform/tmux"
)

// purpose is what a reconciler is opened for.
type purpose bool

const (
	toLook purpose = false // nothing is installed into the data folder
	toAct  purpose = true
)

// reconciler is the project's, with the real tmux, git, guests and agents. It
// opens nothing before it is used; close ends what it opened.
func (a *app) reconciler(p *project, why purpose) *engine.Reconciler {
	if why == toAct {
		keepToOurselves()
	}
	r := a.wired(p, why)
	a.closers = append(a.closers, r.Close)
	return r
}

// wired is a reconciler that whoever asks for it closes.
func (a *app) wired(p *project, why purpose) *engine.Reconciler {
	who := a.who()
	return &engine.Reconciler{
		Project: p.manifest.Project, StatePath: p.state, Version: a.env.Version,
		Here: p.here(), Check: p.check,
		Who: who, LockWait: a.globals.lockTimeout, Keep: p.manifest.HistoryKeep.D(),
		Runtime: func(lineage string, spec session.RuntimeSpec) (session.Runtime, error) {
			return a.runtime(p, lineage, spec, why)
		},
		Observer: engine.Observer{
			Look:      git.Look,
			LookClone: git.LookClone,
			Worktrees: git.Worktrees,
			Facts:     p.facts,
			Launched:  p.launched,
			BootID:    shim.BootID,
			Overdue:   overdue(p, sync.OnceValue(func() *activity.Reader { return a.activity(p) })),
			Now:       time.Now,
		},
		Activity: a.activity(p),
		Applier: apply.Applier{
			Agent:       agent.For,
			Hooks:       hooks(p.manifest.DataDir),
			Root:        os.Geteuid() == 0,
			Git:         apply.HostGit(),
			Blobs:       state.Blobs{Dir: filepath.Join(p.manifest.DataDir, "blobs")},
			Secrets:     a.secret(p),
			Facts:       p.facts,
			BaseEnv:     a.secretsOf(p).base(),
			DataDir:     p.manifest.DataDir,
			OutputsDir:  p.manifest.OutputsDir,
			Project:     p.manifest.Project,
			ProjectDir:  p.manifest.Root,
			Parallelism: a.parallelism(p),
			By:          who.User,
		},
	}
}

// overdue reports of a session whether it could not be observed for longer than it
// may. The reader is asked for when that is first asked.
func overdue(p *project, reader func() *activity.Reader) func(session.Record, time.Time) bool {
	return func(r session.Record, now time.Time) bool {
		return reader().Overdue(r, func() []history.Event {
			past, _ := history.Read(p.folder(r), time.Time{}) // without it nothing was given, as far as is known
			return past
		}, now)
	}
}

// hooks is the command that agents' hooks call: the guest's program, which is
// installed where runs find it.
func hooks(dataDir string) func() ([]string, error) {
	return sync.OnceValues(func() ([]string, error) {
		_, argv, err := shim.Install(dataDir)
		return append(argv, shim.NotifyMode), err
	})
}

// secret is how the values of the project's secrets are asked for. Why one
// cannot be had is told here, since whoever asks learns only that it cannot.
func (a *app) secret(p *project) func(string) (string, bool) {
	s := a.secretsOf(p)
	return func(name string) (string, bool) {
		v, err := s.value(name)
		if err != nil {
			a.log.Warn("a secret cannot be had", "name", name, "error", err)
		}
		return v, err == nil
	}
}

// runtime opens the runtime that a session names.
func (a *app) runtime(p *project, lineage string, spec session.RuntimeSpec, why purpose) (session.Runtime, error) {
	sockets, err := shim.SocketDir(p.manifest.DataDir)
	if err != nil {
		return nil, err
	}
	if spec.Kind == "docker" {
		return a.docker(p, lineage, spec, sockets, why)
	}
	c := tmux.Config{SocketDir: sockets, DataDir: p.manifest.DataDir, Lineage: lineage, Bin: "tmux", Scope: a.scoped, Server: spec.Socket}
	if path, found := a.env.findCommand("tmux", a.env.Dir); found {
		c.Bin = path
	}
	if why == toAct {
		if _, c.Guest, err = shim.Install(p.manifest.DataDir); err != nil {
			return nil, err
		}
		if err := p.keepSockets(sockets); err != nil {
			return nil, err
		}
	}
	return tmux.New(c), nil
}

// docker opens the engine that a session names.
func (a *app) docker(p *project, lineage string, spec session.RuntimeSpec, sockets string, why purpose) (session.Runtime, error) {
	c := docker.Config{SocketDir: sockets, DataDir: p.manifest.DataDir, Lineage: lineage, Attach: shim.Program()}
	if spec.Docker != nil {
		c.Host = spec.Docker.Host
	}
	if why == toAct {
		var err error
		if _, c.Guest, err = shim.Install(p.manifest.DataDir); err != nil {
			return nil, err
		}
		if err := p.keepSockets(sockets); err != nil {
			return nil, err
		}
	}
	return docker.New(c), nil
}

// close closes what was opened.
func (a *app) close() {
	for _, end := range a.closers {
		end()
	}
}

// keepToOurselves lets no child inherit a file that agentform itself was handed:
// the tmux server lives on, and would hold a shell's pipe or terminal, or make's
// job server, open for ever.
func keepToOurselves() {
	open, _ := os.ReadDir("/dev/fd") // without it, as before
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// facts is what the folder of a run tells.
func (p *project) facts(run string) session.RunFacts {
	if sockets, err := shim.SocketDir(p.manifest.DataDir); err == nil {
		if f, alive, contained := docker.Facts(p.manifest.DataDir, sockets, run); contained {
			return session.RunFacts{Claimed: f.Claimed, Alive: alive, Exit: activity.ExitOf(f.Exit), BootID: f.BootID,
				Agent: session.Process{PID: f.Agent.PID, Start: f.Agent.Start}}
		}
	}
	return activity.Facts(p.runDir(run))
}

// launched is what a run was started with, as its folder keeps it; nil if that
// cannot be read.
func (p *project) launched(run string) *session.Spec {
	f, err := shim.ReadFacts(p.runDir(run))
	var s session.Spec
	if err != nil || len(f.Spec) == 0 || json.Unmarshal(f.Spec, &s) != nil {
		return nil
	}
	return &s
}

func (p *project) runDir(run string) string { return filepath.Join(p.manifest.DataDir, "runs", run) }

// parallelism is how many sessions are worked on at once.
func (a *app) parallelism(p *project) int {
	if a.globals.parallelism > 0 {
		return a.globals.parallelism
	}
	return p.manifest.Parallelism
}

// maxRunning is how many agents may be alive at once.
func (p *project) maxRunning() int {
	if p.manifest.MaxRunning > 0 {
		return p.manifest.MaxRunning
	}
	return fitting(runtime.NumCPU(), memory())
}

// folder is where a session's events and transcript are.
func (p *project) folder(r session.Record) string {
	a := apply.Applier{DataDir: p.manifest.DataDir, OutputsDir: p.manifest.OutputsDir}
	return a.Folder(r)
}

// folders are those of all sessions that there ever were, as far as they are left.
func (p *project) folders() []string {
	in := filepath.Dir(filepath.Dir(p.folder(session.Record{ID: "any"}))) // of all roles
	var all []string
	for _, role := range entries(in) {
		for _, id := range entries(filepath.Join(in, role.Name())) {
			all = append(all, filepath.Join(in, role.Name(), id.Name()))
		}
	}
	return all
}

// who is the person at work, as others that want the state's lock and those who
// read the history are told.
func (a *app) who() state.Holder {
	host, _ := os.Hostname() // unknown: others see no host
	name := a.env.getenv("USER")
	if name == "" {
		name = strconv.Itoa(os.Getuid())
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	return state.Holder{PID: os.Getpid(), User: name, Host: host, Command: a.command, Since: time.Now()}
}
