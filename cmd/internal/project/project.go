// Package project opens a project: it reads the manifest and connects the engine, the hub and the
// library packages to the real runtimes, agents, git, secrets and notifiers.
package project

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/cmd/internal/backends"
	"github.com/agentform/agentform/cmd/internal/owner"
	"github.com/agentform/agentform/cmd/internal/preflight"
	"github.com/agentform/agentform/cmd/internal/secret"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/fileid"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/internal/sharedstate"
	"github.com/agentform/agentform/internal/shim/install"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/shim/socketdir"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Options describe the project to open, its user, and the handling of its sessions.
type Options struct {
	Dir         string // place of manifests, and start of relative entries of PATH
	Files       []string
	Vars        []config.Var
	StateFile   string // empty: the one in the data directory
	Environ     environ.Vars
	Version     string // of agentform
	Command     string // shown to other users of the state's lock
	Parallelism int    // 0: Open sets the manifest's
	LockTimeout time.Duration
	Log         *slog.Logger
	// SettingsOnly reads only the state's place from the manifest.
	SettingsOnly bool
	// Runtimes run the sessions; nil: tmux, Docker and Kubernetes.
	Runtimes Runtimes
	// Waiting is called with the holder of a shared state's lock, before each new try. It may
	// be nil.
	Waiting func(backend.Info)
	// Slow is called when a runtime has not answered for two seconds. It may be nil.
	Slow func(session.RuntimeSpec)
}

// Runtimes run the sessions of a project.
type Runtimes interface {
	// Runtime opens a session's runtime. Its marks have the lineage.
	Runtime(lineage string, spec session.RuntimeSpec) (session.Runtime, error)
	// Facts returns the record of a run.
	Facts(run string) session.RunFacts
	// BootID returns the boot id in the records of runs.
	BootID() string
}

// Project is an open project.
type Project struct {
	Options
	Manifest *config.Manifest // without sessions if Problems has an error
	Problems []session.Diagnostic
	State    string // the path of the state file
	Stored   *backends.State
	Secrets  *secret.Store
	Scope    []string // the command that starts a tmux server; see service.Scope
	Anew     bool     // write a state if the backend has lost it
	Moving   bool     // accept the state of a moved project, to repair it
	// MaxRunning is how many agents may run at once.
	MaxRunning int

	owner   func() session.Owner
	opening sync.Mutex // of closers: requests to a hub are concurrent
	closers []func()

	installing sync.Mutex
	installed  []string         // the shim's command; nil: not yet
	kept       install.Programs // the shims for Linux; nil: not yet
}

// Open reads the manifest. Even with problems, sessions can be shown and stopped.
func Open(o Options) *Project {
	start := time.Now()
	p := &Project{Options: o}
	var workspace func(session.Spec) string
	locate := func(m *config.Manifest) {
		p.Manifest, p.State = m, cmp.Or(o.StateFile, filepath.Join(m.DataDir, "state.json"))
		p.owner = sync.OnceValue(func() session.Owner { return owner.Here(m.Root, m.DataDir, "") })
	}
	m, problems := config.Load(config.Options{
		Dir: o.Dir, Files: o.Files, Vars: o.Vars, Environ: o.Environ, Builtins: agent.Builtins(), Version: o.Version, SettingsOnly: o.SettingsOnly,
		Workspace: func(m *config.Manifest, s session.Spec) string {
			if workspace == nil {
				locate(m)
				st, _ := state.Read(p.State) // commands that need the state report the error
				workspace = plan.WorkspacePaths(st.Sessions, p.Request(plan.Options{}).Moves)
			}
			return workspace(s)
		},
	})
	locate(m)
	p.Stored = &backends.State{Path: p.State, Manifest: m, Environ: o.Environ, Owner: p.Owner, Version: o.Version, Log: o.Log, Waiting: o.Waiting}
	p.Problems, p.Secrets = problems, secret.New(o.Environ, m.Root, m.Secrets)
	p.Parallelism = cmp.Or(o.Parallelism, m.Parallelism)
	if p.MaxRunning = m.MaxRunning; p.MaxRunning <= 0 {
		p.MaxRunning = agentsFor(runtime.NumCPU(), memory())
	}
	o.Log.Debug("read the manifest", "files", strings.Join(m.Files, " "), "sessions", len(m.Sessions), "data_dir", m.DataDir, "took", time.Since(start))
	return p
}

// Owner returns the owner of sessions that this process starts.
func (p *Project) Owner() session.Owner {
	here := p.owner()
	if p.Stored.Shared() { // otherwise a replaced directory would have another state, too
		here.DataDirID = cmp.Or(fileid.Of(here.DataDir), "not there yet")
	}
	return here
}

// Check returns an error for a state that may not be used here.
func (p *Project) Check(s state.State) error {
	if p.Stored.Shared() {
		s.Sessions = slices.DeleteFunc(slices.Clone(s.Sessions), func(r session.Record) bool {
			return !sharedstate.Mine(r, p.Owner()) || r.Differs(p.Owner()) != r.Owner.Differs(p.Owner()) // of another machine, and reached from here
		})
	}
	err := owner.Check(p.Owner(), p.Manifest.Project, s)
	if p.Moving && owner.Moved(err, true) {
		return nil
	}
	return err
}

