package tmux

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentform/agentform/session"
)

// server is one tmux server: a socket, and the control client on it if one was
// needed.
type server struct {
	program program
	socket  string

	mu       sync.Mutex
	client   *control
	sessions int // about how many it holds, keepers aside; right when the client is opened
}

// running reports whether a server listens on the socket. A file that is left
// of one that has gone does not count, and is left alone.
func (s *server) running(ctx context.Context) (bool, error) {
	conn, err := (&net.Dialer{Timeout: answerTimeout}).DialContext(ctx, "unix", s.socket)
	switch {
	case err == nil:
		return true, conn.Close()
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return false, nil
	case errors.Is(err, syscall.EAGAIN): // too many wait to connect
		return true, nil
	}
	return false, fmt.Errorf("connect to tmux server: %w", err)
}

// open is the control client. The server is started if there is none.
func (s *server) open(ctx context.Context) (*control, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil && s.client.alive() {
		return s.client, nil
	}
	err := again(ctx, func() error {
		c, err := connect(ctx, s.program, s.socket)
		if err != nil {
			return err
		}
		names, err := c.ask(ctx, command{"list-sessions", "-F", "#{session_name}"})
		if err != nil {
			c.close()
			return err
		}
		s.client, s.sessions = c, 0
		for name := range strings.SplitSeq(names[0], "\n") {
			if name != "" && !strings.HasPrefix(name, keeperPrefix) {
				s.sessions++
			}
		}
		return nil
	})
	return s.client, err
}

// ask runs commands on a server that is running; session.ErrGone if it is not.
// It starts none.
func (s *server) ask(ctx context.Context, cmds ...command) ([]string, error) {
	s.mu.Lock()
	c := s.client
	s.mu.Unlock()
	if c == nil || !c.alive() {
		up, err := s.running(ctx)
		if err == nil && !up {
			err = fmt.Errorf("tmux server %s: %w", s.socket, session.ErrGone)
		}
		if err != nil {
			return nil, err
		}
		if c, err = s.open(ctx); err != nil {
			return nil, err
		}
	}
	texts, err := c.ask(ctx, cmds...)
	if errors.Is(err, errLeaving) {
		// Whatever was asked about went with the server.
		return nil, fmt.Errorf("%w: %w", err, session.ErrGone)
	}
	return texts, err
}

// reserve counts a session that is about to be made, unless the server is full.
func (s *server) reserve() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions >= perServer {
		return false
	}
	s.sessions++
	return true
}

func (s *server) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions = max(0, s.sessions-1)
}

// close ends the control client. A server that holds nothing else then leaves,
// and is waited for, so that its going has been seen.
func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lingers)
	defer cancel()
	names, err := s.client.ask(ctx, command{"list-sessions", "-F", "#{session_name}"})
	empty := err == nil && names[0] == s.client.keeper
	s.client.close()
	s.client = nil
	for empty && ctx.Err() == nil {
		if up, err := s.running(ctx); err != nil || !up {
			return
		}
		_ = sleep(ctx, 2*time.Millisecond)
	}
}

// settings are the options that sessions rely on. Each control client sets them
// before it does anything else, so it does not matter who started the server.
func settings() []command {
	set := func(scope, name, value string) command { return command{"set-option", scope, name, value} }
	return []command{
		set("-s", "exit-empty", "on"), // the server leaves with its last session
		set("-s", "default-terminal", terminal()),
		set("-s", "escape-time", "20"), // ms; the default 500 makes Escape, which agents use all the time, feel broken
		set("-g", "update-environment", ""),
		set("-g", "destroy-unattached", "off"),
		set("-g", "set-titles", "off"),
		// What an agent without a session file said is only here. Lines are stored
		// as they are written, so a quiet session costs nothing; a full history of
		// 200 columns takes about 50 MB in the worst case (5 bytes a cell), text
		// as agents write it a tenth of that. tmux's default of 2000 lines loses
		// the question that a long answer was about.
		set("-g", "history-limit", "50000"),
		set("-gw", "remain-on-exit", "on"), // how the pane died can be seen
		set("-gw", "allow-rename", "off"),  // a name is for people; the title, a signal, stays the agent's
		set("-gw", "automatic-rename", "off"),
	}
}

// terminal is the TERM that panes get: tmux's own where it is known.
func terminal() string {
	folders := []string{"/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo", "/usr/lib/terminfo", "/usr/local/share/terminfo", "/opt/homebrew/share/terminfo"}
	if home, err := os.UserHomeDir(); err == nil {
		folders = append(folders, filepath.Join(home, ".terminfo"))
	}
	for _, f := range folders {
		for _, letter := range []string{"t", "74"} { // macOS names the folder by the letter's code
			if _, err := os.Stat(filepath.Join(f, letter, "tmux-256color")); err == nil {
				return "tmux-256color"
			}
		}
	}
	return "screen-256color"
}
