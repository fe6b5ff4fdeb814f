//go:build real

package docker_test

import (
	"path/filepath"
	"testing"

	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/shim/filecopy"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// keeper is an agent that appends its input to a session file in its home, until the input is "exit
// 0".
const keeper = `
stty -echo
mkdir -p "$HOME/.agent/sessions"
while IFS= read -r line; do
	printf '%s\n' "$line" >>"$HOME/.agent/sessions/one.jsonl"
	[ "$line" != "exit 0" ] || exit 0
done
`

// TestSessionFilesAreCopied checks that the session files of an agent with its home in a container
// are copied along with its screen, and once more when it has exited.
func TestSessionFilesAreCopied(t *testing.T) {
	for way, b := range map[string]struct {
		bed    func(t *testing.T) *bed
		launch func(b *bed, t *testing.T) session.Launch
	}{
		"here":      {func(t *testing.T) *bed { return newBed(t) }, func(b *bed, t *testing.T) session.Launch { return b.launch(t, "keeps") }},
		"elsewhere": {func(t *testing.T) *bed { return newFarBed(t, byTLS) }, func(b *bed, t *testing.T) session.Launch { return b.farLaunch(t, "keeps") }},
	} {
		t.Run(way, func(t *testing.T) {
			bed := b.bed(t)
			l := b.launch(bed, t)
			l.Argv, l.SessionFolders = []string{"sh", "-c", keeper}, []string{filecopy.Home + "/.agent/sessions"}
			p := bed.create(t, l)
			copied := filepath.Join(layout.Data{Dir: bed.config.DataDir}.Copy(l.Mark.ID), "~", ".agent/sessions/one.jsonl")
			send := func(line string) {
				t.Helper()
				if err := bed.runtime.Send(t.Context(), p, session.Input{Text: line}); err != nil {
					t.Fatal(err)
				}
			}
			send("one")
			send("two")
			wait.For(t, "the copy has both lines", func() (any, bool) {
				if _, err := bed.runtime.Observe(t.Context(), true); err != nil {
					t.Fatal(err)
				}
				text := read(copied)
				return text, text == "one\ntwo\n"
			})
			send("three")
			send("exit 0")
			bed.dies(t, p)
			if got := read(copied); got != "one\ntwo\nthree\nexit 0\n" {
				t.Errorf("after its end the copy has %q", got)
			}
		})
	}
}
