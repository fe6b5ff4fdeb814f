package tmux

// windowSize is the arguments of new-session with the size of a window that nobody
// looks at: wide and high enough for what is read from it.
var windowSize = []string{"-x", "200", "-y", "50"}

// restoreSize is the command, for a hook, that gives the windows of every session
// without a client their windowSize back. tmux leaves them as small as the last client
// was, and what an agent asks may not fit in there.
//
// resize-window fixes a window's size. The option is unset at once, so that the next
// client still sets its own.
var restoreSize = `run-shell -C "#{S:#{?session_attached,,#{W:` +
	`resize-window -t #{window_id} -x ` + windowSize[1] + ` -y ` + windowSize[3] +
	` ; set-option -uw -t #{window_id} window-size ; }}}"`
