package state

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMakeFolder(t *testing.T) {
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
	if err := os.Mkdir(there, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{made, there, made} {
		if err := MakeFolder(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{made, there} {
		if err := os.WriteFile(filepath.Join(dir, "state.json"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := git("status", "--porcelain", "-uall"); strings.TrimSpace(got) != "?? there/state.json" {
		t.Errorf("git sees %q: what it made is nothing of git's, what was there is as it was", got)
	}
	if fi, err := os.Stat(made); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	if err := MakeFolder(filepath.Join(there, "state.json", "x")); err == nil {
		t.Error("a folder in a file was made")
	}
}
