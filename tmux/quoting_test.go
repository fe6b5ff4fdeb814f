//go:build real

package tmux

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/tmuxwire"
)

// TestQuoting checks that tmux reads any word as it is, since a wrong one would break its
// batch.
func TestQuoting(t *testing.T) {
	dir, err := os.MkdirTemp("", "af")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s := &server{socket: filepath.Join(dir, "tmux-0")}
	if _, err := s.begin(t.Context(), tmuxwire.Command{"new-session", "-d", "-s", "q", "--", "sleep", "1000"}); err != nil {
		t.Fatal(err)
	}
	defer s.ask(t.Context(), tmuxwire.Command{"kill-server"})
	var every []byte
	for c := 1; c < 256; c++ {
		every = append(every, byte(c))
	}
	for _, w := range []string{
		string(every), "a", " ", ";", "a;", "\\", "\\;", "{", "}", "%if x", "%1", "~", "~root", "$HOME ${HOME}", "#{pane_id} #[x] #(x) ##", "'", `"`,
		"-b", "\n", "a\n%end 1 2 1\nb", "ü✳", "\xff\xfe", strings.Repeat("0123456789abcde\n", 1<<17),
	} {
		path := filepath.Join(dir, "buffer")
		if _, err := s.ask(t.Context(), tmuxwire.Command{"set-buffer", "-b", "b", "--", w}, tmuxwire.Command{"save-buffer", "-b", "b", path}); err != nil {
			t.Errorf("%.40q: %v", w, err)
			continue
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != w {
			t.Errorf("%.300q came back as %.300q, %v", w, got, err)
		}
	}
}
