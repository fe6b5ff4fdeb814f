package rundir

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestReadFactsOfAFolderThatIsNotThere(t *testing.T) {
	f, err := ReadFacts(filepath.Join(t.TempDir(), "gone"))
	if err != nil || f.Claimed || f.Exit != nil || f.Spec != nil {
		t.Errorf("facts are %+v, %v", f, err)
	}
}

func TestReadFactsOfHostileFiles(t *testing.T) {
	write := func(dir, name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, make := range map[string]func(dir string){
		"garbage":        func(d string) { write(d, RunFile, "\x00\xff{") },
		"huge":           func(d string) { write(d, ExitFile, `{"cause":"`+strings.Repeat("x", factLimit)+`"}`) },
		"unknown cause":  func(d string) { write(d, ExitFile, `{"cause":"magic","code":0}`) },
		"negative pid":   func(d string) { write(d, RunFile, `{"agent":{"pid":-1,"start":1}}`) },
		"not a number":   func(d string) { write(d, RunFile, `{"agent":{"pid":1e30}}`) },
		"torn claim":     func(d string) { write(d, ClaimFile, `{"shim":{"pi`) },
		"deep":           func(d string) { write(d, LaunchFile, `{"spec":`+strings.Repeat("[", 20000)+`}`) },
		"a folder":       func(d string) { os.Mkdir(filepath.Join(d, ExitFile), 0o700) },
		"a fifo":         func(d string) { syscall.Mkfifo(filepath.Join(d, ExitFile), 0o600) },
		"a link":         func(d string) { write(d, "x", `{"cause":"self"}`); os.Symlink("x", filepath.Join(d, ExitFile)) },
		"a link outside": func(d string) { os.Symlink("/dev/zero", filepath.Join(d, RunFile)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			make(dir)
			f, err := ReadFacts(dir)
			if err == nil || f.Exit != nil || f.Agent.PID != 0 {
				t.Errorf("facts are %+v, %v", f, err)
			}
		})
	}
	dir := t.TempDir()
	write(dir, ClaimFile, "") // between its creation and its writing
	write(dir, ExitFile, `{"cause":"self","code":3}`)
	write(dir, RunFile, "{")
	if f, err := ReadFacts(dir); err == nil || !f.Claimed || f.Exit == nil || f.Exit.Code != 3 {
		t.Errorf("one bad file hides the others: %+v, %v", f, err)
	}
}

// A power cut leaves unsynced files empty or with zeros in them.
func TestReadFactsAfterAPowerCut(t *testing.T) {
	for _, rest := range []string{"", "\x00\x00\x00"} {
		dir := t.TempDir()
		for _, name := range []string{LaunchFile, ClaimFile, RunFile, ExitFile} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(rest), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, read := range []func(string) (Facts, error){ReadFacts, ReadLiveness} {
			if f, err := read(dir); err != nil || !f.Claimed || f.Exit != nil || f.Agent.PID != 0 || f.BootID != "" {
				t.Errorf("%q: %+v, %v", rest, f, err)
			}
		}
	}
}

func FuzzReadFacts(f *testing.F) {
	f.Add([]byte(`{"cause":"self","code":3,"agent":{"pid":4,"start":5}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		for _, name := range []string{LaunchFile, ClaimFile, RunFile, ExitFile} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		facts, _ := ReadFacts(dir)
		if !facts.Claimed || facts.Agent.PID < 0 || facts.Exit != nil && !KnownCause(facts.Exit.Cause) {
			t.Errorf("facts are %+v", facts)
		}
	})
}

// TestPrepareKilled checks that Discard finds secrets wherever they are.
func TestPrepareKilled(t *testing.T) {
	there := func(path string) bool { _, err := os.Lstat(path); return err == nil }
	for range 20 {
		top := t.TempDir()
		c := Config{Run: "r1", Dir: "/", Socket: filepath.Join(top, "g-r1"), Argv: []string{"true"}}
		dir, done := filepath.Join(top, "run"), make(chan error, 1)
		go func() { done <- Prepare(dir, c, map[string]string{"KEY": "x"}) }()
		for !there(secretsFile(c)) && len(done) == 0 {
		}
		if !there(filepath.Join(dir, LaunchFile)) {
			t.Error("secrets without launch.json")
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

func TestPrepare(t *testing.T) {
	good := func(t *testing.T) Config {
		return Config{Run: "r1", Dir: "/", Socket: filepath.Join(t.TempDir(), "g-r1"), Argv: []string{"true"}, Grace: time.Second}
	}
	for name, edit := range map[string]func(*Config){
		"run id":       func(c *Config) { c.Run = "../r1" },
		"no command":   func(c *Config) { c.Argv = nil },
		"relative dir": func(c *Config) { c.Dir = "." },
		"no socket":    func(c *Config) { c.Socket = "" },
		"long socket":  func(c *Config) { c.Socket = "/tmp/" + strings.Repeat("x", 110) },
		"signal":       func(c *Config) { c.Signal = "SIGSTOP" },
	} {
		c := good(t)
		edit(&c)
		dir := filepath.Join(t.TempDir(), "run")
		if err := Prepare(dir, c, map[string]string{"A": "b"}); err == nil {
			t.Errorf("%s: taken", name)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: left %s behind", name, dir)
		}
	}
	c := good(t)
	dir := filepath.Join(t.TempDir(), "run")
	if err := Prepare(dir, c, nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, LaunchFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("launch.json: %v, %v", info, err)
	}
	var read Config
	b, _ := os.ReadFile(filepath.Join(dir, LaunchFile))
	if err := json.Unmarshal(b, &read); err != nil || read.Grace != time.Second || read.Version != Version {
		t.Errorf("launch.json is %s: %v", b, err)
	}
}
