package server

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

const lastEvents = 10

// requested returns the snapshot for a request: the last one, or a fresh one.
func (s *Server) requested(r *http.Request) (*hub.Snapshot, error) {
	if r.URL.Query().Get("fresh") == "true" {
		return s.look(r.Context())
	}
	return s.cfg.Hub.Snapshot(), nil
}

func (s *Server) look(ctx context.Context) (*hub.Snapshot, error) {
	ctx, done := context.WithTimeout(ctx, lookTime)
	defer done()
	return s.cfg.Hub.Look(ctx)
}

func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) error {
	snapshot, err := s.requested(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	d := s.rows.document(snapshot, q.Get("ranked") == "true", q.Get("version"))
	_, d.HubFault = healthOf(snapshot, time.Now())
	if d.Since != "" {
		return answerOnce(w, d)
	}
	same := d
	same.Sessions = nil // the version stands for them
	return answerUnless(w, http.StatusOK, d, same)
}

func (s *Server) getSession(w http.ResponseWriter, r *http.Request) error {
	snapshot, err := s.requested(r)
	if err != nil {
		return err
	}
	k, err := find(snapshot, r.PathValue("id"))
	if err != nil {
		return err
	}
	events := lastEvents
	if n, err := strconv.Atoi(r.URL.Query().Get("events")); err == nil {
		events = n
	}
	past := k.Events
	if events > 0 && k.Record != nil {
		if read, err := history.Read(s.cfg.Folder(*k.Record), time.Time{}); err == nil { // else without the screens
			past = read
		}
	}
	x := status.Detail{Session: status.Of(k), Record: k.Record, Events: past[max(0, len(past)-events):]}
	if k.Live != nil {
		x.Screen = k.Live.Screen
	} else {
		x.Exit = s.cfg.Facts(k.Record.Run.ID).Exit
	}
	return answer(w, http.StatusOK, x.Document())
}

func (s *Server) getData(w http.ResponseWriter, r *http.Request) error {
	most, _ := strconv.Atoi(r.URL.Query().Get("tail")) // it was validated; 0: all
	k, err := find(s.cfg.Hub.Snapshot(), r.PathValue("id"))
	if err != nil {
		return err
	}
	x := status.Of(k)
	var told activity.Conversation
	if x.Observable { // before it, the agent's session file is not read
		if told, err = s.cfg.Activity.Conversation(*k.Record); err != nil {
			return err
		}
	}
	d := api.Data{Format: api.FormatVersion, Address: x.Address, ID: x.ID, Alive: x.Alive, Observable: x.Observable,
		Activity: x.Activity, Path: told.Path}
	d.Entries, d.Truncated = status.LastEntries(told.Entries, most)
	switch {
	case k.Live != nil:
		d.Screen = s.screen(r.Context(), *k.Live, k.Record.Address, most, told.Path == "")
	case k.Record != nil:
		text, cut := lastLines(history.LastScreen(s.cfg.Folder(*k.Record)), most)
		d.Screen.Text, d.Screen.Truncated = wire.Tail(text)
		d.Screen.Truncated = d.Screen.Truncated || cut
	}
	d.Truncated = d.Truncated || d.Screen.Truncated || told.Cut
	return answer(w, http.StatusOK, d)
}

// screen returns the end of a session's screen, or, if whole, of its scrollback.
func (s *Server) screen(ctx context.Context, l session.Live, a session.Address, most int, whole bool) (shown api.Screen) {
	text, gone := l.Screen, scrolled(l)
	if whole { // also if the screen looks empty below: an agent may have cleared that part
		ctx, done := context.WithTimeout(ctx, lookTime)
		defer done()
		lines := most + 1 // to see whether there are more
		if most == 0 {
			lines = session.TailLimit // a line takes a byte at least
		}
		if all, err := s.cfg.Hub.Capture(ctx, a, lines); err == nil {
			text, gone = all, false
		}
	}
	text, cut := lastLines(strings.TrimRight(text, " \t\r\n"), most)
	shown.Text, shown.Truncated = wire.Tail(text)
	shown.Truncated = shown.Truncated || cut || gone
	return shown
}

func scrolled(l session.Live) bool {
	shown := strings.TrimRight(l.Screen, " \t\r\n")
	return l.Size[1] > 0 && strings.Count(shown, "\n")+1 >= l.Size[1]-1
}

// lastLines returns the last lines of a text, all for 0, and whether there are more.
func lastLines(text string, most int) (string, bool) {
	if most == 0 {
		return text, false
	}
	at := len(text)
	for range most {
		at = strings.LastIndexByte(text[:at], '\n')
		if at < 0 {
			return text, false
		}
	}
	return text[at+1:], true
}

func (s *Server) getPlan(w http.ResponseWriter, r *http.Request) error {
	snapshot, err := s.requested(r)
	if err != nil {
		return err
	}
	d := status.PlanOf(snapshot.Plan, s.cfg.Version)
	if r.URL.Query().Get("none") == "false" {
		d.Changes = slices.DeleteFunc(d.Changes, func(c api.Change) bool { return c.Action == plan.None })
	}
	same := d
	same.Timestamp = time.Time{} // each look makes a plan
	return answerUnless(w, http.StatusOK, d, same)
}

// stuckAfter is how old the last look of a stuck hub is: an engine may take its time.
const stuckAfter = 5 * time.Minute

func (s *Server) getHealth(w http.ResponseWriter, r *http.Request) error {
	snapshot := s.cfg.Hub.Snapshot()
	h, status := api.Health{Format: api.FormatVersion, Unsupervised: len(status.Foreign(snapshot.Sessions))}, http.StatusOK
	if h.Status, _ = healthOf(snapshot, time.Now()); h.Status == "stuck" {
		status = http.StatusServiceUnavailable
	}
	return answer(w, status, h)
}

// healthOf returns the status of a hub by its last observation, and why it is not well.
func healthOf(s *hub.Snapshot, now time.Time) (status, fault string) {
	longest := time.Duration(0)
	for _, k := range s.Sessions {
		longest = max(longest, k.Record.Spec.Health.Interval.D())
	}
	switch {
	case now.Sub(s.At) > max(3*longest, stuckAfter):
		return "stuck", "it has observed nothing since " + wire.UTC(s.At).Format(time.RFC3339)
	case s.Fault != nil:
		return "read_only", "it repairs nothing, since the state cannot be read: " + s.Fault.Error()
	}
	return "ok", ""
}

func (s *Server) getOpenAPI(w http.ResponseWriter, r *http.Request) error {
	return answer(w, http.StatusOK, OpenAPI())
}
