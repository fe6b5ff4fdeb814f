package tmuxwire

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Command is one tmux command, as its words.
type Command []string

// Line returns commands as one line of a tmux script. tmux runs them in order until one
// fails, with no command of another client in between.
func Line(cmds ...Command) string {
	var b strings.Builder
	for i, c := range cmds {
		if i > 0 {
			b.WriteString(" ; ")
		}
		for j, w := range c {
			if j > 0 {
				b.WriteByte(' ')
			}
			quote(&b, w)
		}
	}
	return b.String()
}

// quote writes a word in double quotes, where the backslash, the quote and the dollar
// are special. A leading tilde would be expanded even there, and a byte of 0xff ends the
// file, so other than printable ASCII is written in octal.
func quote(b *strings.Builder, w string) {
	b.WriteByte('"')
	for i := range len(w) {
		switch c := w[i]; {
		case c == '"' || c == '\\' || c == '$':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c >= '~':
			fmt.Fprintf(b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}

// Args returns commands as the arguments of one tmux process.
func Args(cmds ...Command) []string {
	var args []string
	for i, c := range cmds {
		if i > 0 {
			args = append(args, ";")
		}
		args = append(args, c...)
	}
	return args
}

// Literal escapes text for an argument that tmux expands as a format, in which #(…)
// would run a command.
func Literal(s string) string { return strings.ReplaceAll(s, "#", "##") }

// Session returns the target of the session with exactly this name.
func Session(name string) string { return "=" + name + ":" }

// WindowName returns a window name for text: without what tmux takes for a format, a
// style or the end of a command.
func WindowName(text string) string {
	return strings.Map(func(c rune) rune {
		if c == '#' || c == ';' || !unicode.IsPrint(c) {
			return '_'
		}
		return c
	}, text)
}

// NewSession returns the command that creates a detached session of one window and
// prints its pane's id. The window is wide and high enough for what is read from it.
// Without argv the pane runs a shell.
func NewSession(name, window, dir string, argv ...string) Command {
	c := Command{"new-session", "-d", "-P", "-F", "#{pane_id}", "-s", name}
	if window != "" {
		c = append(c, "-n", window)
	}
	c = append(c, "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), "-c", Literal(dir))
	if len(argv) > 0 {
		c = append(append(c, "--"), argv...)
	}
	return c
}

// Key returns the command that presses a key, by its tmux name.
func Key(pane, name string) Command { return Command{"send-keys", "-t", pane, name} }

// Paste returns the command that pastes a buffer and deletes it. The paste is bracketed
// where the program in the pane asked for that.
func Paste(pane, buffer string) Command {
	return Command{"paste-buffer", "-p", "-d", "-b", buffer, "-t", pane}
}

// CancelMode returns the command that ends copy mode, in which keys scroll.
func CancelMode(pane string) Command { return Command{"send-keys", "-t", pane, "-X", "cancel"} }

// EnableInput and DisableInput return the commands that make a pane accept or drop what
// is typed.
func EnableInput(pane string) Command  { return Command{"select-pane", "-e", "-t", pane} }
func DisableInput(pane string) Command { return Command{"select-pane", "-d", "-t", pane} }

// Capture returns the command that prints the last lines of a pane's history and its
// screen, wrapped lines joined. 0 prints all of it.
func Capture(pane string, lines int) Command {
	from := "-"
	if lines > 0 {
		from = fmt.Sprint(-lines)
	}
	return Command{"capture-pane", "-p", "-J", "-S", from, "-t", pane}
}

// Screen returns the command that prints what a pane shows. tmux has scrolled a dead pane by a
// line, for a message of its own.
func Screen(pane string) Command {
	dead, alive := Line(Command{"capture-pane", "-p", "-S", "-1", "-t", pane}), Line(Command{"capture-pane", "-p", "-t", pane})
	return Command{"if-shell", "-F", "-t", pane, "#{pane_dead}", dead, alive}
}

// Flags returns the flags of a tmux command: UTF-8, no configuration file, the socket.
func Flags(socket string) []string { return []string{"-u", "-f", "/dev/null", "-S", socket} }

// Attach returns the command line that attaches a terminal to a session or pane. Without a
// socket it is that of the user's default server.
func Attach(bin, socket, target string) []string {
	argv := []string{bin, "-u"}
	if socket != "" {
		argv = append(argv, "-S", socket)
	}
	return append(argv, attachCommand, "-t", target)
}

// attachCommand is the command in what Attach returns, also behind the words of a runtime.
const attachCommand = "attach-session"

// pageFlag marks a client of a page for Options. It lets a client have an active pane of its
// own, which none chooses without a prefix.
const pageFlag = "active-pane"

// Watching returns a command line of Attach for a page that only watches: tmux ignores its keys,
// and its size while another client is attached.
func Watching(attach []string) []string { return withFlags(attach, "read-only,ignore-size,"+pageFlag) }

// Controlling returns a command line of Attach for a page that types into the agent.
func Controlling(attach []string) []string { return withFlags(attach, pageFlag) }

func withFlags(attach []string, flags string) []string {
	i := slices.Index(attach, attachCommand)
	if i < 0 {
		return attach
	}
	return slices.Insert(slices.Clone(attach), i+1, "-f", flags)
}

// Describe returns a command line that prints, where a command line of Attach attaches, the
// size of the window in the first line, and then the last lines that have scrolled out of
// the screen, with their colors. ParseDescription reads the first line.
func Describe(attach []string, lines int) []string {
	i := slices.Index(attach, attachCommand)
	if i < 0 {
		return attach
	}
	target := attach[i+2]
	return slices.Concat(attach[:i], Args(
		Command{"display-message", "-p", "-t", target, "#{window_width} #{window_height} #{history_size} #{status} #{prefix}"},
		Command{"capture-pane", "-p", "-e", "-S", fmt.Sprint(-lines), "-E", "-1", "-t", target}))
}

// Description is the first line that Describe's command prints.
type Description struct {
	Columns, Rows int // of the window
	History       int // lines that have scrolled out of the screen
	Status        int // lines that the status takes below or above the window
	Prefix        string
}

// ParseDescription reads the first line that Describe's command prints.
func ParseDescription(line string) (d Description, err error) {
	var status string
	if _, err := fmt.Sscanf(line, "%d %d %d %s %s", &d.Columns, &d.Rows, &d.History, &status, &d.Prefix); err != nil {
		return d, fmt.Errorf("read the size of the window: unexpected %.80q", line)
	}
	switch status {
	case "off":
	case "on":
		d.Status = 1
	default: // 2 to 5
		if d.Status, err = strconv.Atoi(status); err != nil {
			return d, fmt.Errorf("read the size of the window: unexpected status %.20q", status)
		}
	}
	return d, nil
}

// The reasons why a tmux command failed.
var (
	ErrExists    = errors.New("the session exists")
	ErrNoSession = errors.New("there is no such session")
	// ErrNoServer means that no server listens on the socket, or that it exited during
	// the command. A server that was killed closes new connections until it has exited.
	ErrNoServer = errors.New("no server is running")
)

// reasons is in the order in which it is searched.
var reasons = []struct {
	text   string
	reason error
}{
	{"duplicate session", ErrExists},
	{"can't find ", ErrNoSession},
	{"no current target", ErrNoSession}, // a server without sessions
	{"(Permission denied)", nil},        // error connecting to … (Permission denied): does not change
	{"server exited", ErrNoServer},
	{"lost server", ErrNoServer},
	{"no server running", ErrNoServer},
	{"error connecting to", ErrNoServer},
}

// Reason returns the reason of a failure from tmux's standard error, or nil if it is none of the
// above.
func Reason(stderr string) error {
	for _, r := range reasons {
		if strings.Contains(stderr, r.text) {
			return r.reason
		}
	}
	return nil
}
