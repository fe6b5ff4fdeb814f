//go:build real

package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// start is `agentform version` beside a program in Go that only says hello: what
// every command takes before it begins.
func start(t *testing.T, m *measurement) {
	p := newRepository(t, m.bin)
	source, hello := filepath.Join(t.TempDir(), "hello.go"), filepath.Join(t.TempDir(), "hello")
	if err := os.WriteFile(source, []byte("package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello, world\") }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-o", hello, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	took := m.turns(31,
		func() time.Duration { return p.time(t, "agentform", "version") },
		func() time.Duration { return p.time(t, hello) })
	m.add(Row{
		Work:  "agentform version",
		Took:  Time(took[0]),
		Floor: Beside{"hello, world in Go", Time(took[1])},
		Goals: []Goal{{Says: "≤ 8 × floor", Got: ratio(took[0], took[1]), Bound: 8}},
		Shown: true,
	})
}
