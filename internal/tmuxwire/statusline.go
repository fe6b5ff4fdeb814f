// Package tmuxwire has the parts of tmux's language that the tmux and the docker
// runtime share.
package tmuxwire

// DetachOption is the session's option with the keys that detach the client that
// attached last. Without it they are tmux's own.
const DetachOption = "@agentform_detach"

// StatusLine returns the arguments of the set-option commands that make a server's
// status line show the session and how to detach: what attach prints before tmux takes
// the terminal over can be seen only afterwards.
func StatusLine() [][]string {
	return [][]string{
		{"-g", "status-left", " #{window_name} "},
		{"-g", "status-left-length", "60"},
		{"-g", "status-right", " #{?" + DetachOption + ",#{" + DetachOption + "},Ctrl-b d} detaches; the agent keeps running "},
		{"-g", "status-right-length", "60"},
		// The windows only where somebody has opened more than ours.
		{"-gw", "window-status-format", "#{?#{==:#{session_windows},1},,#I:#W}"},
		{"-gw", "window-status-current-format", "#{?#{==:#{session_windows},1},,#I:#W*}"},
	}
}
