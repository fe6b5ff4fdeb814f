package owner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/fileid"
	"github.com/agentform/agentform/internal/shim/socketdir"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

func TestResolveFollowsLinksAsFarAsThereAre(t *testing.T) {
	real := Resolve(t.TempDir())
	link := filepath.Join(real, "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if got, want := Resolve(filepath.Join(link, "none", "yet")), filepath.Join(real, "none", "yet"); got != want {
		t.Errorf("Resolve = %s, want %s", got, want)
	}
}

func TestHereIsThisHost(t *testing.T) {
	o := Here(t.TempDir(), "data", "l")
	if o.Host == "" || o.Machine == "" || o.UID != os.Geteuid() || !filepath.IsAbs(o.DataDir) {
		t.Errorf("Here = %+v", o)
	}
	if o.Differs(Here(o.Project, "data", "l")) != session.SameOwner {
		t.Error("the same process is another owner")
	}
}

// foreign returns a directory of another user.
func foreign(t *testing.T) string {
	if os.Geteuid() != 0 {
		return "/" // root's
	}
	dir := t.TempDir()
	if err := os.Chown(dir, 12345, -1); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDataDirectoryOfAnotherUserIsRefused(t *testing.T) {
	var refused *UserError
	if err := CheckUser(foreign(t)); !errors.As(err, &refused) {
		t.Errorf("another user's data directory: %v", err)
	}
	mine := t.TempDir()
	for _, dir := range []string{mine, filepath.Join(mine, "none")} {
		if err := CheckUser(dir); err != nil {
			t.Error(err)
		}
	}
}

// A state with its own sessions and another checkout's is not a copy that can be moved away.
func TestStateOfTwoCheckoutsIsRefused(t *testing.T) {
	root := Resolve(t.TempDir())
	a, b := Here(filepath.Join(root, "a"), filepath.Join(root, "a", "d"), "l"), Here(filepath.Join(root, "b"), filepath.Join(root, "b", "d"), "l")
	for _, o := range []session.Owner{a, b} {
		if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(o.DataDir, "state.json"), []byte(`{"lineage": "l"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	st := state.State{Lineage: "l", Sessions: []session.Record{{Address: "session.b", Owner: b}}}
	var copied *state.CopiedError
	if err := Check(a, "shop", st); !errors.As(err, &copied) || copied.Mixed || !strings.Contains(err.Error(), "mv "+a.DataDir+" ") {
		t.Errorf("a copy: %v", err)
	}
	st.Sessions = append(st.Sessions, session.Record{Address: "session.a", Owner: a})
	if err := Check(a, "shop", st); !errors.As(err, &copied) || !copied.Mixed || strings.Contains(err.Error(), "mv ") || !strings.Contains(err.Error(), "init --reconfigure") {
		t.Errorf("one with sessions of its own: %v", err)
	}
}

func TestMovedProjectIsRefused(t *testing.T) {
	root := Resolve(t.TempDir())
	old, here := Here(filepath.Join(root, "old"), filepath.Join(root, "old", "d"), "l"), Here(filepath.Join(root, "new"), filepath.Join(root, "new", "d"), "l")
	st := state.State{Lineage: "l", Sessions: []session.Record{{Address: "session.a", Owner: old}}}
	var moved *MovedError
	const remedies = "; nothing was changed\nto repair it, while its sessions keep running: agentform doctor --fix\nelse move it back"
	if err := Check(here, "shop", st); !errors.As(err, &moved) || moved.From != old || len(moved.Sessions) != 1 || !strings.HasSuffix(err.Error(), remedies) {
		t.Errorf("a moved project: %v", err)
	}
	if err := Check(old, "shop", st); err != nil {
		t.Errorf("one that was not moved: %v", err)
	}
	other := st
	other.Sessions = []session.Record{{Address: "session.a", Owner: old}}
	other.Sessions[0].Owner.Machine, other.Sessions[0].Owner.BootID = "another", "another"
	if err := Check(here, "shop", other); err != nil {
		t.Errorf("the same project on another host is not a moved one: %v", err)
	}
}

// A directory with another identity than that of its sessions is a copy, or was moved across file
// systems.
func TestCopyOfARenamedProjectIsRefused(t *testing.T) {
	root := Resolve(t.TempDir())
	old, here := Here(filepath.Join(root, "old"), filepath.Join(root, "old", "d"), "l"), Here(filepath.Join(root, "new"), filepath.Join(root, "new", "d"), "l")
	if err := os.MkdirAll(here.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	st := state.State{Lineage: "l", Sessions: []session.Record{{Address: "session.a", Owner: old}, {Address: "session.b", Owner: old}}}
	var moved *MovedError
	st.Sessions[1].Owner.DataDirID = fileid.Of(here.DataDir)
	if err := Check(here, "shop", st); !errors.As(err, &moved) || len(moved.Sessions) != 2 {
		t.Errorf("a renamed project: %v", err)
	}
	var copied *state.CopiedError
	st.Sessions[1].Owner.DataDirID = "2a.18bf"
	if err := Check(here, "shop", st); !errors.As(err, &copied) || !copied.Gone || copied.Original != filepath.Join(old.DataDir, "state.json") {
		t.Errorf("a copy: %v", err)
	}
	st.Sessions[1].Owner.Machine, st.Sessions[1].Owner.BootID = "another", "another"
	if err := Check(here, "shop", st); !errors.As(err, &moved) || len(moved.Sessions) != 1 {
		t.Errorf("a session of another host, which may number files otherwise: %v", err)
	}
}

func TestRelocate(t *testing.T) {
	root := Resolve(t.TempDir())
	mkdir := func(path string) string {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	project, tree := mkdir("new/mono/shop"), mkdir("new/mono/shop/.agentform/workspaces/a/b")
	repo, elsewhere := filepath.Dir(project), mkdir("elsewhere")
	data := filepath.Join(project, ".agentform")
	old := func(path string) string { return filepath.Join(root, "old", path) }
	r := session.Record{
		Owner: session.Owner{Host: "h", Project: old("mono/shop"), DataDir: old("mono/shop/.agentform")},
		Tree:  session.WorkspaceState{Created: true, Path: old("mono/shop/.agentform/workspaces/a/b"), Repo: old("mono")},
	}
	r.Spec.Workspace = session.Workspace{Path: r.Tree.Path, Repo: r.Tree.Repo}
	here := session.Owner{Host: "h", Project: project, DataDir: data}
	got := Relocate(r, here, project, data)
	if got.Tree.Path != tree || got.Tree.Repo != repo || got.Spec.Workspace.Path != tree || got.Spec.Workspace.Repo != repo {
		t.Errorf("workspace %+v, declared %+v", got.Tree, got.Spec.Workspace)
	}
	if got.Owner.Project != project || got.Owner.DataDir != data || got.Owner.DataDirID != fileid.Of(data) {
		t.Errorf("owner %+v", got.Owner)
	}
	// On a volume: the workspace of another session is at its path here.
	pod := r
	pod.Spec.Runtime.Kind = "kubernetes"
	if got = Relocate(pod, here, project, data); got.Tree.Path != r.Tree.Path || got.Spec.Workspace.Path != r.Tree.Path || got.Tree.Repo != repo {
		t.Errorf("on a volume: %+v, declared %+v", got.Tree, got.Spec.Workspace)
	}
	// Named by a link to the project's parent directory.
	r.Tree.Path = filepath.Join(root, "link", "shop", ".agentform", "workspaces", "a", "b")
	r.Tree.Repo, r.Spec.Workspace.Repo = elsewhere, elsewhere
	if got = Relocate(r, here, project, data); got.Tree.Path != tree || got.Tree.Repo != elsewhere {
		t.Errorf("by a link: %+v", got.Tree)
	}
}

// TestAbandoned checks that only empty directories of sockets whose data directory is gone are
// found.
func TestAbandoned(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", short(t))
	project := Resolve(t.TempDir())
	dirs := map[string]string{}
	for _, name := range []string{"here", "gone", "served", "cleaned"} {
		here := Here(project, filepath.Join(project, name), "")
		sockets, err := socketdir.Create(here.DataDir)
		if err == nil {
			err = Keep(sockets, here, "shop")
		}
		if err != nil {
			t.Fatal(err)
		}
		dirs[name] = sockets
	}
	for _, err := range []error{os.Mkdir(filepath.Join(project, "here"), 0o700), os.WriteFile(filepath.Join(dirs["served"], "tmux-0"), nil, 0o600), os.Remove(dirs["cleaned"])} {
		if err != nil {
			t.Fatal(err)
		}
	}
	found := Abandoned(dirs["here"])
	if len(found) != 2 || found[dirs["gone"]] != filepath.Join(project, "gone") || found[dirs["cleaned"]] == "" {
		t.Errorf("found %v", found)
	}
	for dir := range found {
		if err := Forget(dir); err != nil {
			t.Error(err)
		}
	}
	if Forget(dirs["served"]) == nil {
		t.Error("a directory with a socket is removed")
	}
	if left := Abandoned(dirs["here"]); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

func TestChangedDataDirIsRefusedWhileSessionsRun(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", short(t))
	project := Resolve(t.TempDir())
	was, now := Here(project, filepath.Join(project, "st"), ""), Here(project, filepath.Join(project, "st2"), "")
	sockets, err := socketdir.Create(was.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	if err := Keep(sockets, was, "shop"); err != nil {
		t.Fatal(err)
	}
	store, err := state.Open(t.Context(), filepath.Join(was.DataDir, "state.json"), "shop", "test", state.Holder{}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	check := func(what, project string, refused bool) {
		t.Helper()
		var previous *PreviousError
		if err := Check(now, project, state.State{}); errors.As(err, &previous) != refused {
			t.Errorf("%s: %v", what, err)
		}
	}
	record := session.Record{ID: "a-1", Address: "session.a", Run: session.Run{ID: "0123456789abcdef"}}
	if err := store.Put(record); err != nil {
		t.Fatal(err)
	}
	check("no agent runs", "shop", false)
	record.Location.Container = "c"
	if err := store.Put(record); err != nil {
		t.Fatal(err)
	}
	check("a container was not seen to end", "shop", true)
	check("another project of the same directory", "shop2", false)
	if err := Check(was, "shop", state.State{}); err != nil {
		t.Errorf("data_dir is as it was: %v", err)
	}
}

// short returns a directory whose path leaves room for a socket's.
func short(t *testing.T) string {
	dir, err := os.MkdirTemp("/tmp", "af")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
