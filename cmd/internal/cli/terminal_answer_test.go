//go:build real

package cli_test

import (
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// TestAnswerAtATerminal checks that answer without an answer shows the question and asks for
// one, which goes to that question.
func TestAnswerAtATerminal(t *testing.T) {
	self, err := exec.LookPath("fakeagent")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, `
agent "fake" {
  base    = "claude"
  command = ["`+self+`", "-as-claude"]
}

session "api" {
  agent  = agent.fake
  branch = "agents/api"
}
`)
	w.run("apply", "--auto-approve", "--wait")
	w.run("send", "api", "ask touch x")
	w.run("wait", "api", "--for=blocked", "--timeout", "5m")
	for _, c := range []struct{ typed, want string }{
		{"maybe", `"maybe" is not an answer to: run "touch x"?`},
		{"", "no answer: nothing was sent"},
		{"no", `answered no: run "touch x"?`},
	} {
		command := w.command("answer", "api")
		command.Env = append(command.Env, "TERM=xterm-256color", "NO_COLOR=1")
		shown := &screen{}
		file, err := pty.StartWithSize(command, &pty.Winsize{Rows: 24, Cols: 80})
		if err != nil {
			t.Fatal(err)
		}
		go io.Copy(shown, file) // ends with the terminal
		shown.await(t, "3 or no: No")
		shown.await(t, "Answer: ")
		press(t, file, c.typed+"\r")
		_ = command.Wait() // what it shows says how it ended
		shown.await(t, c.want)
		file.Close()
	}
	w.run("wait", "api", "--timeout", "5m")
	if log := w.run("logs", "api"); !strings.Contains(log, "the answer was 3") {
		t.Errorf("the agent was not told no:\n%s", log)
	}
	w.run("destroy", "--auto-approve")
}
