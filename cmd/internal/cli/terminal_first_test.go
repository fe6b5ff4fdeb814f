//go:build real

package cli_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/agentform/agentform/internal/plaintext"
)

// at runs agentform at a terminal. Each pair waits for a text and types another. It
// returns the exit code and what the terminal showed.
func (w *world) at(args []string, dialog ...[2]string) (int, string) {
	w.t.Helper()
	c := w.command(args...)
	c.Env = append(c.Env, "TERM=xterm-256color")
	terminal, err := pty.StartWithSize(c, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		w.t.Fatal(err)
	}
	defer terminal.Close()
	var shown screen
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		io.Copy(&shown, terminal) // ends with the terminal
	}()
	for _, d := range dialog {
		shown.await(w.t, d[0])
		if _, err := terminal.WriteString(d[1]); err != nil {
			w.t.Fatal(err)
		}
	}
	_ = c.Wait() // the exit code says it
	<-copied
	return c.ProcessState.ExitCode(), strings.ReplaceAll(shown.String(), "\r\n", "\n")
}

// TestInitAsks answers the questions of init at a terminal, and leaves it at each.
func TestInitAsks(t *testing.T) {
	fake, err := exec.LookPath("fakeagent")
	if err != nil {
		t.Fatal(err)
	}
	const which, trust, hub = "Number or name [1 claude]: ", "Yes or no [no]: ", "Start the hub with apply?"
	for name, c := range map[string]struct {
		args          []string
		dialog        [][2]string
		exit          int
		has, without  []string // of the manifest; without has nil: there is none
		shows, silent string
	}{
		"answers": {nil, [][2]string{{which, "3\r"}, {"Enter claude or codex.", "2\r"}, {trust, "maybe\r"}, {"Enter yes or no.", "Yes\r"}, {hub, "y\r"}}, 0,
			[]string{`agent  = "codex"`, `agent "codex" {`, "trust = true", `hub = "auto"`}, nil, "Also installed: claude.", ""},
		"defaults":       {nil, [][2]string{{which, "\r"}, {trust, "\r"}, {hub, "\r"}}, 0, []string{`agent  = "claude"`}, []string{"trust =", "hub ="}, "Next: agentform plan", ""},
		"by name":        {nil, [][2]string{{which, "codex\r"}, {trust, "no\r"}, {hub, "n\r"}}, 0, []string{`agent  = "codex"`}, []string{"trust =", "hub ="}, "", ""},
		"flags":          {[]string{"--agent", "codex", "--trust", "--hub=false"}, nil, 0, []string{`agent "codex" {`, "trust = true"}, []string{"hub ="}, "", "?"},
		"yes":            {[]string{"--yes"}, nil, 0, []string{`agent  = "claude"`}, []string{"trust ="}, "", "?"},
		"Ctrl-C":         {nil, [][2]string{{which, "2\r"}, {trust, "\x03"}}, 130, nil, nil, "Cancelled: nothing was written.", ""},
		"Ctrl-C at once": {nil, [][2]string{{which, "\x03"}}, 130, nil, nil, "Cancelled: nothing was written.", ""},
		"Ctrl-D":         {nil, [][2]string{{which, "1\r"}, {trust, "y\r"}, {hub, "\x04"}}, 1, nil, nil, "nothing was written", ""},
		"another agent":  {[]string{"--agent", "cursor"}, nil, 1, nil, nil, "--agent cursor: must be claude, codex, copilot, gemini, opencode or", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			bin := filepath.Join(filepath.Dir(w.dir), "bin")
			if err := os.Mkdir(bin, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"claude", "codex"} {
				if err := os.Symlink(fake, filepath.Join(bin, name)); err != nil {
					t.Fatal(err)
				}
			}
			w.env = append(w.env, "PATH="+bin+":"+os.Getenv("PATH"))
			manifest := filepath.Join(w.dir, "agentform.hcl")
			if err := os.Remove(manifest); err != nil {
				t.Fatal(err)
			}
			exit, shown := w.at(append([]string{"init"}, c.args...), c.dialog...)
			if exit != c.exit || !strings.Contains(shown, c.shows) || c.silent != "" && strings.Contains(shown, c.silent) {
				t.Errorf("exit %d, want %d with %q:\n%s", exit, c.exit, c.shows, shown)
			}
			text, err := os.ReadFile(manifest)
			if c.has == nil {
				if err == nil {
					t.Errorf("it wrote\n%s", text)
				}
				if _, err := os.Stat(filepath.Join(w.dir, ".gitignore")); err == nil {
					t.Error("it wrote .gitignore")
				}
				return
			}
			for _, part := range c.has {
				if !strings.Contains(string(text), part) {
					t.Errorf("it lacks %q:\n%s", part, text)
				}
			}
			for _, part := range c.without {
				if strings.Contains(string(text), part) {
					t.Errorf("it has %q:\n%s", part, text)
				}
			}
			w.run("fmt", "--check")
			w.run("validate")
		})
	}
}

// TestApplyLooksAgain: at a terminal, apply ends with what became of what it started.
func TestApplyLooksAgain(t *testing.T) {
	w := newWorld(t, `
agent "fake" {
  base    = "claude"
  command = ["fakeagent", "-as-claude"]
}

agent "once" {
  command = ["fakeagent"]
}

session "asks" {
  agent  = agent.fake
  branch = "agents/asks"
  prompt = "ask touch x"
}

session "works" {
  agent  = agent.fake
  branch = "agents/works"
  prompt = "work until never on it"
}

session "ends" {
  agent  = agent.once
  branch = "agents/ends"
  args   = ["-exit", "3"]
}
`)
	exit, shown := w.at([]string{"apply", "--auto-approve"})
	if exit != 0 {
		t.Errorf("exit %d", exit)
	}
	for _, want := range []string{
		"1 session waits for you: asks asks: ",
		"1 session needs help: ends",
		"→ agentform logs ends",
		"1 session works: works → agentform attach works",
	} {
		if !strings.Contains(plaintext.Safe(shown), want) {
			t.Errorf("it lacks %q:\n%s", want, plaintext.Safe(shown))
		}
	}
	for line := range strings.Lines(plaintext.Safe(shown)) {
		if len([]rune(strings.TrimSpace(line))) > 80 && strings.Contains(strings.TrimSpace(line), " ") {
			t.Errorf("wider than the terminal: %s", line)
		}
	}
	// A row for each, and nothing else.
	_, shown = w.at([]string{"next", "--all"})
	rows := strings.Split(strings.TrimSpace(plaintext.Safe(shown)), "\n")
	if len(rows) != 2 || !strings.HasPrefix(rows[0], "asks: asks for ") || !strings.HasPrefix(rows[1], "ends: ") {
		t.Errorf("next --all: %q", rows)
	}
	// Nothing was started: nothing is looked at.
	if _, shown = w.at([]string{"apply", "--auto-approve", "--target", "works"}); strings.Contains(shown, "1 session") && strings.Contains(shown, "attach") {
		t.Errorf("it looked again:\n%s", shown)
	}
	// Without a terminal it does not wait.
	w.run("stop", "works")
	if out := w.run("apply", "--auto-approve", "--target", "works"); strings.Contains(out, "attach") {
		t.Errorf("it looked again:\n%s", out)
	}
}
