//go:build real

package cli_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/agentform/agentform/internal/test/wait"
)

const oneFake = `
agent "fake" {
  command = ["fakeagent"]
  ready   = "ready>"
}

session "api" {
  agent  = agent.fake
  branch = "agents/api"
}
`

// Ctrl-C and Ctrl-D are answers to a question: its line ends, and nothing is
// done. With Ctrl-C the exit code is that of an interrupt.
func TestNoAnswer(t *testing.T) {
	for key, want := range map[string]int{"\x03": 130, "\x04": 1} {
		w := newWorld(t, oneFake)
		c := w.command("apply")
		c.Env = append(c.Env, "TERM=xterm-256color")
		terminal, err := pty.StartWithSize(c, &pty.Winsize{Rows: 40, Cols: 120})
		if err != nil {
			t.Fatal(err)
		}
		defer terminal.Close()
		var screen screen
		reported := make(chan struct{})
		go func() {
			_, _ = io.Copy(&screen, terminal) // ends, with an error, when nobody writes any more
			close(reported)
		}()
		const question = "Only 'yes' will be accepted: "
		screen.await(t, question)
		if _, err := terminal.WriteString(key); err != nil {
			t.Fatal(err)
		}
		_ = ended(t, c, &screen) // its exit code is looked at here
		<-reported
		if code := c.ProcessState.ExitCode(); code != want {
			t.Errorf("%q: exit code %d, want %d\n%s", key, code, want, &screen)
		}
		if _, eventsSince, _ := strings.Cut(screen.String(), question); !strings.HasPrefix(strings.TrimPrefix(eventsSince, "^C"), "\r\n") {
			t.Errorf("%q: the question's line does not end: %q", key, eventsSince)
		}
		if got := w.run("state", "list"); got != "" {
			t.Errorf("%q: on record: %s", key, got)
		}
	}
}

// Inside another tmux, the keys that are named come back from the session, and
// leave that tmux where it is.
func TestAttachInsideTmux(t *testing.T) {
	for prefix, keys := range map[string][]string{"C-b": {"C-b", "C-b", "d"}, "C-a": {"C-b", "d"}} {
		t.Run(prefix, func(t *testing.T) {
			w := newWorld(t, oneFake)
			w.run("apply", "--auto-approve", "--wait")
			socket := filepath.Join(filepath.Dir(w.dir), "outer")
			outer := func(args ...string) string {
				t.Helper()
				c := exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
				c.Dir, c.Env = w.dir, append(w.env, "TERM=xterm-256color")
				out, err := c.CombinedOutput()
				if err != nil {
					t.Fatalf("tmux %v: %v\n%s", args, err, out)
				}
				return string(out)
			}
			outer("new-session", "-d", "-s", "o", "-x", "100", "-y", "30", "sh", ";", "set-option", "-g", "prefix", prefix)
			// A client of the outer one, since only that takes prefixes.
			c := exec.Command("tmux", "-S", socket, "attach", "-t", "o")
			c.Env = append(w.env, "TERM=xterm-256color")
			terminal, err := pty.StartWithSize(c, &pty.Winsize{Rows: 30, Cols: 100})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				outer("kill-server")
				_ = c.Wait() // it ends with its server
				terminal.Close()
			}()
			var screen screen
			go io.Copy(&screen, terminal) // ends with the terminal
			awaitPane := func(text string) {
				t.Helper()
				wait.For(t, fmt.Sprintf("the pane shows %q", text), func() (any, bool) {
					shown := outer("capture-pane", "-p", "-t", "o")
					return shown, strings.Contains(shown, text)
				})
			}
			outer("send-keys", "-t", "o", "agentform attach api 2>told; echo BA''CK", "Enter")
			want := strings.ReplaceAll(strings.Join(keys, " "), "C-", "Ctrl-") + " detaches"
			awaitPane("ready>")
			awaitPane(want) // in the status line
			for _, key := range keys {
				time.Sleep(100 * time.Millisecond) // keys at once are a paste to tmux, and no command
				typed := map[string]string{"C-b": "\x02", "d": "d"}[key]
				if _, err := terminal.WriteString(typed); err != nil {
					t.Fatal(err)
				}
			}
			awaitPane("BACK")
			reported, err := os.ReadFile(filepath.Join(w.dir, "told"))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(reported), ": "+want) {
				t.Errorf("told %q, want %q", reported, want)
			}
		})
	}
}
