// Package owner identifies the owner of a state's sessions: host, user, project and data directory.
// It only reads.
package owner

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/agentform/agentform/internal/fileid"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/shim/socketdir"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Here returns the owner of the sessions that this process starts.
func Here(project, dataDir, lineage string) session.Owner {
	host, _ := os.Hostname() // without one, the machine's own id must do
	return session.Owner{
		Host:         cmp.Or(host, "localhost"),
		Machine:      machine(host),
		BootID:       proc.BootID(),
		PIDNamespace: pidNamespace(),
		UID:          os.Geteuid(),
		Project:      Resolve(project),
		DataDir:      Resolve(dataDir),
		Lineage:      lineage,
	}
}

// digest hides a machine's id, which is confidential, but keeps it comparable.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range append([]string{"agentform"}, parts...) {
		h.Write([]byte(p + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Resolve returns an absolute path with its existing part free of links.
func Resolve(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return fileid.Resolve(abs)
}

// A UserError reports that a data directory belongs to another user.
type UserError struct {
	DataDir string
	UID     int // of its owner
}

// Error names the user and the command to run agentform as that user.
func (e *UserError) Error() string {
	owner, sudo := userName(e.UID)
	me, _ := userName(os.Geteuid())
	return fmt.Sprintf("data directory %s belongs to %s, and this is %s; nothing was changed; run agentform as that user, for example: sudo -u %s agentform status",
		e.DataDir, owner, me, sudo)
}

// Check returns an error if a state may not be used here: its data directory belongs to another
// user, it is a copy, its project was moved, or its sessions use another data directory.
func Check(here session.Owner, project string, st state.State) error {
	if err := CheckUser(here.DataDir); err != nil {
		return err
	}
	path := filepath.Join(here.DataDir, "state.json")
	if original := st.CopyOf(here.DataDir); original != "" {
		return &state.CopiedError{Path: path, Original: original, Mixed: st.Mixed(here.DataDir)}
	}
	if from := copiedFrom(st, here); from != "" {
		return &state.CopiedError{Path: path, Original: filepath.Join(from, "state.json"), Gone: true}
	}
	if moved := findMoves(st, here); len(moved) > 0 {
		return moved[0]
	}
	return checkPrevious(here, project)
}

// CheckUser returns an error for a data directory of another user. A missing one has no user.
func CheckUser(dataDir string) error {
	info, err := os.Stat(dataDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("inspect data directory: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return &UserError{DataDir: dataDir, UID: int(stat.Uid)}
	}
	return nil
}

// userName returns a user's name for display, and its form for sudo -u.
func userName(uid int) (name, sudo string) {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return fmt.Sprintf("%s (uid %d)", u.Username, uid), u.Username
	}
	return fmt.Sprintf("uid %d", uid), fmt.Sprintf("'#%d'", uid)
}

// A MovedError reports that a project was moved while its sessions name the old place.
type MovedError struct {
	From, To session.Owner
	Sessions []session.Address
}

// Error names both places and the remedy.
func (e *MovedError) Error() string {
	from, to := e.From.Project, e.To.Project
	if from == to {
		from, to = e.From.DataDir, e.To.DataDir
	}
	return fmt.Sprintf("the project was moved from %s to %s, and its sessions (%d) still refer to the old directory; nothing was changed\nto repair it, while its sessions keep running: agentform doctor --fix\nelse move it back",
		from, to, len(e.Sessions))
}

// Moved reports whether err means that the project was moved here. A move that could also be a copy
// counts if moved is true, by which a user confirms it.
func Moved(err error, moved bool) bool {
	if copied := (*state.CopiedError)(nil); errors.As(err, &copied) {
		return copied.Gone && moved
	}
	e := (*MovedError)(nil)
	return errors.As(err, &e)
}

// findMoves returns the moves in a state: records of this host and user with another data
// directory.
func findMoves(st state.State, here session.Owner) []*MovedError {
	var found []*MovedError
	for _, r := range st.Sessions {
		if r.Owner.Differs(here) != session.OtherDataDir {
			continue
		}
		i := slices.IndexFunc(found, func(m *MovedError) bool { return m.From.DataDir == r.Owner.DataDir })
		if i < 0 {
			i = len(found)
			found = append(found, &MovedError{From: r.Owner, To: here})
		}
		found[i].Sessions = append(found[i].Sessions, r.Address)
	}
	return found
}

// copiedFrom returns the data directory in the records, unless this one is that, renamed: this one
// is a copy, or was moved across file systems.
func copiedFrom(st state.State, here session.Owner) string {
	for _, r := range st.Sessions {
		o := r.Owner
		if o.Differs(here) == session.OtherDataDir && o.DataDirID != "" && o.DataDirID != fileid.Of(here.DataDir) {
			return o.DataDir
		}
	}
	return ""
}

// Relocate returns a moved session's record with its new paths. root and dataDir are the
// directories in the manifest.
func Relocate(r session.Record, here session.Owner, root, dataDir string) session.Record {
	pairs := [][2]string{{r.Owner.DataDir, dataDir}, {r.Owner.Project, root}}
	paths := []*string{&r.Tree.Repo, &r.Spec.Workspace.Repo}
	onDisk := r.Spec.Runtime.Traits().HostFiles // else the move did not change its paths
	if onDisk {
		paths = append(paths, &r.Tree.Path, &r.Spec.Workspace.Path)
	}
	if made := state.MadeIn(r.Tree); onDisk && made != "" && made != r.Owner.DataDir { // it was a link's path
		pairs = append(pairs, [2]string{made, dataDir})
		if inside, ok := strings.CutPrefix(r.Owner.DataDir, r.Owner.Project); ok {
			pairs = append(pairs, [2]string{strings.TrimSuffix(made, inside), root})
		}
	}
	// A repository that contains the project was moved with it.
	for old, now := r.Owner.Project, root; filepath.Base(old) == filepath.Base(now) && filepath.Dir(old) != old; {
		old, now = filepath.Dir(old), filepath.Dir(now)
		pairs = append(pairs, [2]string{old, now})
	}
	now := func(path string) string {
		for _, p := range pairs {
			rest, inside := strings.CutPrefix(path, p[0])
			if !inside || p[0] == "" || rest != "" && rest[0] != filepath.Separator {
				continue
			}
			if _, err := os.Lstat(p[1] + rest); err == nil {
				return p[1] + rest
			}
		}
		return path
	}
	for _, path := range paths {
		*path = now(*path)
	}
	r.Owner.Project, r.Owner.DataDir, r.Owner.DataDirID = here.Project, here.DataDir, fileid.Of(here.DataDir)
	return r
}

// projectFile is the suffix of a file next to a directory of sockets. It has the project and data
// directory of the sockets, so that a changed data_dir is detected while they exist.
const projectFile = ".project"

type socketOwner struct {
	Dir     string `json:"dir"`  // the project's directory
	Name    string `json:"name"` // the project's name
	DataDir string `json:"data_dir"`
}

// Keep writes the project file of a directory of sockets.
func Keep(sockets string, here session.Owner, project string) error {
	b, err := json.Marshal(socketOwner{Dir: here.Project, Name: project, DataDir: here.DataDir})
	if err != nil {
		return err
	}
	path := sockets + projectFile
	if now, err := os.ReadFile(path); err == nil && bytes.Equal(now, b) {
		return os.Chmod(path, 0o600) // it may have been opened to others
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return fmt.Errorf("record the owner of the sockets: %w", err)
	}
	return nil
}

// Abandoned returns the directories of sockets next to one whose data directory is gone, with that.
// It omits directories that are not empty, which may have servers.
func Abandoned(sockets string) map[string]string {
	all := map[string]string{}
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(sockets), "*"+projectFile)) // fails only for a bad pattern
	for _, path := range found {
		var u socketOwner
		b, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(b, &u) != nil || !filepath.IsAbs(u.DataDir) {
			continue
		}
		dir := strings.TrimSuffix(path, projectFile)
		inside, _ := os.ReadDir(dir) // missing: it is empty
		if _, err := os.Lstat(u.DataDir); errors.Is(err, os.ErrNotExist) && len(inside) == 0 {
			all[dir] = u.DataDir
		}
	}
	return all
}

