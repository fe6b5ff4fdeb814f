package discover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

// Session is a tmux session with an agent in it.
type Session struct {
	ID        string // for adopt
	Socket    string // the name for tmux -L, or the path
	Name      string
	Pane      string // the agent's
	Agent     string
	Workspace string    // the agent's working directory
	Branch    string    // checked out there; empty: none
	IdleSince time.Time // the last output in its window
	Managed   session.Mark
	// Problem is why the session cannot be adopted, and Remedy is what to run first; both are empty
	// if it can be adopted.
	Problem, Remedy string
}

// Unasked is a tmux server that did not answer.
type Unasked struct{ Socket, Problem string }

// Found is the sessions with an agent, by socket and name, and the servers that did not answer.
type Found struct {
	Sessions []Session
	Unasked  []Unasked
}

// askTimeout bounds a server's answer.
const askTimeout = 5 * time.Second

// Agents returns the sessions with one of the agents, on all tmux servers of this user: those in
// the directory of tmux's sockets, and the one in TMUX.
func Agents(ctx context.Context, agents map[string]config.Agent, inside string) Found {
	sockets, unasked := sockets(inside)
	found := Found{Unasked: unasked}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, path := range sockets {
		wg.Go(func() {
			sessions, err := ask(ctx, path, agents)
			mu.Lock()
			defer mu.Unlock()
			found.Sessions = append(found.Sessions, sessions...)
			if err != nil {
				found.Unasked = append(found.Unasked, Unasked{nameOf(path), err.Error()})
			}
		})
	}
	wg.Wait()
	slices.SortFunc(found.Sessions, func(a, b Session) int {
		return cmp.Or(cmp.Compare(a.Socket, b.Socket), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Pane, b.Pane))
	})
	slices.SortFunc(found.Unasked, func(a, b Unasked) int { return cmp.Compare(a.Socket, b.Socket) })
	return found
}

// sockets returns this user's sockets. It connects to no one else's, since a server's owner
// controls its answers.
func sockets(inside string) (paths []string, unasked []Unasked) {
	dir := tmux.SocketDir()
	var all []string
	if entries, err := os.ReadDir(dir); err == nil {
		for _, e := range entries {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		unasked = append(unasked, Unasked{dir, err.Error()})
	}
	if socket, _, ok := strings.Cut(inside, ","); ok && filepath.IsAbs(socket) {
		if real, err := filepath.EvalSymlinks(socket); err == nil {
			all = append(all, real)
		}
	}
	slices.Sort(all)
	for _, path := range slices.Compact(all) {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Type() != os.ModeSocket {
			continue
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Getuid() {
			unasked = append(unasked, Unasked{nameOf(path), fmt.Sprintf("its socket belongs to another user (uid %d)", s.Uid)})
			continue
		}
		paths = append(paths, path)
	}
	return paths, unasked
}

// nameOf returns the name of a socket for tmux -L, or its path.
func nameOf(socket string) string {
	if filepath.Dir(socket) == tmux.SocketDir() {
		return filepath.Base(socket)
	}
	return socket
}

func ask(ctx context.Context, socket string, agents map[string]config.Agent) ([]Session, error) {
	asked, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	panes, err := tmux.Server{Socket: socket}.Panes(asked)
	switch {
	case errors.Is(err, session.ErrGone):
		return nil, nil // a server's leftover socket, or a server without sessions
	case err != nil && asked.Err() != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("no answer within %v: it may be suspended", askTimeout)
	case err != nil && strings.Contains(err.Error(), "protocol version mismatch"):
		return nil, errors.New("it runs another version of tmux than the one on PATH: put its own version first on PATH to adopt from it")
	case err != nil:
		return nil, err
	}
	return inPanes(nameOf(socket), panes, agents), nil
}

func inPanes(socket string, panes []tmux.PaneInfo, agents map[string]config.Agent) []Session {
	count := map[string]int{}
	for _, p := range panes {
		count[p.Name]++
	}
	var found []Session
	seen := map[string]bool{} // a window can be linked to several sessions
	for _, p := range panes {
		if p.Dead || seen[p.Pane] {
			continue
		}
		seen[p.Pane] = true
		a, ok := Below(p.PID, agents)
		if !ok {
			continue
		}
		s := Session{
			ID: "tmux:" + socket + "/" + p.Name, Socket: socket, Name: p.Name, Pane: p.Pane, Agent: a.Name,
			Workspace: cmp.Or(proc.Dir(a.PID), p.Dir), IdleSince: p.ActiveAt, Managed: p.Mark,
		}
		s.Branch = Checkout(s.Workspace).Branch
		if strings.Contains(p.Name, "/") {
			s.Problem = "the name of its tmux session has a slash"
			s.Remedy = fmt.Sprintf("%s rename-session -t %s %s", command(socket), plaintext.ShellWord("="+p.Name), strings.ReplaceAll(p.Name, "/", "-"))
		}
		if n := count[p.Name]; n > 1 {
			s.Problem = fmt.Sprintf("one of %d panes: it needs a tmux session of its own", n)
			s.Remedy = separate(socket, p)
		}
		found = append(found, s)
	}
	return found
}

// separate returns the command that exchanges a pane for a shell in a new session, without
// interrupting the pane's process.
func separate(socket string, p tmux.PaneInfo) string {
	name := plaintext.ShellWord(strings.ReplaceAll(p.Name, "/", "-") + "-" + strings.TrimPrefix(p.Pane, "%"))
	return fmt.Sprintf("%s new-session -d -s %s ';' swap-pane -d -s %s -t %s:", command(socket), name, p.Pane, name)
}

func command(socket string) string {
	if filepath.IsAbs(socket) {
		return "tmux -S " + plaintext.ShellWord(socket)
	}
	return "tmux -L " + plaintext.ShellWord(socket)
}

// Checkout returns the checkout that contains a directory. Without one, or if it is detached, it
// returns the directory itself.
func Checkout(dir string) session.Checkout {
	for at := dir; filepath.IsAbs(at); at = filepath.Dir(at) {
		if co := git.Look(at); co.Git && co.Branch != "" {
			return co
		} else if co.Git || at == "/" {
			break
		}
	}
	return git.Look(dir)
}
