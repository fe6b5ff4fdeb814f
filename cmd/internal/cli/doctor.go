package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

func (a *app) doctorCommand() *cobra.Command {
	var fix, moved bool
	c := &cobra.Command{
		Use:   "doctor [ADDR]",
		Short: "Say what is installed, reachable and left over",
		Long: `Looks at what agentform needs and at what nobody accounts for: programs, folders, the
agents that are installed and whether each is logged in, the state and its lock, live
sessions that are not on record, workspaces that no session uses. Each finding says what to do about it. It changes nothing, unless told to with
--fix: some agents look into a file of your own for what no flag tells them, such as
that they may use the key they are given, and without it ask at every start. --fix adds
that, and nothing else, to those files. It also repairs the worktrees and the state of a
project that was moved while its sessions run. A project that was moved from another file
system looks like a copy, and needs --fix --moved. Exit 1 says that agentform cannot do its work.

With the address of a session doctor examines that session: whether its agent runs, whether
its tmux session or container and its guest can be reached, in which directories its agent's
own session file was looked for, which files are there, and what they were matched against.
It prints the commands to look manually.`,
		Example:           "  agentform doctor --json\n  agentform doctor --fix\n  agentform doctor api",
		Args:              arguments(0, 1),
		Annotations:       withJSON(),
		ValidArgsFunction: a.completeAddresses(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case moved && !fix:
				return usageError{c.CommandPath(), errors.New("--moved needs --fix")}
			case len(args) == 0:
				return a.runDoctor(c.Context(), fix, moved)
			case fix:
				return usageError{c.CommandPath(), errors.New("--fix is for the whole project: leave the address out")}
			}
			return a.runDoctorOf(c.Context(), args[0])
		},
	}
	c.Flags().BoolVar(&fix, "fix", false, "add what agents look for in files of your own, such as ~/.claude.json; repair a moved project")
	c.Flags().BoolVar(&moved, "moved", false, "with --fix: the project was moved here, also if it looks like a copy; the original no longer exists")
	return c
}

// examination is one run of doctor.
type examination struct {
	app      *app
	project  *project
	state    state.State
	findings []view.Finding
	refused  bool // the state may not be used from here
}

func (a *app) runDoctor(ctx context.Context, fix, moved bool) error {
	x := &examination{app: a, project: a.open()}
	x.program(ctx, "tmux", "-V", "sessions live in it: install tmux 3.2 or later (apt-get install tmux, brew install tmux)")
	x.program(ctx, "git", "--version", "workspaces are made with it: install git 2.30 or later (apt-get install git, brew install git)")
	x.guest()
	x.manifest()
	if fix {
		x.fix()
		x.repairMove(ctx, moved)
	}
	x.agents()
	x.dataDir(ctx)
	x.record()
	x.hub()
	if !x.refused {
		x.orphans(ctx)
		x.outOfReach(ctx)
		x.leftovers()
	}
	return x.print()
}

// print prints the findings. An error among them is the command's exit code.
func (x *examination) print() (err error) {
	a := x.app
	if a.globals.json {
		err = view.DoctorJSON(a.env.Stdout, x.findings)
	} else {
		err = view.Doctor(a.env.Stdout, a.out(), x.findings)
		a.tellNoHub(x.project, waitsOnRecord(x.project))
	}
	if err == nil && slices.ContainsFunc(x.findings, func(f view.Finding) bool { return f.Level == view.Fault }) {
		return outcome(exitError)
	}
	return err
}

// hub reports a hub that lives and does nothing.
func (x *examination) hub() {
	if h, runs := hub.Running(x.project.manifest.DataDir); runs && hub.Suspended(h) {
		x.add(view.Warning, "hub", fmt.Sprintf("process %d is stopped (SIGSTOP or Ctrl-Z): it restarts and notifies nothing", h.PID), fmt.Sprintf("kill -CONT %d", h.PID))
	}
}

func (x *examination) add(level view.Level, subject, problem, remedy string) {
	x.findings = append(x.findings, view.Finding{Level: level, Subject: subject, Problem: problem, Remedy: remedy})
}

func (x *examination) program(ctx context.Context, name, versionFlag, remedy string) {
	path, found := x.app.env.findCommand(name, x.app.env.Dir)
	if !found {
		x.add(view.Fault, name, "not on PATH", remedy)
		return
	}
	c := exec.CommandContext(ctx, path, versionFlag)
	c.Env = x.app.env.Environ
	out, err := c.Output()
	if err != nil {
		x.add(view.Fault, name, fmt.Sprintf("%s %s: %v", path, versionFlag, err), remedy)
		return
	}
	x.add(view.Fine, name, strings.TrimSpace(string(out))+" ("+path+")", "")
}

