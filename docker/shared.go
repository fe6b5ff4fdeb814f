package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// folders are what a session's container shares with this machine, and what is
// kept of it beside that.
type folders struct {
	own     string // kept here, and not seen in the container
	runs    string // of its runs; in the container it is DATA_DIR/runs
	sockets string // of its keeper and its guest; at the same path in the container
}

func (r *Runtime) shared(id string) folders {
	sum := sha256.Sum256([]byte(id))
	own := filepath.Join(r.config.DataDir, "containers", id)
	return folders{own: own, runs: filepath.Join(own, "runs"), sockets: filepath.Join(r.config.SocketDir, "c-"+hex.EncodeToString(sum[:4]))}
}

// guestSocket is the guest's, of whichever run is in the container.
func (f folders) guestSocket() string { return filepath.Join(f.sockets, "g") }

// make makes the folders for a user of the container.
func (f folders) make(of owner) error {
	for _, dir := range []string{f.runs, f.sockets} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := of.take(dir); err != nil {
			return err
		}
	}
	return nil
}

// bring puts the folder of a run where the container sees it, and a link in its
// place. From then on nothing is written there from outside.
func (f folders) bring(l session.Launch, of owner) error {
	to := filepath.Join(f.runs, l.Mark.Run)
	if err := of.take(l.RunDir); err != nil {
		return err
	}
	if err := os.Rename(l.RunDir, to); err != nil {
		return err
	}
	return os.Symlink(to, l.RunDir)
}

// kept is what is kept of a container where nothing in it can change it.
type kept struct {
	Mark      session.Mark  `json:"mark"` // of the run that was begun last
	Container string        `json:"container,omitempty"`
	Spec      *session.Spec `json:"spec,omitempty"`    // as launched
	Paused    string        `json:"paused,omitempty"`  // the mode
	Pane      string        `json:"pane,omitempty"`    // of an adopted session: tmux's id of it
	Program   string        `json:"program,omitempty"` // the guest's, which the container has mounted
	Runs      string        `json:"runs,omitempty"`    // in the container, if the project was moved since; see Moved
}

func (f folders) keep(k kept) error {
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

func (f folders) kept() (k kept, err error) {
	text, err := os.ReadFile(filepath.Join(f.own, "mark.json"))
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	return k, err
}

// sessionIn returns the id of the session that was started in a container; empty if none is
// on record.
func (r *Runtime) sessionIn(container string) string {
	all, _ := os.ReadDir(filepath.Join(r.config.DataDir, "containers")) // there are none
	for _, e := range all {
		if k, err := r.shared(e.Name()).kept(); err == nil && k.Container == container {
			return e.Name()
		}
	}
	return ""
}

// owner is a container's user, by number; a GID of -1 stays as it is.
type owner struct{ uid, gid int }

// ownerOf is the user of a container: as set, or whoever runs this.
func ownerOf(d *session.DockerConfig) (owner, error) {
	if d == nil || d.User == "" {
		return owner{os.Getuid(), os.Getgid()}, nil
	}
	user, group, grouped := strings.Cut(d.User, ":")
	o := owner{gid: -1}
	var err error
	if o.uid, err = strconv.Atoi(user); err == nil && grouped {
		o.gid, err = strconv.Atoi(group)
	}
	if err != nil {
		return o, fmt.Errorf("user %q of the container is no number", d.User)
	}
	return o, nil
}

// String is the user as docker wants it.
func (o owner) String() string {
	if o.gid < 0 {
		return strconv.Itoa(o.uid)
	}
	return strconv.Itoa(o.uid) + ":" + strconv.Itoa(o.gid)
}

// take makes everything below a path, and it, the owner's.
func (o owner) take(path string) error {
	if o.uid == os.Geteuid() {
		return nil
	}
	return filepath.WalkDir(path, func(p string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(p, o.uid, o.gid)
		}
		return err
	})
}

// facts are what the folder of a run in a container tells. What cannot be read is
// missing, and so is all of it where the container has put a link in the folder's
// place.
func (r *Runtime) facts(id, run string) shim.Facts {
	if !runForm.MatchString(run) {
		return shim.Facts{}
	}
	folder := filepath.Join(r.shared(id).runs, run)
	if info, err := os.Lstat(folder); err != nil || !info.IsDir() {
		return shim.Facts{}
	}
	f, _ := shim.ReadFacts(folder)
	return f
}

// Facts tells of a run in a container what its folder says, and whether its agent
// lives by asking its guest: its processes have other numbers here. ok is false of a
// run that is in no container.
func Facts(dataDir, socketDir, run string) (f shim.Facts, alive, ok bool) {
	link := filepath.Join(dataDir, "runs", run)
	to, err := os.Readlink(link)
	containers := filepath.Join(dataDir, "containers") + string(filepath.Separator)
	if err != nil || !strings.HasPrefix(to, containers) {
		return f, false, false
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(to, containers), string(filepath.Separator))
	r := &Runtime{config: Config{DataDir: dataDir, SocketDir: socketDir}}
	f = r.facts(id, run)
	return f, f.Exit == nil && f.Agent.PID != 0 && r.answers(id, run), true
}

// Programs are the guest's programs that containers of a data folder have mounted: a
// container cannot be started again without. The error says that they cannot be told.
func Programs(dataDir string) ([]string, error) {
	all, err := os.ReadDir(filepath.Join(dataDir, "containers"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	r := &Runtime{config: Config{DataDir: dataDir}}
	var mounted []string
	for _, e := range all {
		if !e.IsDir() {
			continue
		}
		k, err := r.shared(e.Name()).kept()
		switch {
		case err != nil:
			return nil, fmt.Errorf("what container %s has mounted: %w", e.Name(), err)
		case k.Pane != "": // adopted: it has nothing of ours
		case k.Program == "":
			return nil, fmt.Errorf("what container %s has mounted is not on record", e.Name())
		default:
			mounted = append(mounted, k.Program)
		}
	}
	return mounted, nil
}

// discard removes a container's sockets.
func (f folders) discard() error { return os.RemoveAll(f.sockets) }

// home brings the folders of a container's runs back to where others are, once the
// container is gone, and removes what was kept of it.
func (f folders) home(dataDir string) error {
	runs, err := os.ReadDir(f.runs)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range runs {
		folder, link := filepath.Join(f.runs, e.Name()), filepath.Join(dataDir, "runs", e.Name())
		if to, err := os.Readlink(link); !e.IsDir() || err != nil || to != folder {
			continue // the container's own, or pruned: it goes with the rest
		}
		if err := os.Remove(link); err != nil {
			return err
		}
		if err := os.Rename(folder, link); err != nil {
			return err
		}
	}
	return errors.Join(f.discard(), os.RemoveAll(f.own))
}
