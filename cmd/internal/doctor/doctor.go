// Package doctor examines an installation, a project and its sessions.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/agentform/agentform/cmd/internal/owner"
	"github.com/agentform/agentform/cmd/internal/preflight"
	"github.com/agentform/agentform/cmd/internal/rebuild"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/remedy"
	"github.com/agentform/agentform/internal/sharedstate"
	"github.com/agentform/agentform/internal/shim/install"
	"github.com/agentform/agentform/internal/shim/socketdir"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Level is the severity of a finding.
type Level string

// The levels.
const (
	Fine    Level = "ok"
	Warning Level = "warning" // something does not work, or not well
	Fault   Level = "error"   // agentform cannot do its work
)

// Finding is the result of one check.
type Finding struct {
	Level   Level  `json:"level"`
	Subject string `json:"subject"` // tmux, state file, session.api
	Problem string `json:"problem"` // what is wrong or, if nothing is, what was found
	Remedy  string `json:"remedy"`  // what to do; empty: nothing is wrong
}

type findings []Finding

func (f *findings) fine(subject, found string) { *f = append(*f, Finding{Fine, subject, found, ""}) }

func (f *findings) warn(subject, problem, remedy string) {
	*f = append(*f, Finding{Warning, subject, problem, remedy})
}

func (f *findings) fault(subject, problem, remedy string) {
	*f = append(*f, Finding{Fault, subject, problem, remedy})
}

// Input is the project to examine.
type Input struct {
	preflight.Host
	Problems   []session.Diagnostic // of the manifest
	State      string               // the path of the state file
	Owner      session.Owner
	Shared     bool // the state is in a backend
	User       string
	Check      func(state.State) error // returns an error for a state of another owner
	Reconciler *engine.Engine
	// Change changes the state under its lock. It accepts a moved project.
	Change func(context.Context, func(*state.Store) error) error
	// Notify sends a test notification. It is nil if none should be sent.
	Notify func(context.Context, config.Notify) error
}

// Project examines a project. moved means that the user has moved the project, if it could also be
// a copy.
func Project(ctx context.Context, in Input, fix, moved bool) []Finding {
	var f findings
	f.program(ctx, in, "tmux", "-V", "sessions run in it: install tmux 3.2 or later (apt-get install tmux, brew install tmux)")
	f.program(ctx, in, "git", "--version", "worktrees need it: install git 2.30 or later (apt-get install git, brew install git)")
	f.shim()
	f.manifest(in)
	if fix {
		f.fixDotfiles(in)
		f.repairMove(ctx, in, moved)
	}
	f.agents(ctx, in)
	f.notifications(ctx, in)
	f.dataDir(ctx, in)
	st, refused := f.state(in)
	if h, runs := hub.Running(in.Manifest.DataDir); runs && hub.Suspended(h) {
		f.warn("hub", fmt.Sprintf("process %d is stopped (SIGSTOP or Ctrl-Z): it does not restart or notify anything", h.PID), fmt.Sprintf("kill -CONT %d", h.PID))
	}
	if !refused {
		f.orphans(ctx, in, st)
		f.unreachable(ctx, in, st)
		f.unusedWorkspaces(in, st)
	}
	return f
}

func (f *findings) program(ctx context.Context, in Input, name, versionFlag, remedy string) {
	path, found := in.Environ.Program(name, in.Dir)
	if !found {
		f.fault(name, "not on PATH", remedy)
		return
	}
	c := exec.CommandContext(ctx, path, versionFlag)
	c.Env = in.Environ
	out, err := c.Output()
	if err != nil {
		f.fault(name, fmt.Sprintf("%s %s: %v", path, versionFlag, err), remedy)
		return
	}
	f.fine(name, strings.TrimSpace(string(out))+" ("+path+")")
}

func (f *findings) shim() {
	self, err := os.Executable()
	if err == nil && environ.Executable(filepath.Join(filepath.Dir(self), install.Binary)) {
		f.fine(install.Binary, "next to agentform")
		return
	}
	f.warn(install.Binary, "not found next to agentform; agentform is used instead and needs more memory",
		"install both programs: go install ./cmd/agentform...")
}