func (x *examination) guest() {
	self, err := os.Executable()
	if err == nil && executable(filepath.Join(filepath.Dir(self), shim.Binary)) {
		x.add(view.Fine, shim.Binary, "beside agentform", "")
		return
	}
	x.add(view.Warning, shim.Binary, "not beside agentform, which then takes its place for each session and needs more memory",
		"install both programs: go install ./cmd/...")
}

func (x *examination) manifest() {
	m := x.project.manifest
	faults := 0
	for _, d := range x.project.problems {
		if d.Severity == session.Error {
			faults++
		}
	}
	switch {
	case faults > 0 && len(m.Files) == 0:
		x.add(view.Warning, "manifest", "there is none in "+m.Root, "agentform init writes a first one")
	case faults > 0:
		x.add(view.Fault, "manifest", counted(faults, "error"), "agentform validate shows them")
	default:
		x.add(view.Fine, "manifest", counted(len(m.Sessions), "session")+" in "+counted(len(m.Files), "file"), "")
	}
}

// agents looks for what the manifest's sessions are started with, and for the agents
// that agentform knows.
func (x *examination) agents() {
	if specs := x.project.manifest.Sessions; len(specs) > 0 {
		for _, d := range x.app.lacking(specs, session.Warning) {
			x.add(view.Warning, d.Summary, strings.ReplaceAll(d.Detail, "\n", "; "), "")
		}
	} else if len(x.app.installedAgents()) == 0 {
		x.add(view.Warning, "agents", "none of claude, codex and gemini is on PATH", "install one, or declare your own: agent \"NAME\" { command = [\"PROGRAM\"] }")
	}
	x.otherAgents()
}

// installedAgents are the built-in agents whose command is on PATH, sorted.
func (a *app) installedAgents() []string {
	var found []string
	for name, spec := range agent.Builtins() {
		if len(spec.Command) == 0 {
			continue
		}
		if _, there := a.env.findCommand(spec.Command[0], a.env.Dir); there {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// dataDir sees whether what has to be kept can be kept.
func (x *examination) dataDir(ctx context.Context) {
	dir := x.project.manifest.DataDir
	at := dir
	for !fileExists(at) && filepath.Dir(at) != at {
		at = filepath.Dir(at)
	}
	if err := writable(at); err != nil {
		x.add(view.Fault, "data folder", "it cannot be written: "+err.Error(), "make it yours (chown, chmod), or give agentform another: agentform { data_dir = \"…\" }")
	} else {
		x.add(view.Fine, "data folder", dir, "")
	}
	if fileExists(dir) {
		if n := git.Tracked(ctx, dir); n > 0 {
			x.add(view.Warning, "data folder", counted(n, "file")+" of it in git's index, so commits contain them; runs of earlier versions held API keys",
				"take them out: git -C "+plaintext.ShellWord(filepath.Dir(dir))+" rm -r --cached "+plaintext.ShellWord(filepath.Base(dir))+"; replace keys that were committed")
		}
	}
	if sockets, err := shim.SocketDir(dir); err != nil {
		x.add(view.Fault, "socket folder", err.Error(), "set XDG_RUNTIME_DIR to a short folder of your own")
	} else {
		x.add(view.Fine, "socket folder", sockets, "")
	}
}

// writable tries it: rights alone say nothing to root, or of a file system that
// is mounted read-only. Nothing of it stays.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".agentform-doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// leftovers are workspaces that agentform made and no session on record uses.
func (x *examination) leftovers() {
	used := map[string]bool{}
	for _, r := range x.state.Sessions {
		used[r.Tree.Path] = true
	}
	for _, s := range x.project.manifest.Sessions {
		used[s.Workspace.Path] = true
	}
	found, _ := filepath.Glob(filepath.Join(x.project.manifest.DataDir, "workspaces", "*", "*")) // fails only for a bad pattern
	for _, path := range found {
		if !used[path] {
			x.add(view.Warning, "workspace", path+" is kept, and no session on record or in the manifest uses it", "agentform prune shows whether anything in it would be lost, and removes it if not")
		}
	}
}

// counted is a number with its noun: 1 session, 3 sessions.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
