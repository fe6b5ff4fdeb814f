package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/sessionfile"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// runDoctorOf examines one session: what agentform knows of it, whether it can be
// reached, and where its agent's own session file was looked for.
func (a *app) runDoctorOf(ctx context.Context, typed string) error {
	e, err := a.eyes()
	if err != nil {
		return err
	}
	s, err := e.look(ctx)
	if err != nil {
		return err
	}
	address, err := resolveOne(s.addresses(), typed)
	if err != nil {
		return err
	}
	k := s.of(address)
	if k.Record == nil {
		return fmt.Errorf("%s is in the manifest and not live yet\nagentform apply --target %s makes it", address, quoted(address))
	}
	x := &examination{app: a, project: s.project, state: s.State}
	shown := status.Of(k)
	x.sessionState(shown)
	if k.Live == nil && k.Record.Place == (session.Place{}) {
		x.add(view.Fine, "run", "it was never started: there is no place and no session file to look for", "")
		return x.print()
	}
	if shown.State != session.StateStopped {
		x.reach(*k.Record, k.Live)
	}
	x.sessionFiles(e, k, shown)
	return x.print()
}

// sessionState says how the session is.
func (x *examination) sessionState(s api.Session) {
	level := view.Fine
	switch s.State {
	case session.StateUnknown, session.StateStale, session.StateError:
		level = view.Warning
	}
	detail := fmt.Sprintf("%s, %s", s.State, s.Activity)
	if s.Detail != "" && s.Detail != string(s.State) {
		detail += ": " + s.Detail
	}
	x.add(level, string(s.Address), detail, "")
}

// reach says whether the session's processes run and where they can be reached.
func (x *examination) reach(r session.Record, l *session.Live) {
	if !r.Place.Traits().HostProcesses {
		x.engineOf(r, l)
		return
	}
	f, err := shim.ReadFacts(x.project.runDir(r.Run.ID))
	switch {
	case f.Agent.Alive():
		x.add(view.Fine, "agent", fmt.Sprintf("process %d runs", f.Agent.PID), "")
	case f.Agent.PID > 0:
		x.add(view.Warning, "agent", fmt.Sprintf("process %d does not run", f.Agent.PID), fmt.Sprintf("agentform logs %s shows what it did last", quoted(r.Address)))
	default:
		x.add(view.Warning, "agent", "its process is not known: "+x.project.runDir(r.Run.ID)+" does not tell", "")
	}
	if err != nil {
		x.add(view.Warning, "run", err.Error(), "")
	}
	x.tmuxPlace(r, l, f)
	if f.Guest.Alive() && f.Agent.Alive() {
		x.guestSocket(f)
	}
}

// engineOf says of a session that is not in tmux whether its container was found.
func (x *examination) engineOf(r session.Record, l *session.Live) {
	if l != nil {
		x.add(view.Fine, "container", r.Place.Name, "")
		return
	}
	x.add(view.Warning, "container", r.Place.Name+" was not found", "docker ps --all --filter name="+r.Place.Name+"\ndocker inspect "+r.Place.Name)
}

// tmuxPlace says whether the session's tmux session was found, and if not, why.
func (x *examination) tmuxPlace(r session.Record, l *session.Live, f shim.Facts) {
	socket := r.Place.Socket
	if l != nil {
		x.add(view.Fine, "tmux session", l.Place.Name+" on "+l.Place.Socket, "")
		return
	}
	server := 0
	if !f.Adopted() {
		server = f.Guest.Parent()
	}
	look := fmt.Sprintf("tmux -S %s list-sessions", socket)
	_, err := os.Lstat(socket)
	switch {
	case errors.Is(err, fs.ErrNotExist) && server > 1:
		x.add(view.Warning, "tmux session", fmt.Sprintf("the socket %s of its tmux server (process %d) does not exist", socket, server),
			fmt.Sprintf("make the server create it again: mkdir -p -m 700 %s && kill -USR1 %d\nthen look: %s", filepath.Dir(socket), server, look))
	case errors.Is(err, fs.ErrNotExist):
		x.add(view.Warning, "tmux session", "the socket "+socket+" of its tmux server does not exist", "look for the server: pgrep -af tmux")
	case err != nil:
		x.add(view.Warning, "tmux session", err.Error(), "")
	default:
		problem := fmt.Sprintf("no session of agentform is called %s on %s", r.Place.Name, socket)
		if own := r.Spec.Runtime.Socket; own != "" {
			problem += fmt.Sprintf("; runtime socket %q is looked up below TMUX_TMPDIR (%s)", own, x.app.env.getenv("TMUX_TMPDIR"))
		}
		x.add(view.Warning, "tmux session", problem,
			fmt.Sprintf("look: %s\nits mark: tmux -S %s show-options -v -t '=%s' @agentform", look, socket, r.Place.Name))
	}
}

