//go:build real

package tmux_test

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// everything is a format with all that Observe needs.
const everything = "#{session_name}|#{pane_id}|#{pane_pid}|#{pane_dead}|#{pane_dead_status}|#{pane_dead_signal}|#{pane_input_off}|#{pane_in_mode}|" +
	"#{session_attached}|#{pane_width}|#{pane_height}|#{window_activity}|#{@agentform_pane}|#{@agentform_pause}|#{@agentform}|#{pane_start_path}|#{pane_title}"

// unlimited is a benchmark, for which go test has no time limit.
type unlimited struct{ *testing.B }

func (unlimited) Deadline() (at time.Time, ok bool) { return }

// BenchmarkObserve observes 100 sessions. The baselines are one list-panes by a connected client,
// and one by a new process.
func BenchmarkObserve(b *testing.B) {
	const n = 100
	bed := newBed(unlimited{b})
	for i := range n {
		l := bed.launch(b, fmt.Sprintf("app-n%d-000000", i))
		l.Argv = []string{"sleep", "10000"}
		bed.create(b, l)
	}
	b.Run("floor=list-panes", func(b *testing.B) {
		cmd := exec.Command("tmux", "-u", "-S", bed.socket(0), "-C", "new-session", "-s", "bench", "--", "sleep", "10000")
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for b.Loop() {
			if _, err := fmt.Fprintln(in, "list-panes -a -F '"+everything+"'"); err != nil {
				b.Fatal(err)
			}
			for lines.Scan() && !(strings.HasPrefix(lines.Text(), "%end") && strings.HasSuffix(lines.Text(), " 1")) {
			}
		}
		fmt.Fprintln(in, "kill-session -t =bench:")
		in.Close()
		for lines.Scan() {
		}
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("floor=process", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("tmux", "-S", bed.socket(0), "list-panes", "-a", "-F", everything).Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, screens := range []bool{false, true} {
		b.Run(fmt.Sprintf("screens=%v", screens), func(b *testing.B) {
			for b.Loop() {
				if lives, err := bed.runtime.Observe(b.Context(), screens); err != nil || len(lives) != n {
					b.Fatalf("%d sessions, %v", len(lives), err)
				}
			}
		})
	}
}
