package session

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// Traits are what sessions of a runtime have in common with processes on this machine. Code above a
// runtime checks a trait and not the kind of a runtime.
type Traits struct {
	HostFiles     bool // sessions see this machine's files at the same paths: Launch.RunDir and Launch.Dir
	HostProcesses bool // agents are processes of this machine, with the pid that Live.Agent has
	HostGit       bool // git of this machine may run in a session's clone
	OwnHome       bool // sessions have a home, programs and variables of their own, such as an image's
	Sandbox       bool // what an agent may do without asking is confined; StartInput.Sandbox
	Freeze        bool // Pause takes the mode Freeze
	Everywhere    bool // each machine reaches the same sessions; Record.Differs
	Scheduled     bool // a cluster finds the machine for a session: who starts one mostly waits

	// Enter and End are displayed command lines, to run a command in a place and to remove a place:
	// {name}, {target}, {socket}, {container}, {namespace} and {pod} stand for those of the place.
	Enter, End string

	Noun   string // what holds one session, for people: container
	Server string // the display name of what holds many places: tmux server; empty: each place is separate
}

// VolumeRoot is the directory of a session that does not see this machine's files: its volume is
// mounted there, with its workspace, its runs and the shim's program. It is the same for every
// machine that manages the session.
const VolumeRoot = "/agentform"

// DataDir returns the directory below which sessions have their workspaces and the files of their
// runs, where here is the data directory of this machine.
func (t Traits) DataDir(here string) string {
	if t.HostFiles {
		return here
	}
	return VolumeRoot
}

// TraitsOf returns the traits of the runtimes of a kind. Unknown kinds, such as a test's,
// have those of processes on this machine.
func TraitsOf(kind string) Traits {
	switch kind {
	case "docker":
		return Traits{HostFiles: true, OwnHome: true, Sandbox: true, Freeze: true, Noun: "container",
			Enter: "docker exec -it {container}", End: "docker rm -f {name}"}
	case "kubernetes":
		return Traits{OwnHome: true, Sandbox: true, Freeze: true, Everywhere: true, Scheduled: true, Noun: "pod",
			Enter: "kubectl exec -it -n {namespace} {pod} --", End: "kubectl delete statefulset -n {namespace} {name}"}
	case "tmux":
		return Traits{HostFiles: true, HostProcesses: true, HostGit: true, Freeze: true, Noun: "tmux session", Server: "tmux server",
			End: "tmux -S {socket} kill-session -t {target}"}
	}
	return Traits{HostFiles: true, HostProcesses: true, HostGit: true, Freeze: true, Noun: "place"}
}

// Traits returns the traits of the runtime that the spec names.
func (r RuntimeSpec) Traits() Traits {
	t := TraitsOf(r.Kind)
	if r.Docker.Elsewhere() {
		t.HostFiles = false
	}
	return t
}

// Traits returns the traits of the runtime that the place is in.
func (p Location) Traits() Traits { return TraitsOf(p.Runtime) }

// CommandLine fills in a command line of the place's Traits, with words quoted by quote.
func (p Location) CommandLine(of string, quote func(string) string) string {
	namespace, pod, _ := strings.Cut(p.Container, "/")
	return strings.NewReplacer("{name}", quote(p.Name), "{target}", quote("="+p.Name), "{socket}", quote(p.Socket), "{container}", quote(p.Container), "{namespace}", quote(namespace), "{pod}", quote(pod)).Replace(of)
}

// The interfaces below are optional: a Runtime implements those that it can.

// Finder is a Runtime whose sessions can be named by an id of its own, to adopt them.
type Finder interface {
	// Find looks up what an id of that runtime names. It changes nothing.
	Find(ctx context.Context, id string) Found
}

// Adopter is a Runtime whose sessions may have been started by someone else.
type Adopter interface {
	Finder
	// Adopt puts a mark on what Find returned for the id and leaves it running.
	Adopt(ctx context.Context, id string, m Mark) (Location, error)
}

// Container is a Runtime whose sessions have programs of their own (Traits.OwnHome).
type Container interface {
	// Check returns why a session with the command line argv could not be started.
	Check(ctx context.Context, s Spec, argv []string) error
	// Run runs a command with the session's limits, user and workspace dir, but without
	// its secrets, in a container that it removes. It returns at most TailLimit bytes
	// from the end of the output.
	Run(ctx context.Context, s Spec, dir string, argv, env []string) (output string, err error)
}

// Executor is a Runtime whose sessions are not processes of this machine: commands in a
// session's workspace run where its agent does.
type Executor interface {
	// Exec returns the command line that runs a command in the place, as the user of its
	// agent. It passes the exit status on.
	Exec(p Location, c Command) []string
}

// Command is a command to run in a place that is up.
type Command struct {
	Dir      string   // as the session sees it
	Argv     []string // Argv[0] is looked up in the place's PATH
	Env      []string // names of variables to pass on from the environment of the command line
	Terminal bool     // standard input and output are a terminal
}

