package proc

import (
	"bytes"
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
		"no thread is left":   {line("Z", "0", "1792"), 7, "", true},
		"a status too large":  {line("Z", "1", "65792"), 1, "", true},
		"negative":            {line("Z", "1", "-1"), 0, "", false},
		"one field too few":   {strings.TrimSuffix(line("Z", "1", ""), " \n"), 0, "", false},
		"cut":                 {"4711 (sh) Z 1 2 3", 0, "", false},
		"empty":               {"", 0, "", false},
		"no number":           {line("Z", "1", "x"), 0, "", false},
	} {
		if code, signal, ok := ParseZombieExit([]byte(c.stat)); code != c.code || signal != c.signal || ok != c.ok {
			t.Errorf("%s: %d, %q, %v", name, code, signal, ok)
		}
	}
}

// The agent can write what a container reports of a process.
func FuzzParseZombieExit(f *testing.F) {
	f.Add([]byte("4711 (a) Z b) Z 1 1 1 0 -1 4228108 0 0 0 0 0 0 0 0 20 0 1 0 5713285 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 1792\n"))
	f.Add([]byte("4711 (sh) S"))
	f.Add([]byte(")"))
	f.Fuzz(func(t *testing.T, stat []byte) {
		code, signal, ok := ParseZombieExit(stat)
		if code < 0 || code > 255 || !ok && (code != 0 || signal != "") || code != 0 && signal != "" {
			t.Errorf("%d, %q, %v", code, signal, ok)
		}
		if ok && !bytes.Contains(stat, []byte("Z")) {
			t.Error("it is no zombie")
		}
	})
}
