package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/proc"
)

// The causes of an exit.
const (
	CauseSelf        = "self"         // the agent exited, or something else killed it
	CauseRequested   = "requested"    // a stop over the socket
	CauseHangup      = "hangup"       // the terminal was closed
	CauseTimeout     = "timeout"      // the run reached its timeout
	CauseFailedStart = "failed_start" // it never ran
)

// factLimit bounds claim, run and exit; a detail is shortened well before.
const factLimit = 64 << 10

// Exit is how a run ended.
type Exit struct {
	Cause     string        `json:"cause"`
	Code      int           `json:"code"`             // exit status; 127 and 126 for failed_start, as in a shell
	Signal    string        `json:"signal,omitempty"` // SIGKILL; empty: it exited by itself
	At        time.Time     `json:"at"`
	Ran       time.Duration `json:"ran_ns"`
	Leftovers int           `json:"leftovers,omitempty"` // processes that had to be ended after the agent
	Detail    string        `json:"detail,omitempty"`    // of failed_start; OutOfMemory
}

// Facts is the content of a run's directory. An agent can write there too, so it is a claim, to be
// compared with the running processes.
type Facts struct {
	Claimed   bool         // a shim claimed the run
	Shim      proc.Process // known once claimed
	Agent     proc.Process // known once started
	BootID    string
	StartedAt time.Time
	Exit      *Exit           // nil: the run has not ended
	Spec      json.RawMessage // of Config
	Socket    string          // of Config
}

// running is the content of claim and run. Agent is set once it runs.
type running struct {
	BootID    string       `json:"boot_id"`
	Shim      proc.Process `json:"shim"`
	Agent     proc.Process `json:"agent,omitzero"`
	StartedAt time.Time    `json:"started_at,omitzero"`
}

// text returns r's JSON. A shim writes only two, and package json would need longer to analyze the
// type than to encode it.
func (r running) text() []byte {
	process := func(b []byte, name string, p proc.Process) []byte {
		return fmt.Appendf(b, `,%q:{"pid":%d,"start":%d}`, name, p.PID, p.Start)
	}
	b := process(fmt.Appendf(nil, `{"boot_id":%q`, r.BootID), "shim", r.Shim)
	if r.Agent != (proc.Process{}) {
		b = process(b, "agent", r.Agent)
	}
	if !r.StartedAt.IsZero() {
		b = fmt.Appendf(b, `,"started_at":%q`, r.StartedAt.Format(time.RFC3339Nano))
	}
	return append(b, '}', '\n')
}

// ReadFacts reads a run's directory. A missing directory or file is not an error: its facts are
// zero. For a file that cannot be read or is invalid, it returns an error along with the facts of
// the other files.
func ReadFacts(runDir string) (Facts, error) { return readFacts(runDir, true) }

// readFacts is ReadFacts; without withLaunch, Spec and Socket are empty.
func readFacts(runDir string, withLaunch bool) (Facts, error) {
	var f Facts
	var errs []error
	read := func(name string, limit int64, v any) bool {
		err := readJSON(filepath.Join(runDir, name), limit, v)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
		return err == nil
	}
	var launch struct {
		Socket string          `json:"socket"`
		Spec   json.RawMessage `json:"spec"`
	}
	if withLaunch && read(LaunchFile, configLimit, &launch) {
		f.Socket, f.Spec = launch.Socket, launch.Spec
	}
	// A claim is created, then written, and written again when the agent runs. So an empty claim is
	// a claim, and a half-written one is read again.
	var r running
	if read(RunFile, factLimit, &r) {
		f.Claimed = true
	} else if _, err := os.Lstat(filepath.Join(runDir, ClaimFile)); err == nil {
		f.Claimed = true
		if readJSON(filepath.Join(runDir, ClaimFile), factLimit, &r) != nil && !read(ClaimFile, factLimit, &r) {
			r = running{}
		}
	}
	f.Shim, f.Agent, f.BootID, f.StartedAt = r.Shim, r.Agent, r.BootID, r.StartedAt
	var err error
	if f.Exit, err = readExit(runDir); err != nil {
		errs = append(errs, err)
	}
	if f.Shim.PID < 0 || f.Agent.PID < 0 {
		errs = append(errs, fmt.Errorf("%s: not a process: shim %d, agent %d", runDir, f.Shim.PID, f.Agent.PID))
		f.Shim, f.Agent = proc.Process{}, proc.Process{}
	}
	if len(errs) > 0 {
		return f, fmt.Errorf("read run: %w", errors.Join(errs...))
	}
	return f, nil
}

// readExit returns the exit of a run, or nil if it has not ended.
func readExit(runDir string) (*Exit, error) {
	var e Exit
	path := filepath.Join(runDir, ExitFile)
	switch err := readJSON(path, factLimit, &e); {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !KnownCause(e.Cause):
		return nil, fmt.Errorf("%s: unknown cause %.40q", path, e.Cause)
	}
	return &e, nil
}

// KnownCause reports whether cause is one of the causes above.
func KnownCause(cause string) bool {
	switch cause {
	case CauseSelf, CauseRequested, CauseHangup, CauseTimeout, CauseFailedStart:
		return true
	}
	return false
}

// Claim claims the run for this process. The error is os.ErrExist if another process has claimed
// it. Neither a claim nor WriteRun is synced to disk: after a power cut the boot id shows that all
// processes are gone.
func Claim(runDir string, self proc.Process) error {
	return create(filepath.Join(runDir, ClaimFile), running{Shim: self, BootID: proc.BootID()}.text())
}

// WriteRun records the processes of a run in its claim, and links the claim to the run file.
// Creating a file would take a disk twenty times as long.
func WriteRun(runDir string, shim, agent proc.Process, since time.Time) error {
	b := running{BootID: proc.BootID(), Shim: shim, Agent: agent, StartedAt: since.UTC()}.text()
	claim, run := filepath.Join(runDir, ClaimFile), filepath.Join(runDir, RunFile)
	f, err := os.OpenFile(claim, os.O_WRONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if errors.Join(err, f.Close()) == nil && os.Link(claim, run) == nil {
		return nil
	}
	return WriteFile(run, b, false)
}

// WriteExit records the exit of a run. It syncs the exit to disk if a restart depends on it: a
// requested stop is also in the state.
func WriteExit(runDir string, e Exit) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return WriteFile(filepath.Join(runDir, ExitFile), append(b, '\n'), e.Cause != CauseRequested && e.Cause != CauseHangup)
}