// WorkspaceHolder is a Runtime that holds the workspaces of its sessions where its
// sessions do not see this machine's files (Traits.HostFiles).
type WorkspaceHolder interface {
	// Workspaces returns the workspaces that exist, as far as is known without running
	// anything in them: Branch may be the one that a workspace was made for. Of one that does
	// not exist there may be what is to hold it, and has never held anything.
	Workspaces(ctx context.Context) ([]Checkout, error)
	// RunIn runs a command line where the workspace of a session is or is to be, as its
	// agent's user, with that standard input (nil: none). The error of a command that
	// fails has its standard error. What holds the workspace is made if it does not exist.
	RunIn(ctx context.Context, r Record, stdin io.Reader, stdout io.Writer, argv ...string) error
	// WorkspaceName names what holds the workspace with that path, for people: volume x on
	// an engine.
	WorkspaceName(path string) string
	// RemoveWorkspace removes what holds the workspace with that path, and all in it.
	// One that is gone is not an error.
	RemoveWorkspace(ctx context.Context, path string) error
}

// PlaceMaker is a WorkspaceHolder whose sessions have their workspace prepared in their own
// place, before there is an agent. Create and Restart make a workspace that does not exist, as
// an empty directory.
type PlaceMaker interface {
	// MakePlace makes the place of a session and returns when RunIn runs commands in it.
	// Create with the same mark starts the agent there. Of the launch it needs what Place
	// returns in package launch.
	MakePlace(ctx context.Context, l Launch) (Location, error)
}

// LeftoverLister is a Runtime that runs commands in containers of their own and finds those
// that stayed behind.
type LeftoverLister interface {
	// Leftovers returns the containers of commands that may still be in use on another host,
	// and so are not removed.
	Leftovers(ctx context.Context) ([]Leftover, error)
}

// Leftover is the container of a command.
type Leftover struct {
	Name   string
	Host   string // of the process that made it; empty: unknown
	PID    int    // of that process
	Made   time.Time
	Remove string // the command line that removes it
}

// String returns who created the container, and how to remove it.
func (l Leftover) String() string {
	by := "an unknown process"
	if l.Host != "" {
		by = fmt.Sprintf("process %d of host %s", l.PID, l.Host)
	}
	return fmt.Sprintf("%s made it for a command at %s, which may still run; if not: %s", by, l.Made.UTC().Format(time.RFC3339), l.Remove)
}

// Prober is a Runtime that can ask whether an agent responds. Its methods return ErrUnprobeable if
// nothing can answer.
type Prober interface {
	// Probe runs a command in the agent's directory and environment for at most the
	// timeout. It returns why the command failed, or nothing.
	Probe(ctx context.Context, p Location, run string, argv []string, timeout time.Duration) (failed string, err error)
	// Unread returns how many bytes of the agent's input it has not read yet.
	Unread(ctx context.Context, p Location, run string) (int, error)
}

// Verifier is a Runtime that runs a command for as long as it takes where an agent works.
type Verifier interface {
	// Verify runs a command in the agent's directory and environment, and ends it and everything
	// that it started at the timeout. If ctx ends first, the command continues. The error is
	// ErrUnprobeable if nothing can answer, an earlier one still runs, or the agent is suspended or
	// ended meanwhile.
	Verify(ctx context.Context, p Location, run string, argv []string, timeout time.Duration) (Verification, error)
}

// Verification is how a command of Verify ended.
type Verification struct {
	Failed string // why, for people; empty: it exited with 0
	Code   int    // its exit status; 127 and 126 as of a shell
	Output string // the last lines that it printed, at most 10 KiB
	Log    string // the file that has all of it, as the agent sees it
}

// Reverter is a Runtime whose places can be edited outside of agentform.
type Reverter interface {
	// Revert reverts edits of a session's place (Live.Edited), except those whose revert would end
	// its agent: Restart reverts these.
	Revert(ctx context.Context, p Location, s Spec) error
}

// TimeoutSetter is a Runtime that can change the timeout of a run while it lasts.
// Elsewhere a change applies to the next run.
type TimeoutSetter interface {
	SetTimeout(ctx context.Context, p Location, run string, timeout time.Duration) error
}

// EventSource is a Runtime that reports changes without being asked.
type EventSource interface {
	// Events calls happened whenever something happens to a session, until ctx ends or
	// an error ends the reports.
	Events(ctx context.Context, happened func()) error
}

// ScreenReader is a Runtime that reads some screens at less cost than Observe does.
type ScreenReader interface {
	// Screens returns the screens of the places that are still there, in a number of
	// calls that does not grow with theirs.
	Screens(ctx context.Context, places []Location) (map[Location]string, error)
}

// Closer is a Runtime that keeps connections or processes of its own. Its sessions
// keep running after Close.
type Closer interface{ Close() }
