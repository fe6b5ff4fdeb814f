package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Config selects the containers that a Runtime manages, and has their directories.
type Config struct {
	SocketDir string        // of socketdir.Create; each container has a directory below it
	DataDir   string        // runs/RUN and containers/ID
	Lineage   string        // Mark.Project of managed containers; empty: not known
	Project   string        // the name, which says whose sessions are without a lineage; empty: all with a mark are
	Shim      []string      // the shim's program, of install.Install
	Attach    []string      // the shim's program, for the method Attach; empty: Shim
	Exec      []string      // the command that has CommandMain, for an engine elsewhere; empty: docker
	Host      string        // a docker context, or a URL as in DOCKER_HOST; empty: the environment's
	CertPath  string        // a directory as in DOCKER_CERT_PATH, for tcp://; empty: the environment's
	Owner     session.Owner // creator of containers for commands; zero: they are not found again
	// Shims are the shim's programs for an engine elsewhere by architecture, of install.Programs.
	Shims map[string]string
}

// Runtime is a session.Runtime that keeps sessions in containers. It connects to the engine on
// first use.
type Runtime struct {
	config Config
	files  files
	engine func() (engine, error)
	exec   *executor
	images images
	*far
	*sessions
}

// sessions acts on sessions. With this name, the embedded field is not exported.
type sessions = contained.Sessions

// far has what an engine needs in addition if its containers do not see this machine's files.
type far struct {
	config   Config
	files    files
	engine   func() (engine, error)
	commands *commands
	relays   chan struct{} // slots for connections into containers
}

var (
	_ session.Runtime  = (*Runtime)(nil)
	_ session.Executor = (*Runtime)(nil)

	_ session.LeftoverLister  = (*Runtime)(nil)
	_ session.WorkspaceHolder = (*Runtime)(nil)
)

// New returns a runtime.
func New(c Config) *Runtime {
	engine := sync.OnceValues(func() (engine, error) { return connect(c) })
	slots := farExecs
	if strings.HasPrefix(c.Host, "ssh://") {
		slots = sshExecs
	}
	files := files{dataDir: c.DataDir, socketDir: c.SocketDir}
	r := &Runtime{config: c, files: files, engine: engine, far: &far{c, files, engine, &commands{config: c}, make(chan struct{}, slots)},
		images: images{tried: map[string]error{}},
		exec:   &executor{engine: engine, slots: make(chan struct{}, execs)}}
	r.sessions = &sessions{Running: r.running}
	return r
}

// Close closes the connections to the engine.
func (r *Runtime) Close() {
	if c, err := r.engine(); err == nil {
		_ = c.Close() // idle connections
	}
}

// Traits returns the traits of containers.
func (r *Runtime) Traits() session.Traits {
	return session.RuntimeSpec{Kind: "docker", Docker: &session.DockerConfig{Host: r.config.Host}}.Traits()
}

// session returns the directories of a session in a container. program is the path of the shim's
// program there, from its label.
func (r *far) session(id, container, program string) dirs {
	d := r.files.session(id)
	if r.config.elsewhere() {
		d.sockets, d.dial = shim.InitFolder, r.dial(container, program)
	}
	return d
}

// The labels of a container.
const (
	labelProject = "agentform.project"
	labelAddress = "agentform.address"
	labelID      = "agentform.id"
	labelRun     = "agentform.run" // the first one
	labelHash    = "agentform.hash"
	labelOneOff  = "agentform.once"  // a command, not a session
	labelMaker   = "agentform.maker" // the process that runs the command
	// labelProgram is the shim's program in a container elsewhere.
	labelProgram = "agentform.program"
	// labelDataDir is the data directory with which a container elsewhere was started.
	labelDataDir = "agentform.data_dir"
)

// Attach returns the command that attaches a terminal to the session. The terminal is detached
// however the command ends.
func (r *Runtime) Attach(p session.Location) []string {
	held := p.Container
	if p.Pane != "" { // adopted, without an init
		held = ""
	}
	argv := r.config.command(held)
	// The engine's default is xterm, with eight colors. Every image with tmux has the terminfo of
	// this one.
	argv = append(argv, "exec", "-it", "-e", "TERM=xterm-256color")
	if p.Pane != "" { // adopted, on a tmux server of its own
		return slices.Concat(argv, []string{p.Container}, tmuxwire.Attach("tmux", "", p.Pane))
	}
	program := r.config.Attach
	if len(program) == 0 {
		program = r.config.Shim
	}
	if r.config.forwards() {
		argv = append(argv, "-e", shim.ClientVariable)
	} else if _, err := exec.LookPath("docker"); err == nil && len(program) > 0 && !r.config.elsewhere() {
		sockets := r.files.session(r.files.sessionIn(p.Container)).sockets
		argv = slices.Concat(program, []string{shim.AttachMode, sockets}, argv, []string{"-e", shim.ClientVariable})
	}
	return slices.Concat(argv, []string{p.Container}, tmuxwire.Attach("tmux", shim.TmuxSocket, tmuxwire.Session(p.Name)))
}

// forwards reports whether docker reaches the engine through CommandMain.
func (c Config) forwards() bool { return c.elsewhere() && len(c.Exec) > 0 }

// client returns the command line of the engine's client, for people.
func (c Config) client() []string {
	return (&session.DockerConfig{Host: c.Host, CertPath: c.certificateDir()}).Client()
}

// Exec returns the command that runs another command in the session's container.
func (r *Runtime) Exec(p session.Location, c session.Command) []string {
	argv := append(r.config.command(""), "exec", "-i", "-w", c.Dir)
	if c.Terminal {
		argv = append(argv, "-t")
	}
	for _, name := range c.Env {
		argv = append(argv, "-e", name)
	}
	return slices.Concat(argv, []string{cmp.Or(p.Container, p.Name)}, c.Argv)
}

// Events calls happened when a container of the project starts, ends, is paused or resumed, runs
// out of memory or is removed, until ctx ends. It reports neither changes inside a container nor
// adopted containers, which have no labels.
func (r *Runtime) Events(ctx context.Context, happened func()) error {
	c, err := r.engine()
	if err != nil {
		return err
	}
	of := labelID
	if r.config.Lineage != "" {
		of = labelProject + "=" + r.config.Lineage
	}
	wanted := filters.NewArgs(filters.Arg("type", string(events.ContainerEventType)), filters.Arg("label", of))
	for _, a := range []events.Action{events.ActionStart, events.ActionDie, events.ActionPause, events.ActionUnPause, events.ActionOOM, events.ActionDestroy} {
		wanted.Add("event", string(a))
	}
	messages, failed := c.Events(ctx, events.ListOptions{Filters: wanted})
	for {
		select {
		case <-messages:
			happened()
		case err := <-failed:
			switch {
			case ctx.Err() != nil:
				return nil
			case err == nil || errors.Is(err, io.EOF):
				err = errors.New("the engine closed the connection")
			}
			return fmt.Errorf("receive events of the engine: %w", explain(err))
		}
	}
}
