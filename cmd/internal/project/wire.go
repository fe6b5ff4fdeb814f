package project

import (
	"context"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/cmd/internal/owner"
	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/sharedstate"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/install"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/shim/socketdir"
	"github.com/agentform/agentform/kubernetes"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
	"github.com/agentform/agentform/tmux"
)

// Purpose is the purpose of opening a runtime.
type Purpose bool

// The purposes. Reading installs nothing in the data directory.
const (
	ToRead Purpose = false
	ToAct  Purpose = true
)

// Reconciler returns an engine that opens runtimes as needed. Close closes them.
func (p *Project) Reconciler(why Purpose) *engine.Engine {
	if why == ToAct {
		SetCloseOnExec()
	}
	r := p.reconciler(why)
	p.opening.Lock()
	defer p.opening.Unlock()
	p.closers = append(p.closers, r.Close)
	return r
}

func (p *Project) reconciler(why Purpose) *engine.Engine {
	m, who, bootID := p.Manifest, p.Who(), proc.BootID
	if p.Runtimes != nil {
		bootID = p.Runtimes.BootID
	}
	e := &engine.Engine{
		Project: m.Project, StatePath: p.State, Version: p.Version,
		Here: p.Owner(), Check: p.Check,
		Who: who, LockWait: p.LockTimeout, Keep: m.HistoryKeep.D(),
		Runtime: func(lineage string, spec session.RuntimeSpec) (session.Runtime, error) {
			return p.Runtime(lineage, spec, why)
		},
		Observer: engine.Observer{
			Look:      git.Look,
			LookClone: git.LookClone,
			Worktrees: git.Worktrees,
			Facts:     p.Facts,
			Launched:  p.Launched,
			BootID:    bootID,
			Overdue:   overdue(p, sync.OnceValue(p.Activity)),
			Strays:    strays(m.Root),
			Slow:      p.Slow,
			Now:       time.Now,
		},
		Activity: p.Activity(),
		Quotas:   func(now time.Time) map[string]plan.Quota { return hub.Quotas(m.DataDir, now) },
		Applier: apply.Applier{
			Agent:       agent.For,
			Hooks:       p.hook,
			Root:        os.Geteuid() == 0,
			Git:         apply.HostGit(),
			Blobs:       state.Blobs{Dir: layout.Data{Dir: m.DataDir}.Blobs()},
			Secrets:     p.secret,
			Facts:       p.Facts,
			BaseEnv:     p.Secrets.Environ(),
			DataDir:     m.DataDir,
			OutputsDir:  m.OutputsDir,
			Project:     m.Project,
			ProjectDir:  m.Root,
			Parallelism: p.Parallelism,
			By:          who.User,
			Ended:       func(r session.Record) { lastUsage(p, r) },
		},
	}
	e.Open = func(ctx context.Context, restarts func(session.Record) []health.Moment) (*state.Store, error) {
		return p.Stored.Open(ctx, sharedstate.Opening{Who: who, Wait: p.LockTimeout, Restarts: restarts})
	}
	if e.Shared = p.Stored.Shared(); e.Shared {
		e.Restarts = p.Stored.Restarts
	}
	return e
}

// strays returns a function that finds the agents that are not in a project's state.
func strays(project string) func(recorded func(run string) bool) []session.Stray {
	return func(recorded func(run string) bool) []session.Stray {
		found := []session.Stray{} // not nil: a search was made
		for _, r := range rundir.LivingRuns(recorded) {
			found = append(found, session.Stray{Run: r.Run, Process: session.Process{PID: r.Agent.PID, Start: r.Agent.Start},
				Address: session.Address(r.Session), Ours: r.Project == project, Project: r.Project, Dir: r.Dir})
		}
		return found
	}
}

// Elsewhere are the commands that execute others in sessions that are not on this machine, by their names. They take
// arguments and streams, and return the exit status. The runtimes run them for attach and exec.
var Elsewhere = map[string]func(ctx context.Context, args []string, in, out, said *os.File) int{
	dockerElsewhere: docker.CommandMain, kubernetesExec: kubernetes.ExecMain,
}

