// Package prune finds and removes what is left of sessions in a project's data directory and among
// its sockets.
package prune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentform/agentform/cmd/internal/owner"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/shim/install"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

// Leftover is something that no session in the state needs.
type Leftover struct {
	Kind   Kind   `json:"kind"`
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	Action Action `json:"action"`
	Reason string `json:"reason"`

	repo string // of a branch
	ref  git.Ref
	held *held // a volume
	gone bool  // the directory of the sockets of a project that is gone
}

// Kind is the kind of a Leftover.
type Kind string

// The kinds.
const (
	Workspace Kind = "workspace"
	Run       Kind = "run"
	Prompt    Kind = "prompt"
	Shim      Kind = "shim" // a version of it
	Socket    Kind = "socket"
	Branch    Kind = "branch"    // the path is the full name of its ref
	Volume    Kind = "volume"    // the path is its name in its runtime
	Container Kind = "container" // of a command; the path is its name
)

// Action is what happens to a Leftover.
type Action string

// The actions.
const (
	Remove  Action = "remove" // not done yet
	Removed Action = "removed"
	Keep    Action = "keep"
	Failed  Action = "failed"
)

// Input is the project to search.
type Input struct {
	DataDir   string
	HubSocket string // in the directory of the project's sockets
	Records   []session.Record
	Runtime   func(session.RuntimeSpec) (session.Runtime, error)
	Runtimes  []session.RuntimeSpec // in the manifest
	Launched  func(run string) *session.Spec
	Merged    bool   // also find merged branches
	Repo      string // the project's; empty: it has none
}

type search struct {
	Input
	lives     []session.Live
	runs      map[string]bool // still needed
	noEngines bool            // an engine did not answer, so containers are kept
	found     []Leftover
	checkouts []session.Checkout // to be removed, with a branch
}

// Find omits what may be needed, and fails if tmux does not list the running sessions.
func Find(ctx context.Context, in Input) ([]Leftover, error) {
	x := &search{Input: in, runs: map[string]bool{}}
	rt, err := in.Runtime(session.RuntimeSpec{Kind: "tmux"})
	if err == nil {
		x.lives, err = rt.Observe(ctx, false)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot determine what is needed: %w", err)
	}
	x.observeContainers(ctx)
	x.volumes(ctx)
	for _, r := range in.Records {
		for _, id := range append([]string{r.Run.ID}, r.Past...) { // later restarts remove past ones
			x.runs[id] = true
		}
	}
	for _, l := range x.lives {
		x.runs[l.Mark.Run] = true
	}
	x.workspaces(ctx)
	x.oldRuns()
	x.copies()
	x.containers()
	x.prompts()
	x.shims()
	x.sockets(ctx)
	if in.Merged {
		return x.found, x.branches(ctx)
	}
	return x.found, nil
}

// Apply removes what was approved and is still among found, and sets the actions.
func Apply(ctx context.Context, found, approved []Leftover) {
	agreed := map[string]bool{}
	for _, l := range approved {
		agreed[l.Path] = l.Action == Remove
	}
	for i := range found {
		l := &found[i]
		if l.Action != Remove || !agreed[l.Path] {
			continue
		}
		l.Action = Removed
		if err := remove(ctx, *l); err != nil {
			l.Action, l.Reason = Failed, err.Error()
			if risky := (*git.RiskError)(nil); errors.As(err, &risky) {
				l.Action, l.Reason = Keep, "it holds "+risky.Risk.String()
			}
		}
	}
}

func remove(ctx context.Context, l Leftover) error {
	switch l.Kind {
	case Workspace:
		if co := inspect(l.Path); co.Git {
			if err := git.RemoveWorktree(ctx, co.Repo, l.Path); err != nil {
				return err
			}
		} else if err := os.Remove(l.Path); err != nil { // fails if it is not empty
			return err
		}
		_ = os.Remove(filepath.Dir(l.Path)) // likewise: another branch's directory may be there
		return nil
	case Volume:
		return l.held.remove(ctx)
	case Run:
		return rundir.Remove(l.Path)
	case Branch:
		return git.DeleteRef(ctx, l.repo, l.ref.Name, l.ref.Commit)
	}
	if l.gone {
		return owner.Forget(l.Path)
	}
	return os.Remove(l.Path)
}

func (x *search) add(kind Kind, path string, action Action, reason string) {
	x.found = append(x.found, Leftover{Kind: kind, Path: path, Bytes: size(path), Action: action, Reason: reason})
}

