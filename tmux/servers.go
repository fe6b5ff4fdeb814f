package tmux

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/session"
)

// servers are the tmux servers on which a project's sessions run.
type servers struct {
	dir      string // of the project's sockets
	personal string // Config.Server
	program  program
	scope    []string // Config.Scope

	mu       sync.Mutex
	known    map[string]*server // by socket
	listedAt time.Time
}

// at returns the server of a socket.
func (r *servers) at(socket string) *server {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.known[socket]
	if s == nil {
		program := r.program
		program.silence = &silence{}
		s = &server{program: program, scope: r.scope, socket: socket, external: filepath.Dir(socket) != filepath.Clean(r.dir), captures: batcher[*request]{most: capturesAtOnce}}
		r.known[socket] = s
	}
	return s
}

// close waits until servers without sessions have exited.
func (r *servers) close() {
	r.mu.Lock()
	known := r.known
	r.known, r.listedAt = map[string]*server{}, time.Time{}
	r.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range known {
		if !s.external {
			wg.Go(s.awaitExit)
		}
	}
	wg.Wait()
}

var socketForm = regexp.MustCompile(`^tmux-(0|[1-9]\d{0,3})$`)

// sockets returns the sockets of the project's servers, in the order of their numbers.
func (r *servers) sockets() ([]string, error) {
	if r.personal != "" {
		return []string{resolveSocket(r.personal)}, nil
	}
	entries, err := os.ReadDir(r.dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("look for tmux servers: %w", err)
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

// resolveSocket returns the path of a socket that is given as a name, as for tmux -L, or
// as a path. Links are resolved, so that one server has one path.
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

// sessionsPerServer is how many sessions a server has before the next one is started.
// What a server does for a client grows with its sessions (0.75 ms at 100, 18 ms at
// 1000), and a server that crashes takes all of them with it.
const sessionsPerServer = 128

// reserve returns a server with room for a session, and counts the session. The server
// may have to be started. The name must be free on all others; the server itself
// refuses a name that it has.
func (r *servers) reserve(ctx context.Context, name string) (*server, error) {
	if r.personal != "" {
		return r.runningPersonal(ctx)
	}
	var s *server
	for n := 0; s == nil; n++ {
		next := r.at(r.socket(n))
		free, err := next.reserve(ctx)
		if err != nil {
			return nil, err
		}
		if free {
			s = next
		}
	}
	others, err := r.others(s)
	for i := 0; err == nil && i < len(others); i++ {
		var exists bool
		if exists, err = others[i].has(ctx, name); exists {
			err = session.ErrExists
		}
	}
	if err != nil {
		s.removed("")
		return nil, err
	}
	return s, nil
}

// runningPersonal returns the user's own server, which has to run.
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

// others returns the other servers that may have a session of the project: those with a
// socket, listed at most once a second, and those used before.
func (r *servers) others(than *server) ([]*server, error) {
	r.mu.Lock()
	began, listedAt := time.Now(), r.listedAt
	r.mu.Unlock()
	if began.Sub(listedAt) >= namesAge {
		sockets, err := r.sockets()
		if err != nil {
			return nil, err
		}
		for _, socket := range sockets {
			r.at(socket)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if began.Sub(listedAt) >= namesAge {
		r.listedAt = began
	}
	var found []*server
	for _, s := range r.known {
		if s != than && !s.external {
			found = append(found, s)
		}
	}
	return found, nil
}

const linkPrefix = "tmux-x-"

// linkPath returns the path of the link by which Observe finds an external server.
func (r *servers) linkPath(socket string) string {
	sum := sha256.Sum256([]byte(socket))
	return filepath.Join(r.dir, linkPrefix+hex.EncodeToString(sum[:4]))
}

// link creates the link to an external server.
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

// unlink removes the link to an external server that has no more sessions of the project.
// A link too many is harmless, so errors are ignored.
func (r *servers) unlink(ctx context.Context, o *observer, s *server) {
	if !s.external {
		return
	}
	if left, err := o.observe(ctx, s, false); err == nil && len(left) == 0 {
		_ = os.Remove(r.linkPath(s.socket))
	}
}

// linked returns the sockets of external servers.
func (r *servers) linked() []string {
	dir := strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(r.dir)
	links, _ := filepath.Glob(filepath.Join(dir, linkPrefix+"????????")) // fails only for a bad pattern
	var sockets []string
	for _, link := range links {
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
