package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// host is a world to look at, and a note of what was asked of it.
type host struct {
	runtimes  map[string]session.Runtime
	checkouts map[string]session.Checkout
	worktrees error

	mu                   sync.Mutex
	opened, repos, facts []string
}

func (h *host) note(list *[]string, s string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*list = append(*list, s)
	slices.Sort(*list)
}

func (h *host) eyes() engine.Observer {
	return engine.Observer{
		Runtime: func(s session.RuntimeSpec) (session.Runtime, error) {
			h.note(&h.opened, s.Key())
			if rt := h.runtimes[s.Key()]; rt != nil {
				return rt, nil
			}
			return nil, errors.New("not installed")
		},
		Look: func(path string) session.Checkout {
			c := h.checkouts[path]
			c.Path = path
			return c
		},
		LookClone: func(path string) session.Checkout {
			c := h.checkouts[path]
			c.Path, c.Repo = path, "apart"
			return c
		},
		Worktrees: func(_ context.Context, repo string) ([]session.Held, error) {
			h.note(&h.repos, repo)
			return []session.Held{{Path: repo, Branch: "main"}}, h.worktrees
		},
		Facts: func(run string) session.RunFacts {
			h.note(&h.facts, run)
			return session.RunFacts{Claimed: true}
		},
		Launched: func(run string) *session.Spec {
			s := spec(run, "tmux", "/repo", run)
			return &s
		},
		BootID: func() string { return "boot" },
		Now:    func() time.Time { return time.Unix(7, 0) },
	}
}

func spec(name, runtime, repo, branch string) session.Spec {
	return session.Spec{
		Address: session.Single(name), Branch: branch, Runtime: session.RuntimeSpec{Kind: runtime},
		Workspace: session.Workspace{Mode: session.Worktree, Repo: repo, Path: "/w/" + name},
	}
}

func record(s session.Spec, run string) session.Record {
	return session.Record{Address: s.Address, ID: s.Address.Slug(), Spec: s, Run: session.Run{ID: run},
		Tree: session.WorkspaceState{Path: s.Workspace.Path, Repo: s.Workspace.Repo, Branch: s.Branch, Mode: s.Workspace.Mode}}
}

func standing(branch string) session.Checkout {
	return session.Checkout{Exists: true, Git: true, Branch: branch}
}

func TestEachRuntimeIsAskedOnce(t *testing.T) {
	tmux := sessiontest.New("line")
	tmux.Plant(session.Live{Mark: session.Mark{Project: "line", Run: "r1"}, Location: session.Location{Name: "a"}, Screen: "$"})
	h := &host{runtimes: map[string]session.Runtime{"tmux": tmux}}
	moved := record(spec("c", "docker", "", ""), "")
	moved.Location.Runtime = "tmux"
	w := h.eyes().World(t.Context(), []session.Spec{spec("a", "scripted", "", ""), spec("b", "scripted", "", "")}, []session.Record{moved}, true)

	if diff := cmp.Diff([]string{"docker", "scripted", "tmux"}, h.opened); diff != "" {
		t.Errorf("runtimes opened: %s", diff)
	}
	if len(tmux.Calls(sessiontest.OpObserve)) != 1 {
		t.Errorf("tmux was asked %d times", len(tmux.Calls(sessiontest.OpObserve)))
	}
	if err, asked := w.Runtimes["tmux"]; err != nil || !asked {
		t.Errorf("tmux: %v, asked %v", err, asked)
	}
	if w.Runtimes["docker"] == nil || w.Runtimes["scripted"] == nil {
		t.Errorf("what cannot be opened has no error: %v", w.Runtimes)
	}
	if len(w.Lives) != 1 || w.Lives[0].Screen != "$" {
		t.Errorf("lives: %+v", w.Lives)
	}
	if w.BootID != "boot" || !w.At.Equal(time.Unix(7, 0)) {
		t.Errorf("boot %q at %v", w.BootID, w.At)
	}
}

func TestRuntimeThatDoesNotAnswer(t *testing.T) {
	down := sessiontest.New("")
	down.Faults.Unreachable(errors.New("no server"))
	h := &host{runtimes: map[string]session.Runtime{"tmux": down}}
	w := h.eyes().World(t.Context(), []session.Spec{spec("a", "tmux", "", "")}, nil, false)
	if w.Runtimes["tmux"] == nil {
		t.Error("its error is lost")
	}
}

// dozing is a runtime that takes its time to open.
func dozing(d time.Duration, rt session.Runtime) func(session.RuntimeSpec) (session.Runtime, error) {
	return func(session.RuntimeSpec) (session.Runtime, error) {
		time.Sleep(d)
		return rt, nil
	}
}

func TestSlowRuntimeIsTold(t *testing.T) {
	for took, want := range map[time.Duration]int{1900 * time.Millisecond: 0, 2100 * time.Millisecond: 1} {
		synctest.Test(t, func(t *testing.T) {
			var told atomic.Int32
			o := (&host{}).eyes()
			o.Runtime = dozing(took, sessiontest.New(""))
			o.Slow = func(r session.RuntimeSpec) { told.Add(1) }
			o.World(t.Context(), []session.Spec{spec("a", "tmux", "", "")}, nil, false)
			if n := int(told.Load()); n != want {
				t.Errorf("told %d times of an answer after %s, want %d", n, took, want)
			}
		})
	}
}

