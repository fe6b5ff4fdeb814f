package status

import (
	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// Detail is one session in full, for show.
type Detail struct {
	api.Session
	Record *session.Record // nil: not on record
	Exit   *session.Exit   // how the last run ended; nil: it has not, or is not known
	Events []history.Event // the last ones, oldest first
	Screen string          // its end
}

// Document returns the document of a session in full.
func (x Detail) Document() api.ShownDocument {
	d := api.ShownDocument{Format: api.FormatVersion, Session: x.Session, Exit: x.Exit, Events: eventsOf(x.Events), Look: wire.List(x.Commands())}
	if x.Record != nil {
		d.Run, d.Location = &x.Record.Run, &x.Record.Location
	}
	d.Screen.Text, d.Screen.Truncated = wire.Tail(x.Screen)
	return d
}

// Commands returns the commands with which a person can look at a session without
// agentform.
func (x Detail) Commands() []string {
	if x.Record == nil || x.Record.Location.Name == "" || x.State == session.StateStopped || x.State == session.StateError {
		return nil
	}
	place := x.Record.Location
	prefix := "tmux"
	if place.Container != "" {
		prefix = "docker exec -it " + plaintext.ShellWord(place.Container) + " tmux"
	}
	if place.Socket != "" {
		prefix += " -S " + plaintext.ShellWord(place.Socket)
	}
	if place.Container != "" && place.Socket == "" {
		// Adopted: the container's tmux has one session, with a name of its own.
		return []string{prefix + " attach", prefix + " capture-pane -p"}
	}
	return []string{
		prefix + " attach -t " + plaintext.ShellWord("="+place.Name),
		prefix + " capture-pane -p -t " + plaintext.ShellWord("="+place.Name+":"),
	}
}