func (x *search) data() layout.Data { return layout.Data{Dir: x.DataDir} }

// size counts the files that can be read.
func size(path string) (n int64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

func (x *search) workspaces(ctx context.Context) {
	used := map[string]bool{}
	for _, r := range x.Records {
		used[r.Tree.Path] = true
	}
	for _, of := range entries(x.data().Workspaces()) {
		dir := filepath.Join(x.data().Workspaces(), of.Name())
		if !of.IsDir() {
			continue
		}
		if !config.IsWorkspaceName(of.Name()) {
			if !slices.ContainsFunc(x.Records, func(r session.Record) bool { return within(r.Tree.Path, dir) }) {
				x.add(Workspace, dir, Keep, "not created by agentform")
			}
			continue
		}
		for _, e := range entries(dir) {
			if path := filepath.Join(dir, e.Name()); e.IsDir() && !used[path] {
				action, reason := x.workspace(ctx, path)
				x.add(Workspace, path, action, reason)
			}
		}
	}
}

// within reports whether path is dir, or in it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+string(filepath.Separator))
}

func (x *search) workspace(ctx context.Context, path string) (Action, string) {
	for _, l := range x.lives {
		if within(l.Dir, path) {
			return Keep, fmt.Sprintf("%s, which is not in the state, runs in it", l.Location.Name)
		}
	}
	co := inspect(path)
	switch {
	case co.Err != nil:
		return Keep, "cannot be read: " + co.Err.Error()
	case co.Empty:
		return Remove, "empty"
	case !co.Git:
		return Keep, "not in git, so unsaved work cannot be detected"
	case co.Repo == filepath.Join(path, ".git"):
		return Keep, "a clone: its commits may be nowhere else, and agentform runs no git in it; inspect it and remove it manually"
	}
	risk, err := git.AtRisk(ctx, path, co.Repo)
	switch {
	case err != nil:
		return Keep, "cannot check for unsaved work: " + err.Error()
	case risk.Any():
		return Keep, "it holds " + risk.String()
	case co.Branch == "":
		return Remove, "clean"
	}
	x.checkouts = append(x.checkouts, co)
	if x.Merged { // its branch has its own entry
		return Remove, "clean"
	}
	return Remove, "clean; branch " + co.Branch + " is kept"
}

// inspect never runs git in a clone, since it is not known how far its agent is trusted.
func inspect(path string) session.Checkout {
	if info, err := os.Lstat(filepath.Join(path, ".git")); err == nil && info.IsDir() {
		return git.LookClone(path)
	}
	return git.Look(path)
}

func (x *search) oldRuns() {
	for _, e := range entries(x.data().Runs()) {
		path := x.data().Run(e.Name())
		if x.runs[e.Name()] || !e.IsDir() {
			continue
		}
		f, err := rundir.ReadFacts(path)
		switch {
		case f.Shim.Alive() || f.Agent.Alive():
			x.runs[e.Name()] = true
			x.add(Run, path, Keep, "one of its processes is running")
		case err != nil:
			x.add(Run, path, Remove, "unused; damaged")
		default:
			x.add(Run, path, Remove, "unused")
		}
	}
}

// ids returns the ids of the recorded sessions.
func (x *search) ids() map[string]bool {
	all := map[string]bool{}
	for _, r := range x.Records {
		all[r.ID] = true
	}
	return all
}

// copies finds copies of session files that belong to no recorded session.
func (x *search) copies() {
	used := x.ids()
	for _, e := range entries(x.data().Copies()) {
		if !used[e.Name()] {
			x.add(Run, x.data().Copy(e.Name()), Remove, "unused")
		}
	}
}

// observeContainers does nothing for a project that never had a container.
func (x *search) observeContainers(ctx context.Context) {
	if len(entries(x.data().Containers())) == 0 {
		return
	}
	engines := map[string]session.RuntimeSpec{}
	for _, r := range x.Records {
		if !r.Spec.Runtime.Traits().HostProcesses {
			engines[r.Spec.Runtime.Engine()] = r.Spec.Runtime
		}
	}
	if len(engines) == 0 { // a container without a record may have left something
		engines["docker"] = session.RuntimeSpec{Kind: "docker"}
	}
	for _, spec := range engines {
		rt, err := x.Runtime(spec)
		var lives []session.Live
		if err == nil {
			lives, err = rt.Observe(ctx, false)
		}
		if err != nil {
			x.noEngines = true
			return
		}
		x.lives = append(x.lives, lives...)
	}
}

