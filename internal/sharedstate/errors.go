package sharedstate

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/backend"
)

// LockedError reports that somebody else has the lock of a shared state.
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

// StrangerError reports a backend that has the state of another project.
type StrangerError struct{ Backend, There, Here string }

func (e *StrangerError) Error() string {
	return fmt.Sprintf("the state in %s is another project's: its lineage is %s, and this one's is %s; give this project a place of its own in the backend block, or, if that is this project's state: agentform init --reconfigure",
		e.Backend, e.There, e.Here)
}

// MovedError reports a backend block that changed, or that is new, while the state is elsewhere.
type MovedError struct{ From, To string } // empty: the local state file

func (e *MovedError) Error() string {
	name := func(b string) string {
		if b == "" {
			return "the state file of this machine"
		}
		return b
	}
	return fmt.Sprintf("the manifest says that the state is in %s, and it is in %s\nto move it: agentform init --migrate-state\nto go on with what is in %s: agentform init --reconfigure",
		name(e.To), name(e.From), name(e.To))
}
