package layout

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestMakeDataDir(t *testing.T) {
	repo := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	made, there := filepath.Join(repo, "deep", "data"), filepath.Join(repo, "there")
	own := filepath.Join(repo, "own") // has a .gitignore of the user's, which stays
	for _, dir := range []string{there, own} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(own, ".gitignore"), []byte("*.log\n.gitignore\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	// What a full disk leaves.
	empty := filepath.Join(repo, "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(empty, ".gitignore"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{made, there, made, own, empty} {
		if err := MakeDataDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{made, there, empty} {
		if err := os.WriteFile(filepath.Join(dir, "state.json"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := git("status", "--porcelain", "-uall"); got != "" {
		t.Errorf("git status prints %q for data directories", got)
	}
	if text, err := os.ReadFile(filepath.Join(own, ".gitignore")); err != nil || string(text) != "*.log\n.gitignore\n" {
		t.Errorf("the user's .gitignore is now %q, %v", text, err)
	}
	if fi, err := os.Stat(made); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	if err := MakeDataDir(filepath.Join(there, "state.json", "x")); err == nil {
		t.Error("a folder in a file was made")
	}
}
