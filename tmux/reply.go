package tmux

import "strings"

// reply is what tmux answered to one command.
type reply struct {
	text   string // lines, each without its end, joined by newlines
	failed bool   // text is the error
	ours   bool   // the command came over this client's input
}

// replies finds the replies in what a control-mode client prints: lines between
// %begin and %end or %error. Everything else in it is notifications, which mean
// nothing here.
type replies struct {
	open  bool
	guard string // time, number and flags of the open reply
	lines []string
	size  int
}

// replyLimit bounds one reply; what comes beyond it is dropped. The largest
// real one is a listing of 128 panes.
const replyLimit = 4 << 20

// line takes the next line, without its end, and returns a reply when it
// completes one. Only the guards that opened a reply close it, so a line of its
// text that looks like an end does not.
func (r *replies) line(s string) (reply, bool) {
	word, guard, _ := strings.Cut(s, " ")
	if !r.open {
		if word == "%begin" && guarded(guard) {
			*r = replies{open: true, guard: guard}
		}
		return reply{}, false
	}
	if (word == "%end" || word == "%error") && guard == r.guard {
		done := reply{text: strings.Join(r.lines, "\n"), failed: word == "%error", ours: strings.HasSuffix(guard, " 1")}
		*r = replies{}
		return done, true
	}
	if r.size += len(s) + 1; r.size <= replyLimit {
		r.lines = append(r.lines, s)
	}
	return reply{}, false
}

// guarded reports whether s is the three numbers of a guard.
func guarded(s string) bool {
	parts := strings.Split(s, " ")
	if len(parts) != 3 {
		return false
	}
	for _, p := range parts {
		if p == "" || strings.Trim(p, "0123456789") != "" {
			return false
		}
	}
	return true
}
