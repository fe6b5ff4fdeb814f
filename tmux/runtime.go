package tmux

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// perServer is how many sessions a server holds before the next one is started:
// what a server does for a client grows with its sessions (0.75 ms at 100, 18 ms
// at 1000), and a server that dies takes them all with it.
const perServer = 128

// showsAtOnce is how many panes' histories one process prints: each may have some
// ten megabytes, and all of them are held until it has ended.
const showsAtOnce = 16

// Config says where a project's sessions live.
type Config struct {
	SocketDir string   // of shim.SocketDir: tmux-0, tmux-1, … and the guests' sockets
	DataDir   string   // its runs/RUN tell what became of each run
	Lineage   string   // Mark.Project of what is ours; empty: all that carries a mark
	Guest     []string // the command to put before a run's folder, of shim.Install
	Bin       string   // tmux program; empty: tmux on PATH
	// Scope is the command to put before tmux when that starts a server, which then is
	// not of the caller's control group: systemd-run --user --scope --. It gets the
	// variables that lead to systemd; tmux does not. Empty: none.
	Scope []string
	// Server is a tmux server of a person's own, by its name (as of tmux -L) or the
	// absolute path of its socket: sessions live on it, beside the person's, and on
	// no other. It has to run: agentform neither starts nor ends it, and sets no
	// option that is not of a session of its own. Empty: servers of the project's.
	Server string
}

// Runtime holds sessions in tmux. It is a session.Runtime; its methods may be
// called from many goroutines.
type Runtime struct {
	config  Config
	program program

	mu      sync.Mutex
	servers map[string]*server // by socket
	looked  time.Time          // for sockets of servers besides
	making  map[string]bool    // names under way in Create

	typing  turns
	sweeper sweeper
	ended   seenRuns // that are over and swept
	glances shim.Glances

	postMortems seenRuns // adopted ones of which was asked how they left
}

var _ session.Runtime = (*Runtime)(nil)

// New is a runtime. It touches nothing before it is used.
func New(c Config) *Runtime {
	return &Runtime{
		config:  c,
		program: program{bin: c.Bin, scope: c.Scope},
		servers: map[string]*server{},
		making:  map[string]bool{},
	}
}

// Traits returns those of tmux sessions.
func (r *Runtime) Traits() session.Traits { return session.TraitsOf("tmux") }

// Close returns when servers that hold nothing any more have left. The sessions
// stay, and the Runtime can be used again.
func (r *Runtime) Close() {
	r.mu.Lock()
	servers := r.servers
	r.servers, r.looked = map[string]*server{}, time.Time{}
	r.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range servers {
		if !s.borrowed { // whether another's leaves is not for us to wait for
			wg.Go(s.leaves)
		}
	}
	wg.Wait()
}

// LaunchSpec is the spec that a run was launched with, out of the run's folder;
// nil when the folder does not have it any more.
func (r *Runtime) LaunchSpec(run string) (*session.Spec, error) {
	if !runForm.MatchString(run) {
		return nil, fmt.Errorf("read run: invalid id %.80q", run)
	}
	return launchSpec(r.runDir(run))
}

// Attach is the command that attaches a terminal to the session. Run inside
// another tmux it needs TMUX unset; see Inside.
func (r *Runtime) Attach(p session.Place) []string {
	return Server{Socket: p.Socket, Bin: r.config.Bin}.Attach(p.Name)
}

// Inside reports whether the environment is that of a process inside tmux,
// which then refuses to attach until TMUX is unset.
func Inside(environ []string) bool {
	return slices.ContainsFunc(environ, func(e string) bool {
		return strings.HasPrefix(e, "TMUX=") && e != "TMUX="
	})
}

// runForm is what a run id looks like; it names a folder.
var runForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

func (r *Runtime) runDir(run string) string { return filepath.Join(r.config.DataDir, "runs", run) }

func (r *Runtime) guestSocket(run string) string {
	return filepath.Join(r.config.SocketDir, "g-"+run)
}

// facts are what a run's folder tells, but for its launch; nothing for an id that
// cannot be one.
func (r *Runtime) facts(run string) (shim.Facts, error) {
	if !runForm.MatchString(run) {
		return shim.Facts{}, nil
	}
	return r.glances.Glance(r.runDir(run))
}

func (r *Runtime) server(socket string) *server {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.servers[socket]
	if s == nil {
		program := r.program
		program.silence = &silence{}
		s = &server{program: program, socket: socket, borrowed: r.borrowed(socket), shows: queue{most: showsAtOnce}}
		r.servers[socket] = s
	}
	return s
}

var socketForm = regexp.MustCompile(`^tmux-(\d{1,4})$`)

// sockets are the sockets there are, in the order of their numbers.
func (r *Runtime) sockets() ([]string, error) {
	if r.config.Server != "" {
		return []string{r.own()}, nil
	}
	entries, err := os.ReadDir(r.config.SocketDir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for tmux servers: %w", err)
	}
	var numbers []int
	for _, e := range entries {
		m := socketForm.FindStringSubmatch(e.Name())
		if m == nil || e.Type() != os.ModeSocket {
			continue
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || r.socket(n) != filepath.Join(r.config.SocketDir, e.Name()) {
			continue
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	out := make([]string, len(numbers))
	for i, n := range numbers {
		out[i] = r.socket(n)
	}
	return out, nil
}

func (r *Runtime) socket(n int) string {
	return filepath.Join(r.config.SocketDir, "tmux-"+strconv.Itoa(n))
}

// own is the socket of the person's server that the sessions live on.
func (r *Runtime) own() string {
	socket := r.config.Server
	if !filepath.IsAbs(socket) {
		socket = filepath.Join(socketFolder(), socket)
	}
	if real, err := filepath.EvalSymlinks(socket); err == nil {
		socket = real
	}
	return socket
}

// running is the person's server, which has to run.
func (r *Runtime) running(ctx context.Context) (*server, error) {
	s := r.server(r.own())
	up, err := s.running(ctx)
	if err == nil && !up {
		option := "-L"
		if filepath.IsAbs(r.config.Server) {
			option = "-S"
		}
		err = fmt.Errorf("no tmux server runs on %s: start it with tmux %s %s new-session -d", s.socket, option, r.config.Server)
	}
	return s, err
}

// room is a server with room for one more session, which is counted already. It
// may have to be started. The name must be free on all the others; the
// server itself refuses a name that it has.
func (r *Runtime) room(ctx context.Context, name string) (*server, error) {
	if r.config.Server != "" {
		return r.running(ctx)
	}
	var s *server
	for n := 0; s == nil; n++ {
		next := r.server(r.socket(n))
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
		var there bool
		if there, err = others[i].has(ctx, name); there {
			err = session.ErrExists
		}
	}
	if err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}
