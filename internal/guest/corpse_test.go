package guest

import (
	"strings"
	"testing"
)

func TestCorpseIn(t *testing.T) {
	line := func(state, threads, status string) string {
		return "4711 (a) Z b) " + state + strings.Repeat(" 1", 16) + " " + threads + strings.Repeat(" 2", 31) + " " + status + "\n"
	}
	for name, c := range map[string]struct {
		stat   string
		code   int
		signal string
		ok     bool
	}{
		"clean":               {line("Z", "1", "0"), 0, "", true},
		"status":              {line("Z", "1", "1792"), 7, "", true},
		"killed":              {line("Z", "1", "9"), 0, "SIGKILL", true},
		"dumped core":         {line("Z", "1", "139"), 0, "SIGSEGV", true},
		"it lives":            {line("S", "1", "0"), 0, "", false},
		"other threads go on": {line("Z", "3", "0"), 0, "", false},
		"cut":                 {"4711 (sh) Z 1 2 3", 0, "", false},
		"empty":               {"", 0, "", false},
		"no number":           {line("Z", "1", "x"), 0, "", false},
	} {
		if code, signal, ok := CorpseIn([]byte(c.stat)); code != c.code || signal != c.signal || ok != c.ok {
			t.Errorf("%s: %d, %q, %v", name, code, signal, ok)
		}
	}
}
