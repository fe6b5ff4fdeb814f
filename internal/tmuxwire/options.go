package tmuxwire

import (
	"fmt"
	"os"
	"path/filepath"
)

// The user options of a session.
const (
	MarkOption  = "@agentform"       // a session.Mark, as JSON
	PaneOption  = "@agentform_pane"  // the id of the agent's pane
	PauseOption = "@agentform_pause" // the mode in which the session is paused
	// DetachOption has the keys that detach the client that attached last. Without it
	// they are tmux's own.
	DetachOption = "@agentform_detach"
)

// NoPrefix is the value of tmux's prefix option for no key.
const NoPrefix = "None"

// columns and rows are the size of a window without a client.
const columns, rows = 200, 50

// Options returns the commands that set the options and hooks on which sessions rely.
// Watchers is the number of clients of a session that show nothing: a container's init is
// one. Terminal is apart, since it depends on the terminfo files next to tmux.
func Options(watchers int) []Command {
	all := []Command{
		{"set-option", "-s", "exit-empty", "on"},  // tmux -D turns it off
		{"set-option", "-s", "escape-time", "20"}, // ms; the default of 500 makes Escape, which agents use often, slow
		{"set-option", "-g", "update-environment", ""},
		{"set-option", "-g", "destroy-unattached", "off"},
		{"set-option", "-g", "set-titles", "off"},
		// The history is the only place for the output of an agent without a session file. A full
		// one takes 50 MB in the worst case (5 bytes a cell), text of agents a tenth of that.
		{"set-option", "-g", "history-limit", "50000"},
		{"set-option", "-gw", "remain-on-exit", "on"}, // keeps the exit status of the pane's process
		{"set-option", "-gw", "allow-rename", "off"},  // names are for people; the title stays the agent's
		{"set-option", "-gw", "automatic-rename", "off"},
		// The status line shows the session and how to detach: what attach prints can be
		// read only after tmux has restored the terminal. That of a page is empty.
		{"set-option", "-g", "status-style", "#{?" + ofPage + ",default,bg=green fg=black}"},
		{"set-option", "-g", "status-left", "#{?" + ofPage + ",, #{window_name} }"},
		{"set-option", "-g", "status-left-length", "60"},
		{"set-option", "-g", "status-right", "#{?" + ofPage + ",, #{?" + DetachOption + ",#{" + DetachOption + "},Ctrl-b d} detaches; the agent keeps running }"},
		{"set-option", "-g", "status-right-length", "60"},
		// Windows are listed only if there is more than the agent's.
		{"set-option", "-gw", "window-status-format", "#{?#{||:" + ofPage + ",#{==:#{session_windows},1}},,#I:#W}"},
		{"set-option", "-gw", "window-status-current-format", "#{?#{||:" + ofPage + ",#{==:#{session_windows},1}},,#I:#W*}"},
	}
	all = append(all, prefixOfPeople()...)
	for _, hook := range []string{"client-detached", "client-session-changed"} {
		all = append(all, Command{"set-hook", "-g", hook, restoreSize(watchers)})
	}
	return all
}

// ofPage is a format that is true of the clients that Watching and Controlling attach.
const ofPage = "#{m:*" + pageFlag + "*,#{client_flags}}"

// prefixOfPeople returns the commands that make Ctrl-b the prefix of all clients but those
// of pages: a page must reach the agent, and no command of tmux, which may start a shell.
// tmux has one prefix for all clients of a session, so it has none here, and bindings do
// what a prefix does, also where keys scroll.
func prefixOfPeople() []Command {
	const key = "C-b"
	all := []Command{
		{"set-option", "-g", "prefix", NoPrefix},
		{"set-option", "-g", "prefix2", NoPrefix},
		{"bind-key", "-T", "prefix", key, "send-keys", key},
	}
	for _, table := range []struct{ name, page string }{
		{"root", "send-keys " + key},
		{"copy-mode", "send-keys -X cursor-left"}, // what tmux binds there
		{"copy-mode-vi", "send-keys -X page-up"},
	} {
		all = append(all, Command{"bind-key", "-T", table.name, key, "if-shell", "-F", ofPage, table.page, "switch-client -T prefix"})
	}
	return all
}

// restoreSize returns the command that resizes the windows of all sessions without a
// terminal to their first size: an agent's question may not fit in that of the last client.
// resize-window fixes a window's size; the option is unset, so that the next client sets its
// own.
func restoreSize(watchers int) string {
	return fmt.Sprintf(`run-shell -C "#{S:#{?#{e|>:#{session_attached},%d},,#{W:`+
		`resize-window -t #{window_id} -x %d -y %d ; set-option -uw -t #{window_id} window-size ; }}}"`, watchers, columns, rows)
}

// Terminal returns the command that sets the TERM of panes: tmux's own where this
// machine, or the container in which it runs, describes that.
func Terminal() Command {
	dirs := []string{"/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo", "/usr/lib/terminfo", "/usr/local/share/terminfo", "/opt/homebrew/share/terminfo"}
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".terminfo"))
	}
	name := "screen-256color"
	for _, dir := range dirs {
		for _, letter := range []string{"t", "74"} { // macOS names the directory by the letter's code
			if _, err := os.Stat(filepath.Join(dir, letter, "tmux-256color")); err == nil {
				name = "tmux-256color"
			}
		}
	}
	return Command{"set-option", "-s", "default-terminal", name}
}
