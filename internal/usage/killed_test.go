package usage

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain runs the test binary also as a process that records the usage of a transcript, to be
// killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "update" {
		if err := New(os.Args[2], dollarEach).Update(claude, Subject{ID: "api", Address: "session.api"}, os.Args[3], "11111111", noon); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Each answer counts once, however often two concurrent recorders are killed.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	data, path := filepath.Join(dir, "data"), filepath.Join(dir, "11111111.jsonl")
	const answers = 40_000
	var text strings.Builder
	for n := range answers {
		text.WriteString(claudeLine(fmt.Sprint("m", n), fmt.Sprint("r", n), "m", 1))
		if n%3 == 0 {
			text.WriteString(claudeLine(fmt.Sprint("m", n), fmt.Sprint("r", n), "m", 5))
		}
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func() *exec.Cmd {
		c := exec.Command(os.Args[0], "update", data, path)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	killed, r := 0, rand.New(rand.NewPCG(1, 1))
	for range 30 {
		one, two := start(), start()
		time.Sleep(time.Duration(r.Int64N(int64(60 * time.Millisecond))))
		for _, c := range []*exec.Cmd{one, two} {
			_ = c.Process.Kill() // it may have exited
			if err := c.Wait(); err != nil {
				killed++
			}
		}
	}
	if killed == 0 {
		t.Fatal("every process had ended before it was killed")
	}
	s := New(data, dollarEach)
	if err := s.Update(claude, Subject{ID: "api", Address: "session.api"}, path, "11111111", noon); err != nil {
		t.Fatal(err)
	}
	x, err := New(data, dollarEach).Get("api")
	if err != nil {
		t.Fatal(err)
	}
	if all := x.Total(); all.Answers != answers || all.Tokens.Input != 10*answers || all.Tokens.Output != answers+4*((answers+2)/3) {
		t.Errorf("%d processes were killed: %+v", killed, all)
	}
}