func (x *search) contained(run string) bool {
	to, err := os.Readlink(x.data().Run(run))
	return err == nil && to != x.data().Containers() && within(to, x.data().Containers())
}

func (x *search) containers() {
	if x.noEngines {
		return
	}
	used := x.ids()
	for _, l := range x.lives {
		used[l.Mark.ID] = true
	}
	for _, e := range entries(x.data().Containers()) {
		if e.IsDir() && !used[e.Name()] {
			x.add(Run, x.data().Container(e.Name()).Dir, Remove, "its container no longer exists")
		}
	}
	for _, e := range entries(x.data().Runs()) {
		if !x.runs[e.Name()] && x.contained(e.Name()) {
			x.add(Run, x.data().Run(e.Name()), Remove, "unused")
		}
	}
}

func (x *search) prompts() {
	used := map[string]bool{}
	for _, r := range x.Records {
		used[r.Spec.Prompt.Digest], used[r.Run.PromptSHA] = true, true
		if r.Fallback != nil {
			used[r.Fallback.Prompt] = true
		}
	}
	for run := range x.runs {
		if spec := x.Launched(run); spec != nil {
			used[spec.Prompt.Digest] = true
		}
	}
	for _, e := range entries(x.data().Blobs()) {
		if e.Type().IsRegular() && !used[e.Name()] {
			x.add(Prompt, filepath.Join(x.data().Blobs(), e.Name()), Remove, "unused")
		}
	}
}

// shims keeps the newest versions, those that are running, and those that a container has mounted.
func (x *search) shims() {
	mounted, err := docker.Programs(x.DataDir)
	if err != nil {
		return
	}
	used := map[string]bool{}
	for _, program := range mounted {
		used[program] = true
	}
	for run := range x.runs {
		f, _ := rundir.ReadFacts(x.data().Run(run)) // if unreadable, it has no process
		if x.contained(run) || !f.Shim.Alive() {    // a container has its own pids
			continue
		}
		program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", f.Shim.PID))
		if err != nil || runtime.GOOS != "linux" {
			return // the version is unknown
		}
		used[program] = true
	}
	written := map[string]time.Time{}
	for _, e := range entries(x.data().Programs()) {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), install.Prefix) {
			written[filepath.Join(x.data().Programs(), e.Name())] = info.ModTime()
		}
	}
	all := slices.SortedFunc(maps.Keys(written), func(a, b string) int {
		return cmp.Or(written[b].Compare(written[a]), strings.Compare(a, b))
	})
	newest := map[string]bool{}
	for _, path := range all {
		if kind := install.Kind(filepath.Base(path)); newest[kind] && !used[path] {
			x.add(Shim, path, Remove, "unused; a newer one exists")
		} else {
			newest[kind] = true
		}
	}
}

// sockets also finds the secrets of runs that never started, and the empty directories of projects
// that are gone.
func (x *search) sockets(ctx context.Context) {
	needed := map[string]bool{}
	for _, l := range x.lives {
		needed[l.Location.Socket] = true
	}
	dir := filepath.Dir(x.HubSocket)
	for _, e := range entries(dir) {
		path := filepath.Join(dir, e.Name())
		prefix, run, _ := strings.Cut(e.Name(), "-")
		switch {
		case prefix == "tmux" && e.Type() == os.ModeSymlink:
			if to, err := os.Readlink(path); err == nil && !needed[to] {
				x.add(Socket, path, Remove, "no managed session is on "+to)
			}
		case e.Type() == os.ModeSocket && (prefix == "tmux" || path == x.HubSocket || prefix == "g" && !x.runs[run]):
			if dead(ctx, path) {
				x.add(Socket, path, Remove, "nobody listens on it")
			}
		case prefix == "s" && e.Type().IsRegular() && !x.runs[run]:
			x.add(Socket, path, Remove, "secrets of a run that never started")
		}
	}
	abandoned := owner.Abandoned(dir)
	for _, path := range slices.Sorted(maps.Keys(abandoned)) {
		x.found = append(x.found, Leftover{Kind: Socket, Path: path, Action: Remove, Reason: "its project is gone from " + abandoned[path], gone: true})
	}
}

// dead reports whether certainly no process listens on a socket.
func dead(ctx context.Context, path string) bool {
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", path)
	if err == nil {
		conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// entries ignores a directory that cannot be read.
func entries(dir string) []os.DirEntry {
	all, _ := os.ReadDir(dir)
	return all
}