func TestRepositoriesAreAskedOnlyWhenSomethingMayBeMade(t *testing.T) {
	kept, gone := spec("kept", "x", "/kept", "b"), spec("gone", "x", "/gone", "b")
	branch, path := spec("branch", "x", "/branch", "b"), spec("path", "x", "/path", "b")
	wandered := spec("wandered", "x", "/wandered", "b")
	here := spec("here", "x", "/here", "b")
	here.Workspace.Mode = session.InPlace
	h := &host{checkouts: map[string]session.Checkout{
		"/w/kept": standing("b"), "/w/branch": standing("b"), "/w/path": standing("b"), "/w/wandered": standing("other"), "/w/here": standing("b"),
	}}
	recorded := []session.Record{record(kept, ""), record(gone, ""), record(branch, ""), record(path, ""), record(wandered, "")}
	branch.Branch, path.Workspace.Path = "c", "/w/elsewhere"
	wanted := []session.Spec{kept, gone, branch, path, wandered, here, spec("new", "x", "/new", "b"), spec("plain", "x", "", "")}
	w := h.eyes().World(t.Context(), wanted, recorded, false)
	want := []string{"/branch", "/gone", "/new", "/path", "/wandered"}
	if diff := cmp.Diff(want, h.repos); diff != "" {
		t.Errorf("repositories asked: %s", diff)
	}
	if len(w.Worktrees["/new"]) != 1 || len(w.Worktrees) != len(want) {
		t.Errorf("worktrees: %v", w.Worktrees)
	}
	if got := w.Checkouts["/w/elsewhere"]; got.Path != "/w/elsewhere" || got.Exists {
		t.Errorf("a wanted path was not looked at: %+v", got)
	}
}

func TestRepositoryThatCannotBeListed(t *testing.T) {
	h := &host{worktrees: errors.New("no git")}
	w := h.eyes().World(t.Context(), []session.Spec{spec("a", "x", "/repo", "b")}, nil, false)
	if w.Checkouts["/repo"].Err == nil || len(w.Worktrees) != 0 {
		t.Errorf("checkouts %+v, worktrees %v", w.Checkouts, w.Worktrees)
	}
}

func TestFactsOfRunsThatAreNotSeenOrNotSettled(t *testing.T) {
	tmux := sessiontest.New("")
	for _, run := range []string{"seen", "busy"} {
		tmux.Plant(session.Live{Mark: session.Mark{Project: "p", Run: run}, Location: session.Location{Name: run}})
	}
	h := &host{runtimes: map[string]session.Runtime{"tmux": tmux}}
	busy := record(spec("c", "tmux", "", ""), "busy")
	busy.Intent = session.Stopping
	recorded := []session.Record{record(spec("a", "tmux", "", ""), "seen"), record(spec("b", "tmux", "", ""), "lost"), busy, record(spec("d", "tmux", "", ""), "")}
	w := h.eyes().World(t.Context(), nil, recorded, false)
	if diff := cmp.Diff([]string{"busy", "lost"}, h.facts); diff != "" {
		t.Errorf("runs looked up: %s", diff)
	}
	if !w.Runs["lost"].Claimed {
		t.Errorf("facts: %+v", w.Runs)
	}
}

// TestMany looks at more workspaces than one goroutine takes at a time.
func TestMany(t *testing.T) {
	h := &host{checkouts: map[string]session.Checkout{}}
	var wanted []session.Spec
	for i := range 1000 {
		s := spec(fmt.Sprintf("s%d", i), "x", "", "")
		h.checkouts[s.Workspace.Path] = standing(fmt.Sprint(i))
		wanted = append(wanted, s)
	}
	w := h.eyes().World(t.Context(), wanted, nil, false)
	for i, s := range wanted {
		if got := w.Checkouts[s.Workspace.Path].Branch; got != fmt.Sprint(i) {
			t.Fatalf("%s is on %q", s.Workspace.Path, got)
		}
	}
}

func BenchmarkWorld(b *testing.B) {
	h := &host{runtimes: map[string]session.Runtime{"tmux": sessiontest.New("")}}
	var recorded []session.Record
	var wanted []session.Spec
	for i := range 1000 {
		s := spec(fmt.Sprintf("s%d", i), "tmux", "", "")
		wanted, recorded = append(wanted, s), append(recorded, record(s, ""))
	}
	eyes := h.eyes()
	for b.Loop() {
		eyes.World(b.Context(), wanted, recorded, false)
	}
}

