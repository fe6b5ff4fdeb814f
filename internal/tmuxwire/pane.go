package tmuxwire

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/proc"
)

// Pane is what tmux reports of a session and one pane in it. What a tmux in a container
// reports is not trusted: numbers are not negative, and times can be stored.
type Pane struct {
	Session    string
	ID         string // %42
	PID        int    // of the pane's process, also when it has ended
	Dead       bool
	ExitStatus string
	ExitSignal string // of the pane's process; both are empty if tmux does not know, even if Dead
	InputOff   bool
	InMode     bool // a client scrolls in it
	Attached   int
	Size       [2]int
	ActiveAt   time.Time // the last output
	AgentPane  string    // PaneOption
	Pause      string    // PauseOption
	Mark       string    // MarkOption
	Dir        string
	Title      string
}

// Exit returns the exit code of the pane's process, or the signal that ended it: tmux reports a
// number or a name. ok is false if tmux reports neither.
func (p Pane) Exit() (code int, signal string, ok bool) {
	if number, err := strconv.Atoi(p.ExitSignal); err == nil {
		return 0, proc.SignalName(syscall.Signal(number)), true
	}
	if p.ExitSignal != "" {
		return 0, "SIG" + strings.TrimPrefix(strings.ToUpper(p.ExitSignal), "SIG"), true
	}
	code, err := strconv.Atoi(p.ExitStatus)
	return code, "", err == nil
}

// PaneFormat is the format of the row that ParsePane reads.
const PaneFormat = "#{q:session_name}|#{pane_id}|#{pane_pid}|#{pane_dead}|#{pane_dead_status}|#{pane_dead_signal}|#{pane_input_off}|#{pane_in_mode}|" +
	"#{session_attached}|#{pane_width}|#{pane_height}|#{window_activity}|" +
	"#{q:" + PaneOption + "}|#{q:" + PauseOption + "}|#{q:" + MarkOption + "}|#{q:pane_start_path}|#{q:pane_title}"

const paneColumns = 17

// ParsePane reads a row of PaneFormat.
func ParsePane(row string) (Pane, error) { return paneOf(Fields(row)) }

func paneOf(f []string) (Pane, error) {
	if len(f) != paneColumns {
		return Pane{}, fmt.Errorf("tmux: a row of %d columns, expected %d: %.200q", len(f), paneColumns, f)
	}
	return Pane{
		Session: f[0], ID: f[1], PID: number(f[2]), Dead: f[3] == "1", ExitStatus: f[4], ExitSignal: f[5],
		InputOff: f[6] == "1", InMode: f[7] != "" && f[7] != "0",
		Attached: number(f[8]), Size: [2]int{number(f[9]), number(f[10])}, ActiveAt: timeOf(f[11]),
		AgentPane: f[12], Pause: f[13], Mark: f[14], Dir: f[15], Title: f[16],
	}, nil
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return max(n, 0)
}

// lastSecond is in the year 9999: later times cannot be stored.
const lastSecond = 253402300799

func timeOf(s string) time.Time {
	if n := number(s); n > 0 && n < lastSecond {
		return time.Unix(int64(n), 0)
	}
	return time.Time{}
}

// Process is a pane and the process in it.
type Process struct {
	Pane
	Created time.Time // the session
	Cwd     string    // of the process in the foreground
	Argv    []string  // what the pane was started with
}

// ProcessFormat is the format of the row that ParseProcess reads.
const ProcessFormat = "#{session_created}|#{q:pane_current_path}|#{q:pane_start_command}|" + PaneFormat

// ParseProcess reads a row of ProcessFormat.
func ParseProcess(row string) (Process, error) {
	f := Fields(row)
	p, err := paneOf(f[min(len(f), 3):])
	if err != nil {
		return Process{}, err
	}
	if p.PID == 0 {
		return Process{}, fmt.Errorf("tmux: pane %.40q names no process", p.ID)
	}
	return Process{Pane: p, Created: timeOf(f[0]), Cwd: f[1], Argv: startCommand(f[2])}, nil
}

// startCommand returns the command line of a pane, for a shell to read: tmux prints one
// word quoted.
func startCommand(printed string) []string {
	if text, err := strconv.Unquote(printed); err == nil {
		printed = text
	}
	if printed == "" {
		return []string{"sh"}
	}
	return []string{"sh", "-c", printed}
}

// Rows divides the output of a list command whose format starts with the nonce and a bar. The
// nonce, unknown to programs in a pane, makes a line break within a row harmless.
func Rows(text, nonce string) []string {
	rows := strings.Split("\n"+strings.TrimSuffix(text, "\n"), "\n"+nonce+"|")
	return rows[1:]
}

// Fields divides a row that was printed as #{q:a}|#{q:b}|…: the modifier q puts a
// backslash before each character that is special to a shell, such as the bar.
func Fields(row string) []string {
	var out []string
	var b strings.Builder
	for i := 0; i < len(row); i++ {
		switch c := row[i]; {
		case c == '\\' && i+1 < len(row):
			i++
			b.WriteByte(row[i])
		case c == '|':
			out = append(out, b.String())
			b.Reset()
		default:
			b.WriteByte(c)
		}
	}
	return append(out, b.String())
}

// Trim removes blanks at the ends of lines, blank lines at the end, and the line that
// tmux writes last into a pane whose process has ended.
func Trim(screen string) string {
	rows := strings.Split(strings.TrimRight(screen, "\n \t"), "\n")
	for i, row := range rows {
		rows[i] = strings.TrimRight(row, " \t")
	}
	if last := len(rows) - 1; strings.HasPrefix(rows[last], "Pane is dead (") && strings.HasSuffix(rows[last], ")") {
		rows = rows[:last]
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}

// LastLines returns the last lines of the output of Capture, trimmed; 0 returns all.
func LastLines(text string, lines int) string {
	rows := strings.Split(Trim(text), "\n")
	if lines > 0 {
		rows = rows[max(0, len(rows)-lines):]
	}
	return strings.Join(rows, "\n")
}
