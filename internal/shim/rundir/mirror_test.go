package rundir

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/proc"
)

func TestFilesAreCopied(t *testing.T) {
	there, here := t.TempDir(), t.TempDir()
	same := func(when string) {
		t.Helper()
		for range 30 { // a chunk each
			before := SignalsSize(here)
			if err := WriteFiles(here, ReadFiles(there, before)); err != nil {
				t.Fatal(err)
			}
			if SignalsSize(here) == before {
				break
			}
		}
		for _, name := range []string{ClaimFile, RunFile, ExitFile, SignalsFile} {
			want, _ := os.ReadFile(filepath.Join(there, name))
			got, _ := os.ReadFile(filepath.Join(here, name))
			if !bytes.Equal(got, want) {
				t.Fatalf("%s: %s has %d bytes, want %d", when, name, len(got), len(want))
			}
		}
	}
	same("nothing")
	if err := Claim(there, proc.Process{PID: 7, Start: 8}); err != nil {
		t.Fatal(err)
	}
	same("claimed")
	if err := WriteRun(there, proc.Process{PID: 7, Start: 8}, proc.Process{PID: 9, Start: 10}, time.Now()); err != nil {
		t.Fatal(err)
	}
	same("running")
	said := []byte(fmt.Sprintf(`{"said":%q}`, strings.Repeat("x", 60<<10)))
	for n := range 80 { // the file is rotated at 4 MiB
		if err := AppendSignal(there, said, time.Now()); err != nil {
			t.Fatal(err)
		}
		if n%7 == 0 {
			same(fmt.Sprint("signal ", n))
		}
	}
	same("signals")
	if err := WriteExit(there, Exit{Cause: CauseSelf, Code: 3, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	same("exited")
	if f, err := ReadFacts(here); err != nil || f.Agent.PID != 9 || f.Exit == nil || f.Exit.Code != 3 {
		t.Errorf("the copy says %+v, %v", f, err)
	}
}

// TestFilesFollowNoLink checks that a run cannot make its shim read another file.
func TestFilesFollowNoLink(t *testing.T) {
	there := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{ClaimFile, RunFile, ExitFile, SignalsFile} {
		if err := os.Symlink(secret, filepath.Join(there, name)); err != nil {
			t.Fatal(err)
		}
	}
	if f := ReadFiles(there, 0); len(f.Claim)+len(f.Run)+len(f.Exit)+len(f.Signals) > 0 {
		t.Errorf("read %+v", f)
	}
}

// TestStampWorkspace checks which changes of a checkout change its stamp, and that there is none at the
// time of a change.
func TestStampWorkspace(t *testing.T) {
	top := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(top, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(".git/HEAD", BranchRef+"agents/web\n")
	write("src/deep/tracked", "1\n")
	later := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	last := StampWorkspace(top, later)
	if last == 0 || StampWorkspace(top, later) != last {
		t.Errorf("nothing has changed: %d, then %d", last, StampWorkspace(top, later))
	}
	for _, x := range []struct {
		name string
		same bool
	}{
		{".git/index", false}, {".git/packed-refs", false}, {".git/refs/heads/agents/web", false}, {".git/refs/agentform/base", false},
		{"new", false}, {"src/new", false}, {"dir/new", false},
		{".git/index.lock", true}, {".git/refs/heads/other", true}, {"src/deep/new", true}, {"src/deep/tracked", true},
	} {
		tick(t)
		write(x.name, "changed\n")
		is := StampWorkspace(top, later)
		if is == 0 || (is == last) != x.same {
			t.Errorf("%s: %d, then %d", x.name, last, is)
		}
		last = is
	}
	if got := StampWorkspace(top, time.Unix(0, 0)); got != 0 {
		t.Errorf("before a change: %d", got)
	}
}
