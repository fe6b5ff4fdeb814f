package program

import (
	"os"
	"path/filepath"
	"testing"
)

func TestStarved(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		text string
		want uint64
	}{
		"v2":      {"low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n", 2},
		"v1":      {"oom_kill_disable 0\nunder_oom 0\noom_kill 7\n", 7},
		"older":   {"oom_kill_disable 0\nunder_oom 0\n", 0},
		"nothing": {"", 0},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := oomKills([]string{filepath.Join(dir, "none"), path}); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got := oomKills([]string{filepath.Join(dir, "none")}); got != 0 {
		t.Errorf("where nothing is: %d", got)
	}
}
