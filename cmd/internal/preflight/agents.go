package preflight

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/renameio/v2"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/session"
)

// Installed returns the built-in agents whose command is on PATH, sorted.
func (h Host) Installed() []string {
	return slices.DeleteFunc(agent.Names(), func(name string) bool {
		_, there := h.Environ.Program(name, h.Dir)
		return !there
	})
}

// versionLimit is long because Gemini CLI takes more than ten seconds on a busy machine.
const versionLimit = 15 * time.Second

// ErrSlow is returned for an agent that did not print its version in time.
var ErrSlow = errors.New("--version did not end within " + versionLimit.String())

// AgentVersion returns the path of a session's program and the version that it prints. The path is
// empty if the program cannot be started, the version if the program has no known --version or
// prints none.
func (h Host) AgentVersion(ctx context.Context, s session.Spec) (path, version string, err error) {
	command, err := h.command(s, apply.Search{})
	if err != nil {
		return "", "", nil
	}
	_, env := h.start(s)
	path, _ = env.Program(command, s.Workspace.Path)
	if filepath.Base(command) != s.Agent.Base {
		return path, "", nil
	}
	version, err = printedVersion(ctx, path, h.Manifest.Root, env, versionLimit)
	return path, version, err
}

var versionPattern = regexp.MustCompile(`\d+(\.\d+)+(-[\w.]*\w)?`)

// printedVersion kills a program that exceeds limit, with its process group.
func printedVersion(parent context.Context, path, dir string, env []string, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(parent, limit)
	defer cancel()
	c := exec.CommandContext(ctx, path, "--version")
	c.Dir, c.Env, c.WaitDelay = dir, env, time.Second
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	out, err := c.Output()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // a process that it started still has its output open
		return versionPattern.FindString(string(out)), nil
	case parent.Err() == nil && ctx.Err() != nil:
		return "", ErrSlow
	}
	return "", fmt.Errorf("--version: %w", err)
}

// MissingLogin returns nothing for a container, whose image may have a login.
func (h Host) MissingLogin(s session.Spec) (lack, remedy string) {
	if s.Runtime.Traits().OwnHome {
		return "", ""
	}
	return agent.MissingLogin(s, h.machine().login(s))
}

// IgnoresHooks returns why an agent would not run agentform's hooks. It returns nothing for a
// container, which has its own home.
func (h Host) IgnoresHooks(s session.Spec) (why, remedy string) {
	if s.Runtime.Traits().OwnHome {
		return "", ""
	}
	return agent.IgnoresHooks(s, h.machine().login(s))
}

// machine has the facts about this machine that some sessions' agents find, each read once.
type machine struct {
	host  Host
	last  map[string]surrounded // by the agent's name: most of its sessions share an environment
	files map[string][]byte
}

// surrounded is a session and its environment.
type surrounded struct {
	spec session.Spec
	env  map[string]string
}

func (h Host) machine() *machine {
	return &machine{host: h, last: map[string]surrounded{}, files: map[string][]byte{}}
}

func (m *machine) login(s session.Spec) agent.LoginFacts {
	return agent.LoginFacts{OS: runtime.GOOS, At: m.lookup(s), Read: m.read}
}

// lookup includes only secrets that are variables here.
func (m *machine) lookup(s session.Spec) session.Lookup {
	last, known := m.last[s.Agent.Name]
	if !known || !sameEnvironment(last.spec, s) {
		last = surrounded{s, m.host.environment(s)}
		m.last[s.Agent.Name] = last
	}
	return session.Lookup{Dir: s.Workspace.Path, Home: last.env["HOME"], Env: last.env}
}

// sameEnvironment compares everything that environment and session.Inherit read.
func sameEnvironment(a, b session.Spec) bool {
	return reflect.DeepEqual(a.Agent, b.Agent) && maps.Equal(a.Env, b.Env) && a.Runtime.Traits() == b.Runtime.Traits() &&
		slices.Equal(a.Secrets, b.Secrets) && slices.Equal(a.InheritEnv, b.InheritEnv)
}