// guestSocket says whether the session's guest can be asked: to pause by freezing, to
// probe, and to change a timeout.
func (x *examination) guestSocket(f shim.Facts) {
	if f.Adopted() || f.Socket == "" {
		return
	}
	if _, err := os.Lstat(f.Socket); err != nil {
		x.add(view.Warning, "guest", fmt.Sprintf("its socket %s does not exist: pause by freezing, heartbeats and changes of the timeout fail; stop works", f.Socket),
			"it is created again when the session is next restarted; until then leave the agent alone")
		return
	}
	x.add(view.Fine, "guest", fmt.Sprintf("process %d, %s", f.Guest.PID, f.Socket), "")
}

// mostCandidates is how many files of a place are shown.
const mostCandidates = 5

// sessionFiles says where the agent's own session file was looked for.
func (x *examination) sessionFiles(e *eyes, k status.Input, s api.Session) {
	r := *k.Record
	a, of := agent.For(r.Spec.Agent), e.activity.Lookup(r)
	if e.activity.InImage(r) {
		x.add(view.Fine, "session file", "in the container, where it is not looked for: its screen shows what it does", "")
		return
	}
	all := sessionfile.Search(a, of)
	if len(all) == 0 {
		x.add(view.Fine, "session file", fmt.Sprintf("agent %q keeps none that is known: its screen shows what it does", r.Spec.Agent.Name), "")
		return
	}
	if s.Transcripts.Native != "" {
		x.add(view.Fine, "session file", s.Transcripts.Native, "")
		return
	}
	level := view.Fine // it may come
	if k.Look != nil && k.Look.Overdue {
		level = view.Warning
	}
	wanted := fmt.Sprintf("not found, for an agent in %s", of.Dir)
	if of.Conversation != "" {
		wanted += ", conversation " + of.Conversation
	}
	wanted += ", run started " + of.StartedAt.Local().Format(time.DateTime)
	lines, manual := []string{wanted}, []string{fmt.Sprintf("look at the screen: agentform capture %s", quoted(r.Address))}
	for _, place := range all {
		lines = append(lines, searchedLines(place)...)
		manual = append(manual, "ls -lt "+strings.ReplaceAll(place.Pattern, " ", `\ `))
	}
	if level == view.Fine {
		manual = nil
		lines = append(lines, "that is usual until it has been given something")
	}
	x.add(level, "session file", strings.Join(lines, "\n"), strings.Join(manual, "\n"))
}

// searchedLines says what is in a place that was searched.
func searchedLines(s sessionfile.Searched) []string {
	switch {
	case errors.Is(s.Err, fs.ErrNotExist):
		return []string{s.Pattern + ": the directory does not exist"}
	case s.Err != nil:
		return []string{s.Pattern + ": " + s.Err.Error()}
	case len(s.Files) == 0:
		return []string{s.Pattern + ": no file matches"}
	}
	lines := []string{fmt.Sprintf("%s: %s, none of them this run's", s.Pattern, counted(len(s.Files), "file"))}
	for _, c := range s.Files[:min(len(s.Files), mostCandidates)] {
		line := fmt.Sprintf("  %s: written %s", c.Path, c.Written.Local().Format(time.DateTime))
		if c.Dir != "" {
			line += ", for " + c.Dir
		}
		if c.Conversation != "" {
			line += ", conversation " + c.Conversation
		}
		if !c.StartedAt.IsZero() {
			line += ", started " + c.StartedAt.Local().Format(time.DateTime)
		}
		lines = append(lines, line)
	}
	return lines
}

// outOfReach reports the sessions on record that cannot be reached though their runtime
// answers.
func (x *examination) outOfReach(ctx context.Context) {
	if len(x.state.Sessions) == 0 {
		return
	}
	status, err := x.app.reconciler(x.project, toLook).Status(ctx, false)
	if err != nil {
		return // the state's finding says why
	}
	for _, seen := range status.Sessions {
		r := seen.Record
		if seen.Diagnosis.State == session.StateUnknown && status.World.Runtimes[r.Spec.Runtime.Engine()] == nil {
			x.add(view.Warning, string(r.Address), seen.Diagnosis.Detail, "agentform doctor "+quoted(r.Address))
		}
	}
}
