package sharedstate

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/session"
)

// LockedError reports that the lock of a shared state is held.
type LockedError struct {
	Backend string
	Holder  backend.Info // zero if unknown
}

func (e *LockedError) Error() string {
	if e.Holder.ID == "" {
		return fmt.Sprintf("the state in %s is locked, and the backend does not say by whom; wait, or raise --lock-timeout", e.Backend)
	}
	return fmt.Sprintf("the state in %s is locked; wait, or raise --lock-timeout\n%s\nif that command no longer runs: agentform force-unlock %s",
		e.Backend, Describe(e.Holder, time.Now()), e.Holder.ID)
}

// Describe returns the Lock Info of a holder, a line each, with its age at now.
func Describe(i backend.Info, now time.Time) string {
	lines := []string{"Lock Info:", "  ID:        " + i.ID}
	add := func(name, value string) {
		if value != "" {
			lines = append(lines, fmt.Sprintf("  %-10s %s", name+":", value))
		}
	}
	add("Path", i.Path)
	add("Operation", i.Operation)
	add("Who", i.Who)
	add("Version", i.Version)
	if !i.Created.IsZero() {
		add("Created", fmt.Sprintf("%s (%s ago)", i.Created.Local().Format("2006-01-02 15:04:05"), now.Sub(i.Created).Round(time.Second)))
	}
	if !i.Renewed.IsZero() {
		add("Renewed", i.Renewed.Local().Format("2006-01-02 15:04:05"))
	}
	add("Info", i.Info)
	return strings.Join(lines, "\n")
}

// UnsentError reports changes that are on record here and not in the backend.
type UnsentError struct {
	Backend, Path string
	Err           error
}

func (e *UnsentError) Error() string {
	return fmt.Sprintf("the last changes are not in %s: %v\nnothing is lost: %s has them, and the next command on this machine that changes a session sends them; to send them now: agentform state push %[3]s",
		e.Backend, e.Err, e.Path)
}

func (e *UnsentError) Unwrap() error { return e.Err }

// UnreachableError reports a backend that could not be read.
type UnreachableError struct {
	Backend string
	Err     error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("read the state in %s: %v", e.Backend, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// GoneError reports a backend that had the state and has none now.
type GoneError struct{ Backend, Path string }

func (e *GoneError) Error() string {
	return fmt.Sprintf("there is no state in %s any more; this machine has a copy: agentform state push --force %s writes it there", e.Backend, e.Path)
}

// olderError reports a backend that went back in time.
type olderError struct {
	there, here uint64 // serials
	path        string
}

func (e *olderError) Error() string {
	return fmt.Sprintf("it is older (serial %d) than what this machine has read from there (serial %d), as after a restore, so running sessions may be missing in it\nto write there what this machine knows: agentform state push --force %s\nto go on with it as it is: agentform init --reconfigure", e.there, e.here, e.path)
}

// StrangerError reports a backend that has the state of another project.
type StrangerError struct{ Backend, There, Here string }

func (e *StrangerError) Error() string {
	return fmt.Sprintf("the state in %s is another project's: its lineage is %s, and this one's is %s; give this project a place of its own in the backend block, or, if that is this project's state: agentform init --reconfigure",
		e.Backend, e.There, e.Here)
}

// MovedError reports a backend block that changed, or that is new, while the state is elsewhere.
type MovedError struct {
	From, To string // empty: the local state file
	Known    bool   // what is in To is the state of this project, too
}

func (e *MovedError) Error() string {
	name := func(b string) string {
		if b == "" {
			return "the state file of this machine"
		}
		return b
	}
	if e.Known {
		return fmt.Sprintf("the manifest says that the state is in %s, and this machine still uses %s\nthis project's state is there: to go on with it: agentform init --reconfigure", name(e.To), name(e.From))
	}
	return fmt.Sprintf("the manifest says that the state is in %s, and it is in %s\nto move it: agentform init --migrate-state\nto go on with what is in %s: agentform init --reconfigure",
		name(e.To), name(e.From), name(e.To))
}

// LeftError reports a backend whose state was moved elsewhere.
type LeftError struct{ Backend, To string }

func (e *LeftError) Error() string {
	return fmt.Sprintf("the state in %s was moved to %s, and nothing may go on with this one\nwrite that in the manifest, as whoever moved it did (git pull), and then: agentform init --reconfigure\nif what is there is lost, to use this one again: agentform init --reconfigure --force-copy", e.Backend, e.To)
}

// OthersError reports a state that cannot be moved to one machine, since others have sessions.
type OthersError struct{ Sessions []session.Record }

func (e *OthersError) Error() string {
	var places []string
	for _, r := range e.Sessions {
		places = append(places, fmt.Sprintf("%s on %s:%s", r.Address, r.Owner.Host, r.Owner.DataDir))
	}
	return fmt.Sprintf("other machines have sessions, whose agents nobody could end any more: %s\nend them there: agentform destroy\nof a machine that no longer exists, with the backend block as it was: agentform state rm --force ADDRESS\nto leave their records in the backend, and go on with the sessions of this machine: agentform init --reconfigure",
		strings.Join(places, ", "))
}