func (h Host) environment(s session.Spec) map[string]string {
	declared := map[string]string{}
	for _, name := range s.Secrets {
		if value, set := h.Environ.Lookup(h.Secrets.Variable(name)); set {
			declared[name] = value
		}
	}
	inherited, secrets := session.Inherit(h.Secrets.Environ(), s, agent.For(s.Agent)).With(declared, s.Agent.Env, s.Env)
	env := maps.Clone(secrets)
	for _, kv := range inherited {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return env
}

func (m *machine) read(path string) []byte {
	text, known := m.files[path]
	if !known {
		text = readSmall(path)
		m.files[path] = text
	}
	return text
}

const maxConfig = 16 << 20

// readSmall returns an empty text, not nil, for a file that may hold a login.
func readSmall(path string) []byte {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return nil
	}
	if !info.Mode().IsRegular() || info.Size() > maxConfig {
		return []byte{}
	}
	text, _ := os.ReadFile(path)
	return append([]byte{}, text...)
}

// Dotfile is a user's own file that lacks a setting for agents.
type Dotfile struct {
	agent.DotfileFix
	Err    error // why the setting cannot be added
	agent  string
	text   []byte // with the setting
	needed []session.Address
}

// Dotfiles returns the files that lack settings of some sessions' agents.
func (h Host) Dotfiles(specs []session.Spec) []*Dotfile { return h.machine().dotfiles(specs) }

func (m *machine) dotfiles(specs []session.Spec) []*Dotfile {
	var all []*Dotfile
	known := map[string]*Dotfile{}
	for _, s := range specs {
		if s.Runtime.Traits().OwnHome {
			continue // a container has its own home
		}
		for _, fix := range agent.DotfileFixes(s, m.lookup(s)) {
			if d := known[fix.Path]; d != nil {
				d.needed = append(d.needed, s.Address)
				continue
			}
			d := &Dotfile{DotfileFix: fix, agent: s.Agent.Name, needed: []session.Address{s.Address}}
			var changed bool
			now, err := os.ReadFile(fix.Path)
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				d.text, changed, err = fix.Apply(now)
			}
			if d.Err = err; changed || err != nil {
				known[fix.Path] = d
				all = append(all, d)
			}
		}
	}
	return all
}

// Write adds the setting to the file. It keeps links and permissions.
func (d *Dotfile) Write() error {
	if d.Err != nil {
		return d.Err
	}
	path := d.Path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return renameio.WriteFile(path, d.text, 0o600, renameio.WithExistingPermissions())
}

// NotInherited returns the variables that no session gets. Containers inherit nothing.
func NotInherited(environ []string, specs []session.Spec) []string {
	missed := map[string]int{}
	sessions := 0
	for _, s := range specs {
		if s.Runtime.Traits().OwnHome {
			continue
		}
		sessions++
		for _, name := range session.Inherit(environ, s, agent.For(s.Agent)).Left {
			_, own := s.Env[name]
			_, agents := s.Agent.Env[name]
			if !own && !agents && !slices.Contains(s.Secrets, name) && !slices.Contains(shellVariables, name) {
				missed[name]++
			}
		}
	}
	maps.DeleteFunc(missed, func(name string, n int) bool { return n < sessions || !session.IsVariablePattern(name) })
	return slices.Sorted(maps.Keys(missed))
}

// shellVariables are an interactive shell's variables that no program needs.
var shellVariables = []string{
	"LS_COLORS", "LESS", "LESSOPEN", "LESSCLOSE", "PS1", "PS2", "PS4", "PROMPT_COMMAND", "HISTFILE", "HISTSIZE", "HISTCONTROL",
	"MAIL", "HOSTNAME", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "WINDOWID", "COLORFGBG", "VTE_VERSION",
}
