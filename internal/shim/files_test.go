package shim

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
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
		"garbage":        func(d string) { write(d, runFile, "\x00\xff{") },
		"huge":           func(d string) { write(d, exitFile, `{"cause":"`+strings.Repeat("x", factLimit)+`"}`) },
		"empty":          func(d string) { write(d, exitFile, "") },
		"unknown cause":  func(d string) { write(d, exitFile, `{"cause":"magic","code":0}`) },
		"negative pid":   func(d string) { write(d, runFile, `{"agent":{"pid":-1,"start":1}}`) },
		"not a number":   func(d string) { write(d, runFile, `{"agent":{"pid":1e30}}`) },
		"torn claim":     func(d string) { write(d, claimFile, `{"guest":{"pi`) },
		"deep":           func(d string) { write(d, launchFile, `{"spec":`+strings.Repeat("[", 20000)+`}`) },
		"a folder":       func(d string) { os.Mkdir(filepath.Join(d, exitFile), 0o700) },
		"a fifo":         func(d string) { syscall.Mkfifo(filepath.Join(d, exitFile), 0o600) },
		"a link":         func(d string) { write(d, "x", `{"cause":"self"}`); os.Symlink("x", filepath.Join(d, exitFile)) },
		"a link outside": func(d string) { os.Symlink("/dev/zero", filepath.Join(d, runFile)) },
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
	write(dir, claimFile, "") // between its making and its writing
	write(dir, exitFile, `{"cause":"self","code":3}`)
	write(dir, runFile, "{")
	if f, err := ReadFacts(dir); err == nil || !f.Claimed || f.Exit == nil || f.Exit.Code != 3 {
		t.Errorf("one bad file hides the others: %+v, %v", f, err)
	}
}

