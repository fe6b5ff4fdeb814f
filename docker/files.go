package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

type files struct{ dataDir, socketDir string }

// run returns a run's directory, or the link to it.
func (f files) run(id string) string { return layout.Data{Dir: f.dataDir}.Run(id) }

// containers returns the directory with one directory for each session.
func (f files) containers() string { return layout.Data{Dir: f.dataDir}.Containers() }

// adoptions returns the directory with links from adopted containers' ids to their sessions'
// directories.
func (f files) adoptions() string { return filepath.Join(f.dataDir, "adopted") }

func (f files) adopted(container string) (id string, ok bool) {
	id, err := os.Readlink(filepath.Join(f.adoptions(), container))
	return id, err == nil && filepath.IsLocal(id)
}

// sessionIn returns the id of the session that was started in a container, or "".
func (f files) sessionIn(container string) string {
	all, _ := os.ReadDir(f.containers())
	for _, e := range all {
		if k, err := f.session(e.Name()).load(); err == nil && k.Container == container {
			return e.Name()
		}
	}
	return ""
}

type dirs struct {
	files
	id      string
	own     string // not seen in the container
	runs    string // of its runs; in the container this is DATA_DIR/runs, or on its volume
	sockets string // of its init and its shim; at the same path in the container
	// dial connects to a socket in a container of an engine elsewhere: own is then a copy
	// of what is in there. It is nil for an engine of this machine.
	dial func(ctx context.Context, socket string) (shim.Conn, error)
}

func (f files) session(id string) dirs {
	sum := sha256.Sum256([]byte(id))
	own := layout.Data{Dir: f.dataDir}.Container(id)
	return dirs{files: f, id: id, own: own.Dir, runs: own.Runs(),
		sockets: filepath.Join(f.socketDir, "c-"+hex.EncodeToString(sum[:4]))}
}

func (f dirs) init() initClient {
	return initClient{Init: shim.Init{Dir: f.sockets, Dial: f.dial}, dirs: f}
}

// initClient is a client of a container's init.
type initClient struct {
	shim.Init
	dirs dirs
	// workspace is that of an init elsewhere; Look adds its checkout to live. nil: none.
	workspace string
	live      *session.Live
}

// Look returns the status of a run. For an init elsewhere it copies the run's files to this
// machine. It copies the agent's session files if they are not on this machine and the screen is
// requested, or if the agent has exited.
func (k initClient) Look(ctx context.Context, runDir, target, format string, screen bool) (in shim.ContainerRun, err error) {
	q := shim.InitRequest{RunDir: runDir, Target: target, Format: format, Screen: screen, Files: k.Dial != nil, Workspace: k.workspace, Copy: screen}
	inspect := func() (shim.InitReply, error) {
		return contained.Inspect(q, k.dirs.runs, layout.Data{Dir: k.dirs.dataDir}.Copy(k.dirs.id), func(q shim.InitRequest) (shim.InitReply, error) { return k.Inspect(ctx, q) })
	}
	r, err := inspect()
	if err == nil && !q.Copy && !r.Seen.Agent {
		q.Copy = true
		r, err = inspect()
	}
	if err != nil {
		return in, err
	}
	if k.live != nil && r.Files != nil && r.Files.Head != "" {
		co := contained.Checkout(k.workspace, r.Files.Head)
		k.live.Checkout = &co
	}
	return *r.Seen, nil
}

func (f dirs) make(of git.Owner) error {
	if f.dial != nil {
		return os.MkdirAll(f.runs, 0o700)
	}
	for _, dir := range []string{f.runs, f.sockets} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := take(of, dir); err != nil {
			return err
		}
	}
	return nil
}

func take(of git.Owner, path string) error {
	if of.UID == os.Geteuid() {
		return nil
	}
	return of.Take(path)
}

// moveIn moves a run's directory to where the container sees it and leaves a link. From then on
// only the container writes to it.
func (f dirs) moveIn(l session.Launch, of git.Owner) error {
	to := filepath.Join(f.runs, l.Mark.Run)
	if f.dial == nil {
		if err := take(of, l.RunDir); err != nil {
			return err
		}
	}
	if err := os.Rename(l.RunDir, to); err != nil {
		return err
	}
	return os.Symlink(to, l.RunDir)
}

// remove moves the directories of the session's runs back to those of other runs, once the
// container is gone, and removes the rest.
func (f dirs) remove() error {
	runs, err := os.ReadDir(f.runs)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range runs {
		dir, link := filepath.Join(f.runs, e.Name()), f.run(e.Name())
		if to, err := os.Readlink(link); !e.IsDir() || err != nil || to != dir {
			continue // made by the container, or pruned: removed with the rest
		}
		if err := errors.Join(os.Remove(link), os.Rename(dir, link)); err != nil {
			return err
		}
	}
	if f.dial != nil {
		return os.RemoveAll(f.own)
	}
	return errors.Join(os.RemoveAll(f.sockets), os.RemoveAll(f.own))
}

// record describes a container in a file that the container does not see, since labels cannot be
// changed.
type record struct {
	Mark      session.Mark  `json:"mark"` // of the last run
	Container string        `json:"container,omitempty"`
	Spec      *session.Spec `json:"spec,omitempty"`    // as launched
	Paused    string        `json:"paused,omitempty"`  // the mode
	Pane      string        `json:"pane,omitempty"`    // tmux's id of an adopted session's pane
	Program   string        `json:"program,omitempty"` // the shim's, as mounted in the container
	Runs      string        `json:"runs,omitempty"`    // in the container, if the project was moved since; see Moved
	// Of a container on an engine elsewhere:
	Elsewhere bool   `json:"elsewhere,omitempty"`
	Dir       string `json:"dir,omitempty"`  // the workspace
	Gone      bool   `json:"gone,omitempty"` // the engine no longer has it, so none of its processes runs
}

