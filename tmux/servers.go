package tmux

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

type servers struct {
	dir      string // of the project's sockets
	personal string // Config.Server
	program  program
	scope    []string // Config.Scope

	mu    sync.Mutex
	known map[string]*server // by socket

	creating sync.Map          // names of sessions, with their sockets once chosen
	naming   sync.Mutex        // held while names are read, to lose no change
	names    map[string]string // sockets by the names of sessions, as of namesAt
	namesAt  time.Time
}

func (r *servers) at(socket string) *server {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.known[socket]
	if s == nil {
		program := r.program
		program.silence = &silence{}
		s = &server{program: program, scope: r.scope, socket: socket, external: filepath.Dir(socket) != filepath.Clean(r.dir), captures: batcher{most: capturesAtOnce}}
		r.known[socket] = s
	}
	return s
}

// close waits until servers without sessions have exited.
func (r *servers) close() {
	r.mu.Lock()
	known := r.known
	r.known = map[string]*server{}
	r.mu.Unlock()
	r.naming.Lock()
	r.namesAt = time.Time{}
	r.naming.Unlock()
	var wg sync.WaitGroup
	for _, s := range known {
		if !s.external {
			wg.Go(s.awaitExit)
		}
	}
	wg.Wait()
}

var socketForm = regexp.MustCompile(`^tmux-(0|[1-9]\d{0,3})$`)

func (r *servers) sockets() ([]string, error) {
	if r.personal != "" {
		return []string{resolveSocket(r.personal)}, nil
	}
	entries, err := os.ReadDir(r.dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("find tmux servers: %w", err)
	}
	var numbers []int
	for _, e := range entries {
		if m := socketForm.FindStringSubmatch(e.Name()); m != nil && e.Type() == os.ModeSocket {
			n, _ := strconv.Atoi(m[1]) // at most four digits
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	out := make([]string, len(numbers))
	for i, n := range numbers {
		out[i] = r.socket(n)
	}
	return out, nil
}

func (r *servers) socket(n int) string { return filepath.Join(r.dir, "tmux-"+strconv.Itoa(n)) }

// resolveSocket returns the path of a socket given by name, as for tmux -L, or by path. It resolves
// links, so that each server has one path.
func resolveSocket(socket string) string {
	if !filepath.IsAbs(socket) {
		dir := os.Getenv("TMUX_TMPDIR")
		if dir == "" {
			dir = "/tmp"
		}
		socket = filepath.Join(dir, "tmux-"+strconv.Itoa(os.Getuid()), socket)
	}
	if real, err := filepath.EvalSymlinks(socket); err == nil {
		socket = real
	}
	return filepath.Clean(socket)
}

// sessionsPerServer bounds a server's work for each client (0.75 ms at 100 sessions, 18 ms at
// 1000), and how many sessions a crash ends.
const sessionsPerServer = 128

// namesAge bounds the age of the names read from servers: a process for each name and server would
// be too many. Only one apply at a time creates sessions, and it waits for the operations of a
// killed one.
const namesAge = time.Second

// readNames reads the names of all sessions. The caller holds naming.
func (r *servers) readNames(ctx context.Context) error {
	began := time.Now()
	if began.Sub(r.namesAt) < namesAge {
		return nil
	}
	sockets, err := r.sockets()
	if err != nil {
		return err
	}
	names := map[string]string{}
	r.creating.Range(func(name, socket any) bool {
		if socket != "" {
			names[name.(string)] = socket.(string)
		}
		return true
	})
	for _, socket := range sockets {
		if up, err := r.at(socket).running(ctx); err == nil && !up {
			continue // 20 µs instead of a process
		}
		text, err := r.at(socket).ask(ctx, tmuxwire.Command{"list-sessions", "-F", "#{session_name}"})
		if err != nil && !errors.Is(err, session.ErrGone) {
			return err
		}
		for line := range strings.Lines(text) {
			names[strings.TrimSuffix(line, "\n")] = socket
		}
	}
	r.names, r.namesAt = names, began
	return nil
}

// reserve returns a server with room for a session, and counts the session. The server may not be
// running yet. The name must be free on all other servers; the server itself refuses a name in use.
func (r *servers) reserve(ctx context.Context, name string) (*server, error) {
	if r.personal != "" {
		return r.runningPersonal(ctx)
	}
	r.naming.Lock()
	defer r.naming.Unlock()
	if err := r.readNames(ctx); err != nil {
		return nil, err
	}
	sessions := map[string]int{}
	for _, socket := range r.names {
		sessions[socket]++
	}
	n := 0
	for sessions[r.socket(n)] >= sessionsPerServer {
		n++
	}
	socket := r.socket(n)
	if on, exists := r.names[name]; exists && on != socket {
		return nil, session.ErrExists
	}
	r.names[name] = socket
	r.creating.Store(name, socket)
	return r.at(socket), nil
}

func (r *servers) removed(s *server, name string) {
	s.reduced.Store(true)
	r.naming.Lock()
	defer r.naming.Unlock()
	delete(r.names, name)
}

// runningPersonal returns the user's own server, which must be running.
func (r *servers) runningPersonal(ctx context.Context) (*server, error) {
	s := r.at(resolveSocket(r.personal))
	up, err := s.running(ctx)
	if err == nil && !up {
		option := "-L"
		if filepath.IsAbs(r.personal) {
			option = "-S"
		}
		err = fmt.Errorf("no tmux server runs on %s: start it with tmux %s %s new-session -d", s.socket, option, r.personal)
	}
	return s, err
}

const linkPrefix = "tmux-x-"

func (r *servers) linkPath(socket string) string {
	sum := sha256.Sum256([]byte(socket))
	return filepath.Join(r.dir, linkPrefix+hex.EncodeToString(sum[:4]))
}

// link creates the link by which Observe finds an external server.
func (r *servers) link(s *server) error {
	if !s.external {
		return nil
	}
	link := r.linkPath(s.socket)
	err := os.Symlink(s.socket, link)
	if errors.Is(err, os.ErrExist) {
		if to, err := os.Readlink(link); err != nil || to != s.socket {
			return fmt.Errorf("%s is in the way: remove it", link)
		}
		return nil
	}
	return err
}

// unlink removes the link to an external server that has no more sessions of the project. It
// ignores errors, since an extra link is harmless.
func (r *servers) unlink(ctx context.Context, o *observer, s *server) {
	if !s.external {
		return
	}
	if left, err := o.observe(ctx, s, false); err == nil && len(left) == 0 {
		_ = os.Remove(r.linkPath(s.socket))
	}
}

func (r *servers) linked() []string {
	links, _ := fs.Glob(os.DirFS(r.dir), linkPrefix+"????????") // fails only for a bad pattern
	var sockets []string
	for _, name := range links {
		link := filepath.Join(r.dir, name)
		to, err := os.Readlink(link)
		if err != nil || !filepath.IsAbs(to) || r.linkPath(to) != link {
			continue // another program's
		}
		if info, err := os.Stat(to); err == nil && info.Mode().Type() == os.ModeSocket {
			sockets = append(sockets, to)
		}
	}
	slices.Sort(sockets)
	return sockets
}
