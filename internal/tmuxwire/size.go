package tmuxwire

import "fmt"

const columns, rows = 200, 50

// WindowSize returns the arguments of new-session for a window without a client: wide
// and high enough for what is read from it.
func WindowSize() []string {
	return []string{"-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows)}
}

// RestoreSize returns the arguments of the set-hook commands that give the windows of
// every session without a terminal their WindowSize back. tmux leaves them as small as
// the last client was, and what an agent asks may not fit in there. A session has no
// terminal if it has at most so many clients as watchers, which show nothing.
//
// resize-window fixes a window's size. The option is unset at once, so that the next
// client still sets its own.
func RestoreSize(watchers int) [][]string {
	restore := fmt.Sprintf(`run-shell -C "#{S:#{?#{e|>:#{session_attached},%d},,#{W:`+
		`resize-window -t #{window_id} -x %d -y %d ; set-option -uw -t #{window_id} window-size ; }}}"`, watchers, columns, rows)
	var hooks [][]string
	for _, left := range []string{"client-detached", "client-session-changed"} {
		hooks = append(hooks, []string{"-g", left, restore})
	}
	return hooks
}
