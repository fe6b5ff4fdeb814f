package docker

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// pane is the agent's pane: each run has a tmux server of its own, and this is the
// first one that is made on it.
const pane = "%0"

// lastSecond is that of the year 9999: later times cannot be stored.
const lastSecond = 253402300799

// row is what tmux tells of the agent's pane. It was written in the container.
type row struct {
	dead     bool
	inputOff bool
	inMode   bool // a person scrolls in it
	attached int
	size     [2]int
	moved    time.Time
	title    string
}

// format is the line that parse reads.
const format = "#{pane_dead}|#{pane_input_off}|#{pane_in_mode}|#{session_attached}|#{pane_width}|#{pane_height}|#{window_activity}|#{pane_title}"

func parse(line string) (row, error) {
	f := strings.SplitN(line, "|", 8)
	if len(f) != 8 {
		return row{}, fmt.Errorf("tmux: a row of %d columns, want 8: %.200q", len(f), line)
	}
	number := func(s string) int { n, _ := strconv.Atoi(s); return max(n, 0) } // what is missing is of what is not there
	r := row{
		dead: f[0] == "1", inputOff: f[1] == "1", inMode: f[2] != "" && f[2] != "0",
		attached: number(f[3]), size: [2]int{number(f[4]), number(f[5])}, title: f[7],
	}
	if moved := number(f[6]); moved > 0 && moved < lastSecond {
		r.moved = time.Unix(int64(moved), 0)
	}
	return r, nil
}

// show adds to a session what tmux tells of its pane.
func (r row) show(l *session.Live, watching bool) {
	l.InputOff = r.inputOff
	l.Size, l.MovedAt, l.Title = r.size, r.moved, r.title
	if l.Attached = r.attached; watching {
		l.Attached = max(0, r.attached-1)
	}
}

// trim takes blank lines off the end, spaces off each line's, and what tmux itself
// writes into a pane whose process has ended.
func trim(text string) string {
	rows := strings.Split(strings.TrimRight(text, "\n \t"), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " \t")
	}
	if last := len(rows) - 1; strings.HasPrefix(rows[last], "Pane is dead (") && strings.HasSuffix(rows[last], ")") {
		rows = rows[:last]
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}
