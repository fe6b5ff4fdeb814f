package docker

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Config says whose containers these are, and where what they share lies.
type Config struct {
	SocketDir string   // of shim.SocketDir; each container has a folder below it
	DataDir   string   // runs/RUN and containers/ID
	Lineage   string   // Mark.Project of what is ours; empty: all that carries a mark
	Guest     []string // the guest's program, of shim.Install
	Attach    []string // the guest's program, for the method Attach; empty: Guest
	Host      string   // a docker context, or a URL as of DOCKER_HOST; empty: the environment's
}

// Runtime holds sessions in containers. It is a session.Runtime; its methods may be
// called from many goroutines. It touches nothing before it is used.
type Runtime struct {
	config Config
	engine func() (engine, error)

	trying sync.Mutex
	tried  map[string]error // what Check has tried, by image and command

	mu     sync.Mutex
	typing map[string]chan struct{} // full while somebody types

	executing chan struct{} // full while as many commands are executed as may be

	postMortems sync.Map // *shim.Exit by an adopted run's folder; nil: how it left cannot be told
}

var _ session.Runtime = (*Runtime)(nil)

// New is a runtime.
func New(c Config) *Runtime {
	return &Runtime{config: c, tried: map[string]error{}, typing: map[string]chan struct{}{},
		executing: make(chan struct{}, execs),
		engine:    sync.OnceValues(func() (engine, error) { return connect(c.Host) })}
}

// Close lets the engine go.
func (r *Runtime) Close() {
	if c, err := r.engine(); err == nil {
		_ = c.Close() // idle connections
	}
}

// Traits returns those of containers.
func (r *Runtime) Traits() session.Traits { return session.TraitsOf("docker") }

// The labels of a container.
const (
	labelProject = "agentform.project"
	labelAddress = "agentform.address"
	labelID      = "agentform.id"
	labelRun     = "agentform.run" // the first one
	labelHash    = "agentform.hash"
	labelOnce    = "agentform.once" // a command, and no session
)

// Attach is the command that gives a terminal to the session. It detaches the terminal
// however the command ends.
func (r *Runtime) Attach(p session.Place) []string {
	argv := []string{"docker"}
	switch {
	case strings.Contains(r.config.Host, "://"):
		argv = append(argv, "-H", r.config.Host)
	case r.config.Host != "":
		argv = append(argv, "--context", r.config.Host)
	}
	// The engine would say xterm, which has eight colours; every image that has tmux
	// describes this one.
	argv = append(argv, "exec", "-it", "-e", "TERM=xterm-256color")
	if p.Pane != "" { // adopted, on a server of its own
		return slices.Concat(argv, []string{p.Container}, tmuxwire.Attach("tmux", "", p.Pane))
	}
	// Without the docker command there is nothing to hold.
	program := r.config.Attach
	if len(program) == 0 {
		program = r.config.Guest
	}
	if _, err := exec.LookPath("docker"); err == nil && len(program) > 0 {
		argv = slices.Concat(program, []string{shim.AttachMode, r.shared(r.sessionIn(p.Container)).sockets}, argv, []string{"-e", shim.ClientVariable})
	}
	return slices.Concat(argv, []string{p.Container}, tmuxwire.Attach("tmux", shim.KeptSocket, tmuxwire.Session(p.Name)))
}

// runDir is where a run's folder is looked for.
func (r *Runtime) runDir(run string) string { return filepath.Join(r.config.DataDir, "runs", run) }
