package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/sessionfile"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// SessionInput is the session to examine.
type SessionInput struct {
	status.Input
	RunDir   string
	Environ  environ.Vars
	Activity *activity.Reader
}

// Session examines how a session can be reached, and where its session file was searched for.
func Session(in SessionInput) []Finding {
	var f findings
	shown := status.Of(in.Input)
	detail := fmt.Sprintf("%s, %s", shown.State, shown.Activity)
	if shown.Detail != "" && shown.Detail != string(shown.State) {
		detail += ": " + shown.Detail
	}
	switch shown.State {
	case session.StateUnknown, session.StateStale, session.StateError:
		f.warn(string(shown.Address), detail, "")
	default:
		f.fine(string(shown.Address), detail)
	}
	switch {
	case in.Record.Spent():
		return f
	case in.Live == nil && in.Record.Run.ID == "":
		f.fine("run", "never started: it has no tmux session or container and no session file")
		return f
	}
	if shown.State != session.StateStopped {
		f.reach(in)
	}
	f.sessionFile(in, shown)
	return f
}

func (f *findings) reach(in SessionInput) {
	r, name := *in.Record, in.Record.Location.Name
	switch contained := !r.Location.Traits().HostProcesses; {
	case contained && in.Live != nil:
		f.fine("container", name)
		return
	case contained:
		f.warn("container", name+" was not found", "docker ps --all --filter name="+name+"\ndocker inspect "+name)
		return
	}
	facts, err := rundir.ReadFacts(in.RunDir)
	switch {
	case facts.Agent.Alive():
		f.fine("agent", fmt.Sprintf("process %d is running", facts.Agent.PID))
	case facts.Agent.PID > 0:
		f.warn("agent", fmt.Sprintf("process %d is not running", facts.Agent.PID), fmt.Sprintf("agentform logs %s shows what it did last", plaintext.ShellWord(r.Address.Short())))
	default:
		f.warn("agent", "its process is not known: "+in.RunDir+" does not report it", "")
	}
	if err != nil {
		f.warn("run", err.Error(), "")
	}
	f.tmuxSession(in, facts)
	if facts.Shim.Alive() && facts.Agent.Alive() && !facts.Adopted() && facts.Socket != "" {
		f.shimSocket(facts)
	}
}

func (f *findings) tmuxSession(in SessionInput, facts rundir.Facts) {
	r, socket := *in.Record, in.Record.Location.Socket
	if in.Live != nil {
		f.fine("tmux session", in.Live.Location.Name+" on "+in.Live.Location.Socket)
		return
	}
	server := 0
	if !facts.Adopted() {
		server = facts.Shim.Parent()
	}
	list := fmt.Sprintf("tmux -S %s list-sessions", socket)
	_, err := os.Lstat(socket)
	switch {
	case errors.Is(err, fs.ErrNotExist) && server > 1:
		f.warn("tmux session", fmt.Sprintf("the socket %s of its tmux server (process %d) does not exist", socket, server),
			fmt.Sprintf("make the server recreate it: mkdir -p -m 700 %s && kill -USR1 %d\nthen check: %s", filepath.Dir(socket), server, list))
	case errors.Is(err, fs.ErrNotExist):
		f.warn("tmux session", "the socket "+socket+" of its tmux server does not exist", "find the server: pgrep -af tmux")
	case err != nil:
		f.warn("tmux session", err.Error(), "")
	default:
		problem := fmt.Sprintf("agentform has no session named %s on %s", r.Location.Name, socket)
		if own := r.Spec.Runtime.Socket; own != "" {
			problem += fmt.Sprintf("; runtime socket %q is looked up below TMUX_TMPDIR (%s)", own, in.Environ.Get("TMUX_TMPDIR"))
		}
		f.warn("tmux session", problem,
			fmt.Sprintf("inspect: %s\nits mark: tmux -S %s show-options -v -t '=%s' @agentform", list, socket, r.Location.Name))
	}
}

func (f *findings) shimSocket(facts rundir.Facts) {
	if _, err := os.Lstat(facts.Socket); err != nil {
		f.warn("shim", fmt.Sprintf("its socket %s does not exist: pause by freezing, heartbeats and changes of the timeout fail; stop works", facts.Socket),
			"it is created again when the session is next restarted; until then do not touch the agent")
		return
	}
	f.fine("shim", fmt.Sprintf("process %d, %s", facts.Shim.PID, facts.Socket))
}

const maxCandidates = 5

func (f *findings) sessionFile(in SessionInput, shown api.Session) {
	const subject = "session file"
	r := *in.Record
	adapter, of := agent.For(r.Spec.Agent), in.Activity.Lookup(r)
	searched := sessionfile.Search(adapter, of)
	if len(searched) == 0 {
		f.fine(subject, fmt.Sprintf("agent %q has no known session file: its screen shows what it does", r.Spec.Agent.Name))
		return
	}
	if shown.Transcripts.Native != "" {
		f.fine(subject, shown.Transcripts.Native)
		return
	}
	expected := fmt.Sprintf("not found, for an agent in %s", of.Dir)
	if of.Conversation != "" {
		expected += ", conversation " + of.Conversation
	}
	lines := []string{expected + ", run started " + localTime(of.StartedAt)}
	commands := []string{fmt.Sprintf("check the screen: agentform capture %s", plaintext.ShellWord(r.Address.Short()))}
	for _, place := range searched {
		lines = append(lines, candidates(place)...)
		commands = append(commands, "ls -lt "+strings.ReplaceAll(place.Pattern, " ", `\ `))
	}
	if in.Look != nil && in.Look.Overdue {
		f.warn(subject, strings.Join(lines, "\n"), strings.Join(commands, "\n"))
		return
	}
	f.fine(subject, strings.Join(append(lines, "this is normal until it gets its first prompt"), "\n"))
}

func candidates(s sessionfile.Searched) []string {
	switch {
	case errors.Is(s.Err, fs.ErrNotExist):
		return []string{s.Pattern + ": the directory does not exist"}
	case s.Err != nil:
		return []string{s.Pattern + ": " + s.Err.Error()}
	case len(s.Files) == 0:
		return []string{s.Pattern + ": no file matches"}
	}
	lines := []string{fmt.Sprintf("%s: %s, none of them this run's", s.Pattern, plaintext.Count(len(s.Files), "file"))}
	for _, c := range s.Files[:min(len(s.Files), maxCandidates)] {
		line := fmt.Sprintf("  %s: written %s", c.Path, localTime(c.Written))
		if c.Dir != "" {
			line += ", for " + c.Dir
		}
		if c.Conversation != "" {
			line += ", conversation " + c.Conversation
		}
		if !c.StartedAt.IsZero() {
			line += ", started " + localTime(c.StartedAt)
		}
		lines = append(lines, line)
	}
	return lines
}

func localTime(t time.Time) string { return t.Local().Format(time.DateTime) }
