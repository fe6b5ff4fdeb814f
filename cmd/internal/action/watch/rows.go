package watch

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/ui"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// Broken reports whether there is a manifest, and it has errors.
func Broken(p *project.Project) bool {
	return session.HasErrors(p.Problems) && (len(p.Manifest.Files) > 0 || len(p.Files) > 0)
}

// Recorded is what ui shows until the sessions are observed.
func Recorded(p *project.Project, e *fleet.Observer) (ui.Fleet, error) {
	s, err := e.Engine.Read()
	if err != nil {
		return ui.Fleet{}, err
	}
	first := ui.Fleet{Project: p.Manifest.Project}
	for _, address := range choose.Addresses(p.Manifest.Sessions, s.Sessions) {
		first.Rows = append(first.Rows, ui.Row{Address: address})
	}
	return first, nil
}

// Rows lists sessions as status does: those that need somebody first.
func Rows(p *project.Project, s *fleet.Snapshot, now time.Time) ui.Fleet {
	all := ui.Fleet{At: s.World.At, Project: p.Manifest.Project, Hub: "hub " + string(Supervisor(s))}
	if Broken(p) {
		all.Hub = "the manifest has errors: agentform validate"
	}
	live := make(map[session.Address]*session.Live, len(s.Known))
	sessions := make([]api.Session, len(s.Known))
	for i, k := range s.Known {
		sessions[i], live[k.Address()] = status.Of(k), k.Live
	}
	all.Counts = view.Tallied(sessions)
	status.Sort(sessions)
	for _, x := range sessions {
		all.Rows = append(all.Rows, rowOf(x, live[x.Address], now))
	}
	return all
}

func rowOf(x api.Session, live *session.Live, now time.Time) ui.Row {
	g := view.GlanceOf(x, now)
	r := ui.Row{Address: x.Address, Status: g.Status, Color: ui.Color(g.Color), Reason: g.Reason, Needs: x.Needs != nil, Question: x.Question, Actions: x.Actions,
		About: strings.Join([]string{x.Role, x.Agent, x.Branch, x.Runtime}, " ")}
	if r.Work = x.Branch; x.Changes != nil {
		r.Work += "  " + g.Changes
	}
	if live != nil {
		r.Screen, r.Moved = live.Screen, live.MovedAt
	}
	at := time.Time{}
	if e := x.LastEvent; e != nil {
		at = e.Time
	}
	r.Version = fmt.Sprint(r.Moved.UnixNano(), at.UnixNano(), x.State, x.Activity, x.Detail, g.Changes)
	return r
}