func FuzzReadFacts(f *testing.F) {
	f.Add([]byte(`{"cause":"self","code":3,"agent":{"pid":4,"start":5}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		for _, name := range []string{launchFile, claimFile, runFile, exitFile} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		facts, _ := ReadFacts(dir)
		if !facts.Claimed || facts.Agent.PID < 0 || facts.Exit != nil && !known(facts.Exit.Cause) {
			t.Errorf("facts are %+v", facts)
		}
	})
}

// TestPrepareKilled checks that secrets are never where Discard does not find them.
func TestPrepareKilled(t *testing.T) {
	there := func(path string) bool { _, err := os.Lstat(path); return err == nil }
	for range 20 {
		top := t.TempDir()
		c := Config{Run: "r1", Dir: "/", Socket: filepath.Join(top, "g-r1"), Argv: []string{"true"}}
		dir, done := filepath.Join(top, "run"), make(chan error, 1)
		go func() { done <- Prepare(dir, c, map[string]string{"KEY": "x"}) }()
		for !there(secretsFile(c)) && len(done) == 0 {
		}
		if !there(filepath.Join(dir, launchFile)) {
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
	info, err := os.Stat(filepath.Join(dir, launchFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("launch.json: %v, %v", info, err)
	}
	var read Config
	b, _ := os.ReadFile(filepath.Join(dir, launchFile))
	if err := json.Unmarshal(b, &read); err != nil || read.Grace != time.Second || read.Version != ProtocolVersion {
		t.Errorf("launch.json is %s: %v", b, err)
	}
}

func TestSocketDir(t *testing.T) {
	runtime := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	data := t.TempDir()
	dir, err := SocketDir(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := SocketDir(data + "/.")
	if err != nil || again != dir || filepath.Dir(dir) != filepath.Join(runtime, "agentform") || len(filepath.Base(dir)) != 8 {
		t.Errorf("folders are %s and %s (%v)", dir, again, err)
	}
	if other, _ := SocketDir(t.TempDir()); other == dir {
		t.Error("two data folders have one socket folder")
	}
	os.Chmod(dir, 0o755)
	SocketDir(data)
	if info, _ := os.Stat(dir); info.Mode() != os.ModeDir|0o700 {
		t.Errorf("mode is %v", info.Mode())
	}
	os.Remove(dir)
	os.Symlink(t.TempDir(), dir)
	if _, err := SocketDir(data); err == nil {
		t.Error("a link is taken")
	}
	t.Setenv("XDG_RUNTIME_DIR", "/tmp/"+strings.Repeat("x", 90))
	if _, err := SocketDir(data); err == nil || !strings.Contains(err.Error(), "XDG_RUNTIME_DIR") {
		t.Errorf("a path that is too long: %v", err)
	}
}

func TestInstall(t *testing.T) {
	data := t.TempDir()
	_, argv, err := Install(data) // no guest beside a test binary
	self, _ := os.Executable()
	if err != nil || len(argv) != 2 || argv[0] != self || argv[1] != "guest" {
		t.Errorf("the fallback is %q, %v", argv, err)
	}
	first, err := keep(program, filepath.Join(data, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	was, _ := os.Stat(first)
	second, err := keep(program, filepath.Join(data, "bin"))
	if now, _ := os.Stat(second); err != nil || !os.SameFile(was, now) {
		t.Errorf("copied again: %s, %s, %v", first, second, err)
	}
	a, _ := os.ReadFile(program)
	b, _ := os.ReadFile(first)
	if !bytes.Equal(a, b) || was.Mode().Perm() != 0o700 {
		t.Errorf("the copy differs or has mode %v", was.Mode())
	}
	if out, err := exec.Command(first).CombinedOutput(); err == nil || !strings.Contains(string(out), "usage") {
		t.Errorf("the copy says %q, %v", out, err)
	}
	if files, _ := os.ReadDir(filepath.Join(data, "bin")); len(files) != 1 {
		t.Errorf("the folder holds %v", files)
	}
	os.WriteFile(filepath.Join(data, "text"), nil, 0o600)
	if _, err := keep(filepath.Join(data, "text"), data); !errors.Is(err, errNoBinary) {
		t.Errorf("a file that is no program: %v", err)
	}
}

func TestLookAtProcesses(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start, ok := StartTime(cmd.Process.Pid)
	p := Proc{cmd.Process.Pid, start}
	if !ok || !p.Alive() {
		t.Fatalf("%v is not alive", p)
	}
	cmd.Process.Kill()
	for end := time.Now().Add(5 * time.Second); p.Alive() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if _, ok := StartTime(p.PID); !ok || p.Alive() {
		t.Error("a zombie counts as alive, or is not seen at all")
	}
	cmd.Wait()
	for _, pid := range []int{0, -1, p.PID} {
		if _, ok := StartTime(pid); ok || (Proc{pid, 0}).Alive() {
			t.Errorf("process %d is there", pid)
		}
	}
	list := []sight{{pid: 2, parent: 1}, {pid: 5, parent: 4}, {pid: 3, parent: 2}, {pid: 4, parent: 2}, {pid: 1, parent: 1}, {pid: 9, parent: 8}}
	var got []int
	for _, s := range below(list, 2) {
		got = append(got, s.pid)
	}
	if len(got) != 3 || got[0] != 3 || got[1] != 4 || got[2] != 5 {
		t.Errorf("below 2 is %v", got)
	}
}

// The two ways to find descendants tell the same.
func TestDescendantsBothWays(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sh -c 'sleep 60 & wait' & sleep 60 & echo; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Read(make([]byte, 1))
	var walk, scan []sight
	for end := time.Now().Add(5 * time.Second); len(walk) < 3 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		walk, scan = descendants(cmd.Process.Pid), below(processes(), cmd.Process.Pid)
	}
	if len(walk) != 3 || len(scan) != 3 {
		t.Errorf("walk found %v, scan %v", walk, scan)
	}
	for _, s := range walk {
		syscall.Kill(s.pid, syscall.SIGKILL)
	}
	cmd.Process.Kill()
	cmd.Wait()
}
