package arch

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the exported names are now")

// library is what programs import; every other package may change as it likes.
var library = []string{".", "session", "session/sessiontest", "effect", "effect/effecttest", "tmux", "agent", "api"}

// TestAPI holds the exported names of the library against those that were agreed
// on: who changes one sees it here, and writes it down with -update and in the
// changelog.
func TestAPI(t *testing.T) {
	var got bytes.Buffer
	for _, pkg := range library {
		c := exec.Command("go", "doc", "-short", "-all", "../../../"+pkg)
		out, err := c.Output()
		if err != nil {
			t.Fatalf("go doc %s: %v", pkg, err)
		}
		got.WriteString("# " + pkg + "\n\n")
		got.WriteString(signatures(string(out)))
		got.WriteString("\n")
	}
	const golden = "testdata/api.txt"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("exported names have changed (-agreed +now); if that is meant: go test ./internal/test/arch -run API -update\n%s", d)
	}
}

// signatures are the declarations of go doc's text, without what explains them.
func signatures(doc string) string {
	var b strings.Builder
	in := false // a declaration of several lines
	for line := range strings.Lines(doc) {
		text := strings.TrimRight(line, "\n")
		switch {
		case in:
			in = text != ")" && text != "}"
		case strings.HasPrefix(text, "func "), strings.HasPrefix(text, "type "), strings.HasPrefix(text, "var "), strings.HasPrefix(text, "const "):
			in = strings.HasSuffix(text, "(") || strings.HasSuffix(text, "{")
		default:
			continue
		}
		code, _, _ := strings.Cut(text, " // ")
		if code = strings.TrimRight(code, " "); code != "" && !strings.HasPrefix(strings.TrimSpace(code), "//") {
			b.WriteString(strings.Join(strings.Fields(code), " ") + "\n")
		}
	}
	return b.String()
}