func (f *findings) manifest(in Input) {
	m := in.Manifest
	faults, _ := status.Severities(in.Problems)
	switch {
	case len(faults) > 0 && len(m.Files) == 0:
		f.warn("manifest", "not found in "+m.Root, "agentform init creates a starter manifest")
	case len(faults) > 0:
		f.fault("manifest", plaintext.Count(len(faults), "error"), "agentform validate shows them")
	default:
		f.fine("manifest", plaintext.Count(len(m.Sessions), "session")+" in "+plaintext.Count(len(m.Files), "file"))
	}
}

func (f *findings) fixDotfiles(in Input) {
	for _, d := range in.Dotfiles(in.Manifest.Sessions) {
		if err := d.Write(); err != nil {
			f.fault(d.Path, err.Error(), "fix the file and run agentform doctor --fix again")
			continue
		}
		f.fine(d.Path, "written. Without the added settings, "+d.Problem)
	}
}

// repairMove repairs worktrees, sockets and the paths in the state of a moved project.
func (f *findings) repairMove(ctx context.Context, in Input, moved bool) {
	st, err := state.Read(in.State)
	refusal := in.Check(st)
	across := !owner.Moved(refusal, false)
	ours := func(r session.Record) bool {
		if in.Shared && r.Spec.Runtime.Traits().Everywhere {
			return false // it has no path of a checkout
		}
		if in.Shared && !sharedstate.Mine(r, in.Owner) { // of another checkout, unless its directory is this one
			return moved && r.Owner.Replaced(in.Owner) && r.Owner.Differs(in.Owner) == session.OtherDataDir
		}
		return r.Owner.Differs(in.Owner) == session.OtherDataDir
	}
	replaced := in.Shared && refusal == nil && slices.ContainsFunc(st.Sessions, ours)
	if err != nil || !owner.Moved(refusal, moved) && !replaced {
		return // state reports other errors
	}
	repaired := 0
	err = in.Change(ctx, func(store *state.Store) error {
		st := store.State()
		trees := map[string][]string{} // by repository
		for i, r := range st.Sessions {
			if !ours(r) {
				continue
			}
			r = owner.Relocate(r, in.Owner, in.Manifest.Root, in.Manifest.DataDir)
			if st.Sessions[i] = r; r.Tree.Mode == session.Worktree && exists(r.Tree.Path) {
				trees[r.Tree.Repo] = append(trees[r.Tree.Repo], r.Tree.Path)
			}
			repaired++
		}
		for repo, paths := range trees {
			if err := git.RepairWorktrees(ctx, repo, paths...); err != nil {
				return err
			}
		}
		if err := socketdir.RememberMoved(in.Manifest.DataDir); err != nil {
			return err
		}
		if err := docker.Moved(in.Manifest.DataDir); err != nil {
			return err
		}
		return store.Push(st, false)
	})
	if err != nil {
		f.fault("project", "the move could not be repaired: "+err.Error(), "")
		return
	}
	f.fine("project", fmt.Sprintf("repaired after it was moved here: %s", plaintext.Count(repaired, "session")))
	if across {
		f.warn("project", "agents that have been running since before the move work in directories that no longer exist", "agentform restart --all")
	}
}

func (f *findings) dataDir(ctx context.Context, in Input) {
	dir := in.Manifest.DataDir
	at := dir
	for !exists(at) && filepath.Dir(at) != at {
		at = filepath.Dir(at)
	}
	if err := checkWritable(at); err != nil {
		f.fault("data directory", "not writable: "+err.Error(), "fix its owner and mode (chown, chmod), or use another: agentform { data_dir = \"…\" }")
	} else if f.room("data directory", at, dataRoom) {
		f.fine("data directory", dir)
	}
	if exists(dir) {
		if n := git.Tracked(ctx, dir); n > 0 {
			f.warn("data directory", plaintext.Count(n, "file")+" in git's index, so commits contain them",
				"remove them from the index: git -C "+plaintext.ShellWord(filepath.Dir(dir))+" rm -r --cached "+plaintext.ShellWord(filepath.Base(dir)))
		}
	}
	if sockets, err := socketdir.Create(dir); err != nil {
		f.fault("socket directory", err.Error(), "set XDG_RUNTIME_DIR to a short directory of your own")
	} else if f.room("socket directory", sockets, socketRoom) {
		f.fine("socket directory", sockets)
	}
}