func TestWhatIsLiveAndNotOnRecordIsRemembered(t *testing.T) {
	tmux := sessiontest.New("p")
	for _, name := range []string{"web", "lost"} {
		tmux.Plant(session.Live{Mark: session.Mark{Project: "p", ID: name, Run: "run-" + name}, Location: session.Location{Name: name}})
	}
	// Of a lost lineage: its run's directory is still there.
	tmux.Plant(session.Live{Mark: session.Mark{Project: "q", ID: "other", Run: "run-other"}, Location: session.Location{Name: "other"}, Foreign: true})
	tmux.Plant(session.Live{Location: session.Location{Name: "unmarked"}, Foreign: true})
	h := &host{runtimes: map[string]session.Runtime{"tmux": tmux}}
	web := spec("web", "tmux", "", "web")
	w := h.eyes().World(t.Context(), []session.Spec{web}, []session.Record{record(web, "run-web")}, false)
	want := map[string]string{"web": "", "lost": "run-lost", "other": "run-other"}
	for _, l := range w.Lives {
		got := ""
		if l.Spec != nil {
			got = l.Spec.Branch
		}
		if got != want[l.Mark.ID] {
			t.Errorf("%s was launched with branch %q, want %q", l.Mark.ID, got, want[l.Mark.ID])
		}
	}
	if len(w.Lives) != 4 {
		t.Errorf("%d are live, want 4", len(w.Lives))
	}
}

// finder is a runtime in which something can be looked up.
type finder struct {
	session.Runtime
	session.Adopter
}

func (finder) Find(_ context.Context, id string) session.Found {
	return session.Found{Live: &session.Live{Title: id}}
}

func TestFindsWhatIsToBeTakenOver(t *testing.T) {
	rt := sessiontest.New("line")
	h := &host{runtimes: map[string]session.Runtime{"tmux": finder{Runtime: rt}, "scripted": rt}}
	e := h.eyes()
	if w := e.World(t.Context(), nil, nil, false); w.Found != nil {
		t.Errorf("looked for nothing and found %v", w.Found)
	}
	e.Imports = map[string]session.RuntimeSpec{"tmux:a/b": {Kind: "tmux"}, "scripted:x": {Kind: "scripted"}, "gone:x": {Kind: "gone"},
		"docker:x": {Kind: "tmux"}, "work": {Kind: "tmux"}}
	found := e.World(t.Context(), nil, nil, false).Found
	if l := found["tmux:a/b"].Live; l == nil || l.Title != "tmux:a/b" {
		t.Errorf("found %+v", found["tmux:a/b"])
	}
	for id, want := range map[string]string{"scripted:x": "what runs in scripted cannot be adopted", "gone:x": "not installed",
		"docker:x": "it is in docker, and the session is declared in tmux: declare a runtime of kind docker",
		"work":     "it names no runtime: expected tmux:SOCKET/SESSION, docker:CONTAINER or kubernetes:NAMESPACE/NAME"} {
		if f := found[id]; f.Live != nil || f.Err == nil || f.Err.Error() != want {
			t.Errorf("%s: %v, want %s", id, f.Err, want)
		}
	}
}

// TestOneLookAnEngine: runtime blocks of one engine are one look, and what two
// engines see is one.
func TestOneLookAnEngine(t *testing.T) {
	rt := sessiontest.New("line")
	if _, err := rt.Create(t.Context(), session.Launch{Name: "a", Mark: session.Mark{Project: "line", Address: "session.a", ID: "a", Run: "1"}}); err != nil {
		t.Fatal(err)
	}
	in := func(name, host string) session.Spec {
		return session.Spec{Address: session.Address("session." + name), Runtime: session.RuntimeSpec{Kind: "docker", Name: name, Docker: &session.DockerConfig{Host: host}}}
	}
	h := &host{runtimes: map[string]session.Runtime{"docker/a": rt, "docker/b": rt, "docker/c": rt}}
	w := h.eyes().World(t.Context(), []session.Spec{in("a", ""), in("b", ""), in("c", "ssh://elsewhere")}, nil, false)
	// The engine elsewhere is also asked for the workspaces that it holds.
	slices.Sort(h.opened)
	if diff := cmp.Diff([]string{"docker/a", "docker/c", "docker/c"}, h.opened); diff != "" {
		t.Errorf("opened (-want +got):\n%s", diff)
	}
	if err, asked := w.Runtimes["docker"]; err != nil || !asked || len(w.Runtimes) != 2 {
		t.Errorf("runtimes %v", w.Runtimes)
	}
	if len(w.Lives) != 1 {
		t.Errorf("%d lives, want 1", len(w.Lives))
	}
}

// TestClonesAreOnlyLookedAt: in a clone no git is run.
func TestClonesAreOnlyLookedAt(t *testing.T) {
	h := &host{runtimes: map[string]session.Runtime{"tmux": sessiontest.New("line")}}
	spec := session.Spec{Address: "session.a", Branch: "a", Runtime: session.RuntimeSpec{Kind: "tmux"},
		Workspace: session.Workspace{Mode: session.Clone, Repo: "/repo", Path: "/clone"}}
	w := h.eyes().World(t.Context(), []session.Spec{spec}, nil, false)
	if w.Checkouts["/clone"].Repo != "apart" {
		t.Errorf("looked at as %+v", w.Checkouts["/clone"])
	}
	if len(h.repos) != 0 {
		t.Errorf("the worktrees of %v were listed for a clone", h.repos)
	}
}
