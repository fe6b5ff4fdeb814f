//go:build agents

package agenttest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/agenttest"
)

// TestTheLibrarysDocument runs the programs of docs/library.md as a stranger does, with
// a real agent: they end by themselves, print the answer, leave nothing, and can be run
// again. A session of that name that is still there is named with what to do.
func TestTheLibrarysDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	var programs []string
	for _, block := range strings.Split(string(text), "```go\n")[1:] {
		program, _, _ := strings.Cut(block, "\n```")
		if strings.HasPrefix(program, "package main") {
			programs = append(programs, program)
		}
	}
	if len(programs) != 2 {
		t.Fatalf("the document has %d programs", len(programs))
	}
	for i, program := range programs {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, "claude")
			root := filepath.Dir(lab.Home)
			program = strings.NewReplacer("/work/shop", lab.Dir, "that are missing", "[[delay 2s]] [[text All tests are there.]]").Replace(program)
			source, binary := filepath.Join(root, "main.go"), filepath.Join(root, "program")
			if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput(); err != nil {
				t.Fatalf("go build: %v\n%s", err, out)
			}
			for range 2 {
				c := exec.Command(binary)
				c.Dir, c.Env = root, []string{"XDG_RUNTIME_DIR=" + root}
				for k, v := range lab.Env {
					c.Env = append(c.Env, k+"="+v)
				}
				out, err := c.CombinedOutput()
				if err != nil || !strings.Contains(string(out), "running idle") || !strings.Contains(string(out), "All tests are there.") {
					t.Errorf("%v\n%s", err, out)
				}
			}
			lab.UntilNone()
		})
	}
}