func (f dirs) save(k record) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	path := filepath.Join(f.own, "mark.json")
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func (f dirs) load() (k record, err error) {
	text, err := os.ReadFile(filepath.Join(f.own, "mark.json"))
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	return k, err
}

func (f dirs) runInside(run string) string {
	switch k, err := f.load(); {
	case err != nil:
	case k.Runs != "":
		return filepath.Join(k.Runs, run)
	case k.Elsewhere:
		return rootOf(k.Dir).Run(run)
	}
	return f.run(run)
}

// facts returns the facts in a run's directory. It follows no link, since the container can write
// there.
func (f dirs) facts(run string) rundir.Facts {
	dir := filepath.Join(f.runs, run)
	if info, err := os.Lstat(dir); !proc.ValidRun(run) || err != nil || !info.IsDir() {
		return rundir.Facts{}
	}
	facts, _ := rundir.ReadFacts(dir)
	return facts
}

// AskShim calls do with a connection to the shim of a run. Anything in the container may listen on
// the socket, so AskShim checks the run first.
func (f dirs) AskShim(ctx context.Context, run string, do func(*shim.Client, context.Context) error) error {
	c, err := f.dialShim(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	h, err := c.Hello(ctx)
	if err == nil && h.Run != run {
		err = fmt.Errorf("the shim that answers has run %.40q: that of run %s %w", h.Run, run, session.ErrGone)
	}
	if err != nil {
		return err
	}
	return do(c, ctx)
}

func (f dirs) dialShim(ctx context.Context) (*shim.Client, error) {
	if f.dial == nil {
		return shim.Dial(contained.ShimSocket(f.sockets))
	}
	conn, err := f.dial(ctx, contained.ShimSocket(f.sockets))
	if err != nil {
		return nil, err
	}
	return shim.NewClient(conn), nil
}

// Facts returns the facts in the directory of a run in a container, and whether the run's shim
// answers, which means that its agent is alive. ok is false for other runs.
func Facts(dataDir, socketDir, run string) (facts rundir.Facts, alive, ok bool) {
	f := files{dataDir: dataDir, socketDir: socketDir}
	to, err := os.Readlink(f.run(run))
	within, ok := strings.CutPrefix(to, f.containers()+string(filepath.Separator))
	if err != nil || !ok {
		return facts, false, false
	}
	id, _, _ := strings.Cut(within, string(filepath.Separator))
	of := f.session(id)
	facts = of.facts(run)
	if k, err := of.load(); err == nil && k.Elsewhere {
		return facts, !k.Gone && facts.Exit == nil && facts.Agent.PID != 0, true // as it was last seen
	}
	if facts.Exit == nil && facts.Agent.PID != 0 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		alive = of.AskShim(ctx, run, func(*shim.Client, context.Context) error { return nil }) == nil
	}
	return facts, alive, true
}

// Programs returns the shim's programs that containers of a data directory have mounted. A
// container cannot be started again without its program.
func Programs(dataDir string) ([]string, error) {
	f := files{dataDir: dataDir}
	all, err := os.ReadDir(f.containers())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var mounted []string
	for _, e := range all {
		if !e.IsDir() {
			continue
		}
		k, err := f.session(e.Name()).load()
		switch {
		case err != nil:
			return nil, fmt.Errorf("read what container %s has mounted: %w", e.Name(), err)
		case k.Pane != "": // adopted: it has no mounts of agentform
		case k.Elsewhere: // it has a copy
		case k.Program == "":
			return nil, fmt.Errorf("what container %s has mounted is not recorded", e.Name())
		default:
			mounted = append(mounted, k.Program)
		}
	}
	return mounted, nil
}

// Moved makes the containers of a data directory reachable after a move of the directory. A
// container keeps its mounts at the old paths: Moved records them, and changes the links to its
// runs.
func Moved(dataDir string) error {
	f := files{dataDir: dataDir}
	links, err := os.ReadDir(f.run(""))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range links {
		link := f.run(e.Name())
		to, err := os.Readlink(link)
		if err != nil {
			continue // a run without a container
		}
		id := filepath.Base(filepath.Dir(filepath.Dir(to)))
		of := f.session(id)
		dir := filepath.Join(of.runs, e.Name())
		old, ok := strings.CutSuffix(to, layout.Data{Dir: "/"}.Container(id).Run(e.Name()))
		if _, err := os.Lstat(dir); !ok || err != nil || to == dir {
			continue
		}
		if k, err := of.load(); err == nil && k.Runs == "" {
			k.Runs = layout.Data{Dir: old}.Runs()
			if err := of.save(k); err != nil {
				return err
			}
		}
		if err := errors.Join(os.Remove(link), os.Symlink(dir, link)); err != nil {
			return err
		}
	}
	return nil
}

// noteGone records which containers of an engine elsewhere no longer exist.
func (f files) noteGone(exists map[string]bool) {
	all, _ := os.ReadDir(f.containers()) // if it cannot be read, no container is known
	for _, e := range all {
		of := f.session(e.Name())
		k, err := of.load()
		if err == nil && k.Elsewhere && !k.Gone && !exists[k.Container] {
			k.Gone = true
			_ = of.save(k) // otherwise the next observation does it
		}
	}
}