// Forget removes an empty directory of sockets and its project file.
func Forget(sockets string) error {
	if err := os.Remove(sockets); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Remove(sockets + projectFile)
}

// A PreviousError reports that sessions are running with a previous data directory.
type PreviousError struct {
	Previous string // data directory
	Now      string
	Running  []session.Address
}

// Error names the sessions and the remedy.
func (e *PreviousError) Error() string {
	names := make([]string, len(e.Running))
	for i, a := range e.Running {
		names[i] = string(a)
	}
	return fmt.Sprintf("data_dir is now %s, and sessions of this project run with %s: %s; nothing was changed; set data_dir = %q again, or do so, run agentform destroy, and change it then",
		e.Now, e.Previous, strings.Join(names, ", "), e.Previous)
}

// checkPrevious searches for running sessions of the project in other data directories.
func checkPrevious(here session.Owner, project string) error {
	sockets, err := socketdir.Create(here.DataDir)
	if err != nil {
		return nil // any user of the sockets gets this error
	}
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(sockets), "*"+projectFile)) // fails only for a bad pattern
	for _, path := range found {
		var u socketOwner
		b, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(b, &u) != nil {
			continue
		}
		if u.Dir != here.Project || u.Name != project || u.DataDir == here.DataDir {
			continue
		}
		if addresses := running(u.DataDir); len(addresses) > 0 {
			return &PreviousError{Previous: u.DataDir, Now: here.DataDir, Running: addresses}
		}
	}
	return nil
}

// running returns the sessions of a data directory with a running agent, without querying runtimes:
// a container counts unless its end is recorded.
func running(dataDir string) []session.Address {
	st, err := state.Read(filepath.Join(dataDir, "state.json"))
	if err != nil {
		return nil
	}
	var found []session.Address
	for _, r := range st.Sessions {
		f, _ := rundir.ReadLiveness(layout.Data{Dir: dataDir}.Run(r.Run.ID)) // unreadable means not running
		contained := r.Location.Container != "" && f.Exit == nil && r.Run.EndedAt.IsZero()
		if r.Run.ID != "" && (contained || f.Agent.Alive() || f.Shim.Alive()) {
			found = append(found, r.Address)
		}
	}
	return found
}
