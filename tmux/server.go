package tmux

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/tmuxwire"
)

// server is one tmux server: a socket, and what waits for it.
type server struct {
	program  program
	socket   string
	borrowed bool // somebody else's: only what is marked as ours counts

	requests queue
	shows    queue
	roster   roster

	mu       sync.Mutex
	counted  bool
	sessions int  // about how many it holds, once counted
	reduced  bool // a session of it was ended: it may be about to leave
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

// reserve counts a session that is about to be made, unless the server is full.
func (s *server) reserve(ctx context.Context) (bool, error) {
	s.mu.Lock()
	counted := s.counted
	s.mu.Unlock()
	there := 0
	if !counted {
		var err error
		if there, err = s.holds(ctx); err != nil {
			return false, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.counted {
		s.counted, s.sessions = true, there
	}
	if s.sessions >= perServer {
		return false, nil
	}
	s.sessions++
	return true, nil
}

func (s *server) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions, s.reduced = max(0, s.sessions-1), true
}

// leaves waits until a server whose last session was ended has left, so that its
// going has been seen.
func (s *server) leaves() {
	s.mu.Lock()
	reduced := s.reduced
	s.mu.Unlock()
	if !reduced {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lingers)
	defer cancel()
	for ctx.Err() == nil {
		if names, err := s.ask(ctx, command{"list-sessions", "-F", "#{session_id}"}); err != nil || names != "" {
			return
		}
		_ = sleep(ctx, 2*time.Millisecond)
	}
}

// settings are the options that sessions rely on. They are set before sessions
// are made, each time, so it does not matter who started the server.
func settings() []command {
	set := func(scope, name, value string) command { return command{"set-option", scope, name, value} }
	all := []command{
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
	for _, hook := range tmuxwire.RestoreSize(0) {
		all = append(all, append(command{"set-hook"}, hook...))
	}
	for _, option := range tmuxwire.StatusLine() {
		all = append(all, append(command{"set-option"}, option...))
	}
	return all
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