// Find returns the record of a session; nil: there is none.
func Find(records []session.Record, address session.Address) *session.Record {
	return find(records, func(r session.Record) bool { return r.Address == address })
}

func find[T any](all []T, is func(T) bool) *T {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return &all[i]
	}
	return nil
}

// Declared returns the spec of a session in the manifest; nil: it is not declared.
func (p *Project) Declared(address session.Address) *session.Spec {
	return find(p.Manifest.Sessions, func(s session.Spec) bool { return s.Address == address })
}

// Request returns the manifest's request to the engine.
func (p *Project) Request(o plan.Options) engine.Request {
	q := engine.Request{Wanted: p.Manifest.Sessions, Options: o}
	for _, x := range p.Manifest.Moves {
		q.Moves = append(q.Moves, plan.Move{From: x.From, To: x.To})
	}
	for _, x := range p.Manifest.Removed {
		q.Removed = append(q.Removed, plan.Removal{From: x.From, Destroy: x.Destroy})
	}
	for _, x := range p.Manifest.Imports {
		q.Imports = append(q.Imports, plan.Import{To: x.To, ID: x.ID})
	}
	return q
}

// RunDir returns the directory of a run.
func (p *Project) RunDir(run string) string { return layout.Data{Dir: p.Manifest.DataDir}.Run(run) }

// SessionDir returns the directory of a session's events and transcript.
func (p *Project) SessionDir(r session.Record) string {
	a := apply.Applier{DataDir: p.Manifest.DataDir, OutputsDir: p.Manifest.OutputsDir}
	return a.Folder(r)
}

// SessionDirs returns the directories of all sessions that still have one.
func (p *Project) SessionDirs() []string {
	dir := filepath.Dir(filepath.Dir(p.SessionDir(session.Record{ID: "any"})))
	all, _ := fs.Glob(os.DirFS(dir), "*/*") // fails only for a bad pattern
	for i, name := range all {
		all[i] = filepath.Join(dir, name)
	}
	return all
}

// HubSocket returns the path of the unix socket of the project's hub.
func (p *Project) HubSocket() (string, error) {
	sockets, err := socketdir.Create(p.Manifest.DataDir)
	return filepath.Join(sockets, server.SocketName), err
}

// Facts returns the record in a run's directory.
func (p *Project) Facts(run string) session.RunFacts {
	if p.Runtimes != nil {
		return p.Runtimes.Facts(run)
	}
	dir := p.RunDir(run)
	if info, err := os.Lstat(dir); err != nil || info.IsDir() {
		return activity.Facts(dir) // a link, for a container
	}
	if sockets, err := socketdir.Create(p.Manifest.DataDir); err == nil {
		if f, alive, contained := docker.Facts(p.Manifest.DataDir, sockets, run); contained {
			return activity.FactsOf(f, alive)
		}
	}
	return activity.Facts(dir)
}

// Launched returns the spec with which a run was started; nil: it cannot be read.
func (p *Project) Launched(run string) *session.Spec {
	f, err := rundir.ReadFacts(p.RunDir(run))
	var s session.Spec
	if err != nil || len(f.Spec) == 0 || json.Unmarshal(f.Spec, &s) != nil {
		return nil
	}
	return &s
}

// Activity returns a reader of the activity of the project's agents.
func (p *Project) Activity() *activity.Reader {
	return activity.New(p.Manifest.DataDir, p.Environ.Get("HOME"), agent.For)
}

// Who returns the current user, for the state's lock and the history.
func (p *Project) Who() state.Holder {
	host, _ := os.Hostname() // unknown: others see no host
	name := p.Environ.Get("USER")
	if name == "" {
		name = strconv.Itoa(os.Getuid())
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	return state.Holder{PID: os.Getpid(), User: name, Host: host, Command: p.Command, Since: time.Now()}
}

// Close closes everything that was opened.
func (p *Project) Close() {
	for _, end := range p.closers {
		end()
	}
}

// Host returns this machine in the context of the project.
func (p *Project) Host() preflight.Host {
	return preflight.Host{Environ: p.Environ, Dir: p.Dir, Secrets: p.Secrets, Manifest: p.Manifest,
		Runtime: func(lineage string, spec session.RuntimeSpec) (session.Runtime, error) {
			return p.Runtime(lineage, spec, ToRead)
		}}
}

// Lock locks and opens the state.
func (p *Project) Lock(ctx context.Context) (*state.Store, error) {
	if err := p.Check(state.State{}); err != nil { // before anything is written
		return nil, err
	}
	store, err := p.Stored.Open(ctx, sharedstate.Opening{Who: p.Who(), Wait: p.LockTimeout, Anew: p.Anew})
	if err != nil {
		return nil, err
	}
	if err := p.Check(store.State()); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	store.OwnedBy(p.Owner())
	return store, nil
}
