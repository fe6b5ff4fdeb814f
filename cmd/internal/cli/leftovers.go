package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// The kinds of what can be left over.
const (
	kindWorkspace = "workspace"
	kindRun       = "run"
	kindPrompt    = "prompt"
	kindGuest     = "guest"
	kindSocket    = "socket"
)

// search is a look for what is left over.
type search struct {
	*project
	sockets string
	state   state.State
	lives   []session.Live
	runs    map[string]bool // that are needed
	blind   bool            // what there is in containers cannot be told
	found   []view.Leftover
}

// leftovers finds what is in the project's folders and no session needs, on record
// or live. What cannot be seen to be needless is not among it; an error says that
// it cannot be known at all what lives.
func (a *app) leftovers(ctx context.Context, p *project, s state.State) ([]view.Leftover, error) {
	x := &search{project: p, state: s, runs: map[string]bool{}}
	var err error
	if x.sockets, err = shim.SocketDir(p.manifest.DataDir); err != nil {
		return nil, err
	}
	rt, err := a.reconciler(p, toLook).For(session.Spec{Runtime: session.RuntimeSpec{Kind: "tmux"}})
	if err == nil {
		x.lives, err = rt.Observe(ctx, false)
	}
	if err != nil {
		return nil, fmt.Errorf("it cannot be told what is needed: %w", err)
	}
	a.askEngines(ctx, x)
	for _, r := range s.Sessions {
		x.runs[r.Run.ID] = true
		for _, id := range r.Past { // the session's next restarts remove them
			x.runs[id] = true
		}
	}
	for _, l := range x.lives {
		x.runs[l.Mark.Run] = true
	}
	x.workspaces(ctx)
	x.oldRuns()
	x.oldContainers()
	x.prompts()
	x.guests()
	x.deadSockets(ctx)
	return x.found, nil
}

func (x *search) add(kind, path, action, reason string) {
	x.found = append(x.found, view.Leftover{Kind: kind, Path: path, Bytes: weight(path), Action: action, Reason: reason})
}

// weight is how many bytes the files below a path have, as far as they can be
// read.
func weight(path string) (n int64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil // what cannot be read weighs nothing
	})
	return n
}

// workspaces are those that agentform made and no session on record works in.
func (x *search) workspaces(ctx context.Context) {
	used := map[string]bool{}
	for _, r := range x.state.Sessions {
		used[r.Tree.Path] = true
	}
	all := filepath.Join(x.manifest.DataDir, "workspaces")
	for _, of := range entries(all) {
		in := filepath.Join(all, of.Name())
		if !of.IsDir() {
			continue
		}
		if !config.IsWorkspaceName(of.Name()) {
			if !slices.ContainsFunc(x.state.Sessions, func(r session.Record) bool { return below(r.Tree.Path, in) }) {
				x.add(kindWorkspace, in, view.LeftKept, "agentform did not make it")
			}
			continue
		}
		for _, e := range entries(in) {
			if path := filepath.Join(in, e.Name()); e.IsDir() && !used[path] {
				action, reason := x.workspace(ctx, path)
				x.add(kindWorkspace, path, action, reason)
			}
		}
	}
}

// below reports whether path is folder, or below it.
func below(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+string(filepath.Separator))
}

func (x *search) workspace(ctx context.Context, path string) (action, reason string) {
	for _, l := range x.lives {
		if below(l.Dir, path) {
			return view.LeftKept, fmt.Sprintf("%s, which is not on record, lives in it", l.Place.Name)
		}
	}
	co := lookUnused(path)
	switch {
	case co.Err != nil:
		return view.LeftKept, "it cannot be told what is in it: " + co.Err.Error()
	case co.Empty:
		return view.LeftToRemove, "it is empty"
	case !co.Git:
		return view.LeftKept, "it is not in git, so nothing tells what would be lost"
	case co.Repo == filepath.Join(path, ".git"):
		return view.LeftKept, "it is a clone: what it holds may be nowhere else, and agentform runs no git in it; look, and remove it by hand"
	}
	risk, err := git.AtRisk(ctx, path, co.Repo)
	switch {
	case err != nil:
		return view.LeftKept, "it cannot be told what would be lost: " + err.Error()
	case risk.Any():
		return view.LeftKept, "it holds " + risk.String()
	case co.Branch == "":
		return view.LeftToRemove, "it is clean"
	}
	return view.LeftToRemove, "it is clean; its branch " + co.Branch + " stays"
}

