package tmux

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// pane is one session as tmux reports it: the session and its one pane that is ours.
type pane struct {
	tmuxwire.Pane
	closed bool // ours is gone and another pane of the session exists
}

// parsePanes reads a listing whose every row begins with the nonce, which nobody
// could know before: a line break inside a row does not begin a new one.
func parsePanes(text, nonce string) ([]pane, error) {
	var all []pane
	for _, row := range tmuxwire.Rows(text, nonce) {
		p, err := tmuxwire.ParsePane(row)
		if err != nil {
			return nil, err
		}
		all = append(all, pane{Pane: p})
	}
	return sessionsOf(all), nil
}

// sessionsOf keeps of each session the pane that is ours; of one that is not
// marked, the first.
func sessionsOf(all []pane) []pane {
	var out []pane
	at := map[string]int{}
	for _, p := range all {
		p.closed = p.AgentPane != "" && p.AgentPane != p.ID
		i, seen := at[p.Session]
		switch {
		case !seen:
			at[p.Session] = len(out)
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
	text, err := s.ask(ctx, tmuxwire.Command{"list-panes", "-s", "-t", tmuxwire.Session(name), "-F", nonce + "|" + tmuxwire.PaneFormat})
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
		Place:    session.Place{Runtime: "tmux", Socket: socket, Name: p.Session, Pane: p.ID},
		PlaceUp:  true,
		InputOff: p.InputOff,
		Frozen:   p.Pause == session.Freeze,
		Attached: p.Attached,
		Dir:      p.Dir,
		Title:    p.Title,
		Size:     p.Size,
		MovedAt:  p.ActiveAt,
	}
	if p.AgentPane != "" {
		l.Place.Pane = p.AgentPane
	}
	l.Mark, l.Foreign = r.markOf(p)
	return l
}

// markOf reads a session's mark. It is foreign when there is none, when it makes
// no sense, or when it is another project's.
func (r *Runtime) markOf(p pane) (m session.Mark, foreign bool) {
	if err := json.Unmarshal([]byte(p.Mark), &m); err != nil || m.Project == "" && m.Run == "" {
		return session.Mark{}, true
	}
	return m, r.config.Lineage != "" && m.Project != r.config.Lineage
}