const dockerElsewhere, kubernetesExec = "docker-elsewhere", "kubernetes-exec"

// Runtime opens a session's runtime.
func (p *Project) Runtime(lineage string, spec session.RuntimeSpec, why Purpose) (session.Runtime, error) {
	if p.Runtimes != nil {
		return p.Runtimes.Runtime(lineage, spec)
	}
	dataDir := p.Manifest.DataDir
	sockets, err := socketdir.Create(dataDir)
	if err != nil {
		return nil, err
	}
	var argv []string
	if why == ToAct {
		if argv, err = p.shim(); err != nil {
			return nil, err
		}
		if err := socketdir.Remember(dataDir, sockets); err != nil {
			return nil, err
		}
		if err := owner.Keep(sockets, p.Owner(), p.Manifest.Project); err != nil {
			return nil, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if spec.Kind == "docker" {
		c := docker.Config{SocketDir: sockets, DataDir: dataDir, Lineage: lineage, Project: p.Manifest.Project, Attach: install.Command(), Shim: argv, Owner: p.Owner()}
		if spec.Docker != nil {
			c.Host, c.CertPath = spec.Docker.Host, spec.Docker.CertPath
		}
		if spec.Docker.Elsewhere() {
			if c.Shims, err = linuxShims(p, why); err != nil {
				return nil, err
			}
			c.Exec = []string{self, dockerElsewhere}
		}
		return docker.New(c), nil
	}
	if k := spec.Kubernetes; k != nil {
		c := kubernetes.Config{Context: k.Context, Namespace: k.Namespace, DataDir: dataDir, Lineage: lineage, Project: p.Manifest.Project}
		if c.Shims, err = linuxShims(p, why); err != nil {
			return nil, err
		}
		c.Exec = []string{self, kubernetesExec}
		return kubernetes.New(c), nil
	}
	c := tmux.Config{SocketDir: sockets, DataDir: dataDir, Lineage: lineage, Bin: "tmux", Scope: p.Scope, Server: spec.Socket, Shim: argv}
	if path, found := p.Environ.Program("tmux", p.Dir); found {
		c.Bin = path
	}
	return tmux.New(c), nil
}

func overdue(p *Project, reader func() *activity.Reader) func(session.Record, time.Time) bool {
	return func(r session.Record, now time.Time) bool {
		return reader().Overdue(r, func() []history.Event {
			past, _ := history.Read(p.SessionDir(r), time.Time{}) // if unreadable, nothing is known to have been sent
			return past
		}, now)
	}
}

// shim installs the shim's program, once, and returns its command.
func (p *Project) shim() ([]string, error) {
	p.installing.Lock()
	defer p.installing.Unlock()
	if p.installed != nil {
		return p.installed, nil
	}
	_, argv, err := install.Install(p.Manifest.DataDir)
	if err == nil {
		p.installed = argv
	}
	return argv, err
}

// linuxShims returns the shim's programs for Linux, which containers elsewhere and pods need. To act
// there it copies them to the data directory, once.
func linuxShims(p *Project, why Purpose) (all install.Programs, err error) {
	if why != ToAct {
		return install.Linux(), nil
	}
	p.installing.Lock()
	defer p.installing.Unlock()
	if p.kept == nil {
		p.kept, err = install.Linux().Keep(p.Manifest.DataDir)
	}
	return p.kept, err
}

// hook returns the command of agents' hooks.
func (p *Project) hook() ([]string, error) {
	argv, err := p.shim()
	return append(slices.Clone(argv), shim.NotifyMode), err
}

// secret logs the error, which its caller does not get.
func (p *Project) secret(name string) (string, bool) {
	v, err := p.Secrets.Value(name)
	if err != nil {
		p.Log.Warn("a secret is not available", "name", name, "error", err)
	}
	return v, err == nil
}

// SetCloseOnExec keeps tmux servers from holding a shell's pipe or make's job server open.
func SetCloseOnExec() {
	open, _ := os.ReadDir("/dev/fd") // unreadable: they are inherited
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}
