package kubernetes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEnvOfACommand checks that variables are passed in a file, which is gone when the command
// runs.
func TestEnvOfACommand(t *testing.T) {
	values := map[string]string{
		"PLAIN": "yes", "EMPTY": "", "QUOTED": `it's "$HOME" \n`, "LINES": "a\nb", "text": "kept", "BASH_FUNC_x%%": "() { :; }",
	}
	text := exports([]string{"PLAIN", "EMPTY", "QUOTED", "LINES", "text", "BASH_FUNC_x%%", "UNSET"}, func(name string) (string, bool) {
		value, set := values[name]
		return value, set
	})
	if strings.Contains(text, "BASH_FUNC") || strings.Contains(text, "UNSET") {
		t.Errorf("%s", text)
	}
	file := filepath.Join(t.TempDir(), "with space")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	argv := withEnv(file, []string{"sh", "-c", `test ! -e "$0" && printf '%s|' "$PLAIN" "$EMPTY" "$QUOTED" "$LINES" "$text" "$#" "$1"`, file, "an argument"})
	out, err := exec.Command("sh", argv[1:]...).CombinedOutput()
	if want := "yes||it's \"$HOME\" \\n|a\nb|kept|1|an argument|"; err != nil || string(out) != want {
		t.Errorf("%q, %v, want %q", out, err, want)
	}
}
