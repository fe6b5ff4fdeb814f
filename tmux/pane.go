package tmux

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// The user options of a session.
const (
	markOption  = "@agentform"
	paneOption  = "@agentform_pane"
	pauseOption = "@agentform_pause"
)

// pane is one session as tmux tells of it: its session and the one pane in it
// that is ours.
type pane struct {
	session  string
	id       string // %42
	dead     bool
	closed   bool // ours is gone and another pane of the session stands
	status   string
	signal   string // of the guest; both empty: tmux does not know, whatever dead says
	inputOff bool
	inMode   bool // a person scrolls in it
	attached int
	size     [2]int
	moved    int64  // unix time of the last output
	ours     string // paneOption
	pause    string // pauseOption
	mark     string // markOption
	dir      string
	title    string
}

// format is the row that parsePane reads: every text in it is quoted for fields.
const format = "#{q:session_name}|#{pane_id}|#{pane_dead}|#{pane_dead_status}|#{pane_dead_signal}|#{pane_input_off}|#{pane_in_mode}|" +
	"#{session_attached}|#{pane_width}|#{pane_height}|#{window_activity}|" +
	"#{q:" + paneOption + "}|#{q:" + pauseOption + "}|#{q:" + markOption + "}|#{q:pane_start_path}|#{q:pane_title}"

const columns = 16

func parsePane(row string) (pane, error) {
	return paneOf(fields(row))
}

// paneOf is the pane of the columns of format.
func paneOf(f []string) (pane, error) {
	if len(f) != columns {
		return pane{}, fmt.Errorf("tmux: a row of %d columns, want %d: %.200q", len(f), columns, f)
	}
	// Numbers that are missing are those of things that are not there: zero.
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	moved, _ := strconv.ParseInt(f[10], 10, 64)
	return pane{
		session: f[0], id: f[1], dead: f[2] == "1", status: f[3], signal: f[4],
		inputOff: f[5] == "1", inMode: f[6] != "" && f[6] != "0",
		attached: number(f[7]), size: [2]int{number(f[8]), number(f[9])}, moved: moved,
		ours: f[11], pause: f[12], mark: f[13], dir: f[14], title: f[15],
	}, nil
}

// parsePanes reads a listing whose every row begins with the nonce, which nobody
// could know before: a line break inside a row does not begin a new one.
func parsePanes(text, nonce string) ([]pane, error) {
	parts := strings.Split("\n"+text, "\n"+nonce+"|")
	var all []pane
	for _, row := range parts[1:] {
		p, err := parsePane(strings.TrimSuffix(row, "\n"))
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return sessionsOf(all), nil
}

// sessionsOf keeps of each session the pane that is ours; of one that is not
// marked, the first.
func sessionsOf(all []pane) []pane {
	var out []pane
	at := map[string]int{}
	for _, p := range all {
		p.closed = p.ours != "" && p.ours != p.id
		i, seen := at[p.session]
		switch {
		case !seen:
			at[p.session] = len(out)
			out = append(out, p)
		case out[i].closed && !p.closed:
			out[i] = p
		}
	}
	return out
}

// look lists the one session of that name; session.ErrGone if there is none.
func (s *server) look(ctx context.Context, name string) (pane, error) {
	nonce := newNonce()
	text, err := s.ask(ctx, command{"list-panes", "-s", "-t", exactly(name), "-F", nonce + "|" + format})
	if err != nil {
		return pane{}, err
	}
	found, err := parsePanes(text, nonce)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("tmux: %d sessions are called %q", len(found), name)
	}
	if err != nil {
		return pane{}, err
	}
	return found[0], nil
}

// live is the session as the rest of agentform sees it, but for what only the
// facts of its run tell.
func (r *Runtime) live(socket string, p pane) session.Live {
	l := session.Live{
		Place:    session.Place{Runtime: "tmux", Socket: socket, Name: p.session, Pane: p.id},
		PlaceUp:  true,
		InputOff: p.inputOff,
		Frozen:   p.pause == session.Freeze,
		Attached: p.attached,
		Dir:      p.dir,
		Title:    p.title,
		Size:     p.size,
	}
	if p.ours != "" {
		l.Place.Pane = p.ours
	}
	if p.moved > 0 {
		l.MovedAt = time.Unix(p.moved, 0)
	}
	l.Mark, l.Foreign = r.markOf(p)
	return l
}

// markOf reads a session's mark. It is foreign when there is none, when it makes
// no sense, or when it is another project's.
func (r *Runtime) markOf(p pane) (m session.Mark, foreign bool) {
	if err := json.Unmarshal([]byte(p.mark), &m); err != nil || m.Project == "" && m.Run == "" {
		return session.Mark{}, true
	}
	return m, r.config.Lineage != "" && m.Project != r.config.Lineage
}