// lookUnused is a workspace that no session is on record for: whose agent it was,
// and how far that is to be trusted, is not known. One with a git folder of its own
// is a clone, and is only looked at.
func lookUnused(path string) session.Checkout {
	if info, err := os.Lstat(filepath.Join(path, ".git")); err == nil && info.IsDir() {
		return git.LookClone(path)
	}
	return git.Look(path)
}

// oldRuns are the folders of runs that are over.
func (x *search) oldRuns() {
	for _, e := range entries(filepath.Join(x.manifest.DataDir, "runs")) {
		path := x.runDir(e.Name())
		if x.runs[e.Name()] || !e.IsDir() {
			continue
		}
		f, err := shim.ReadFacts(path)
		switch {
		case f.Guest.Alive() || f.Agent.Alive():
			x.runs[e.Name()] = true
			x.add(kindRun, path, view.LeftKept, "a process of it lives")
		case err != nil:
			x.add(kindRun, path, view.LeftToRemove, "no session needs it; it is damaged")
		default:
			x.add(kindRun, path, view.LeftToRemove, "no session needs it")
		}
	}
}

// prompts are the texts that neither a record nor a needed run names.
func (x *search) prompts() {
	used := map[string]bool{}
	for _, r := range x.state.Sessions {
		used[r.Spec.Prompt.Digest], used[r.Run.PromptSHA] = true, true
	}
	for run := range x.runs {
		if spec := x.launched(run); spec != nil {
			used[spec.Prompt.Digest] = true
		}
	}
	for _, e := range entries(filepath.Join(x.manifest.DataDir, "blobs")) {
		if e.Type().IsRegular() && !used[e.Name()] {
			x.add(kindPrompt, filepath.Join(x.manifest.DataDir, "blobs", e.Name()), view.LeftToRemove, "no session has it")
		}
	}
}

// guests are the guests' programs but for the newest, those that run, and those that
// a container has mounted, running or not.
func (x *search) guests() {
	mounted, err := docker.Programs(x.manifest.DataDir)
	if err != nil {
		return
	}
	dir := filepath.Join(x.manifest.DataDir, "bin")
	used := map[string]bool{}
	for _, program := range mounted {
		used[program] = true
	}
	for run := range x.runs {
		f, _ := shim.ReadFacts(x.runDir(run))     // what cannot be read names no process
		if x.contained(run) || !f.Guest.Alive() { // a container numbers its processes otherwise
			continue
		}
		program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", f.Guest.PID))
		if err != nil || runtime.GOOS != "linux" {
			return // which program it is cannot be told
		}
		used[program] = true
	}
	newest, at := "", time.Time{}
	var all []string
	for _, e := range entries(dir) {
		path := filepath.Join(dir, e.Name())
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), "guest-") {
			continue
		}
		all = append(all, path)
		if info.ModTime().After(at) {
			newest, at = path, info.ModTime()
		}
	}
	for _, path := range all {
		if path != newest && !used[path] {
			x.add(kindGuest, path, view.LeftToRemove, "a newer one is there, and no session needs it")
		}
	}
}

// deadSockets are those of servers and guests that have gone, and links to servers
// on which nothing of ours is.
func (x *search) deadSockets(ctx context.Context) {
	needed := map[string]bool{}
	for _, l := range x.lives {
		needed[l.Place.Socket] = true
	}
	for _, e := range entries(x.sockets) {
		path := filepath.Join(x.sockets, e.Name())
		prefix, run, _ := strings.Cut(e.Name(), "-")
		switch {
		case prefix == "tmux" && e.Type() == os.ModeSymlink:
			if to, err := os.Readlink(path); err == nil && !needed[to] {
				x.add(kindSocket, path, view.LeftToRemove, "nothing of ours is on "+to)
			}
		case (prefix == "tmux" || prefix == server.SocketName) && e.Type() == os.ModeSocket, prefix == "g" && e.Type() == os.ModeSocket && !x.runs[run]:
			if deaf(ctx, path) {
				x.add(kindSocket, path, view.LeftToRemove, "nobody listens on it")
			}
		case prefix == "s" && e.Type().IsRegular() && !x.runs[run]:
			x.add(kindSocket, path, view.LeftToRemove, "secrets of a run that never began")
		}
	}
}

// deaf reports whether it is certain that nobody listens on a socket.
func deaf(ctx context.Context, path string) bool {
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", path)
	if err == nil {
		conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// entries are what is in a folder; none if it cannot be read.
func entries(dir string) []os.DirEntry {
	all, _ := os.ReadDir(dir)
	return all
}