// checkWritable writes a file: permissions say nothing about root or a read-only mount.
// What disks must have free, in bytes: a start writes the shim, of 3 MB, the state and logs,
// and beside sockets, which may be on a small disk in memory, only secrets.
const (
	dataRoom   = 10e6
	socketRoom = 100e3
)

// room reports whether the disk of a directory has that much free space.
func (f *findings) room(subject, dir string, least int64) bool {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return true // unknown
	}
	free := int64(disk.Bavail) * int64(disk.Bsize)
	if free >= least && (disk.Files == 0 || disk.Ffree > 0) { // btrfs does not count files
		return true
	}
	problem := "its disk is full: " + plaintext.Bytes(free) + " are free"
	if free >= least {
		problem = "its disk has no room for another file (no inodes are free)"
	}
	f.fault(subject, problem, "agents cannot be started, and changes not recorded; make room: agentform prune lists what no session needs")
	return false
}

func checkWritable(dir string) error {
	file, err := os.CreateTemp(dir, ".agentform-doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// state also reports whether the state may not be used here.
func (f *findings) state(in Input) (st state.State, refused bool) {
	s, err := state.Read(in.State)
	if err != nil {
		st.Lineage, _ = state.Lineage(in.State, in.Manifest.OutputsDir) // if unknown, every session with a mark is examined
	}
	refusal := err
	if copied := (*state.CopiedError)(nil); !errors.As(err, &copied) {
		refusal = in.Check(s)
	}
	if refusal != nil {
		f.fault("state", refusal.Error(), "")
		return st, true
	}
	switch {
	case errors.Is(err, state.ErrNone):
		if problem, remedy := rebuild.Lost(in.Manifest, in.State); problem != "" {
			f.warn("state", problem, remedy)
		} else {
			f.fine("state", "none yet")
		}
	case errors.Is(err, fs.ErrPermission):
		f.fault("state", err.Error(), "fix its owner: sudo chown -R "+in.User+" "+in.Manifest.DataDir)
	case err != nil:
		f.fault("state", err.Error(), "agentform state rebuild restores it from the sessions' own records")
	default:
		st = s
		f.fine("state", fmt.Sprintf("%s in the state, serial %d", plaintext.Count(len(s.Sessions), "session"), s.Serial))
		for _, r := range s.Sessions {
			if d := engine.Diagnose(&r, nil, session.World{Here: in.Owner, Shared: in.Shared}); d.Reason == plan.ReasonElsewhere {
				fix := ""
				if in.Shared {
					fix = remedy.With("", plan.Elsewhere(r, in.Owner))
				}
				f.warn(string(r.Address), d.Detail, strings.TrimLeft(fix, "\n; "))
			}
		}
	}
	return st, false
}

func (f *findings) unusedWorkspaces(in Input, st state.State) {
	used := map[string]bool{}
	for _, r := range st.Sessions {
		used[r.Tree.Path] = true
	}
	for _, s := range in.Manifest.Sessions {
		used[s.Workspace.Path] = true
	}
	found, _ := filepath.Glob(filepath.Join(layout.Data{Dir: in.Manifest.DataDir}.Workspaces(), "*", "*")) // fails only for a bad pattern
	for _, path := range found {
		if !used[path] {
			f.warn("workspace", path+" is unused: no session in the state or the manifest has it", "agentform prune shows unsaved work in it, and removes it if there is none")
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
