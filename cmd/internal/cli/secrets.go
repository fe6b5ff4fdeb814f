package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/config"
)

const (
	// longestSecret is the most that a secret can hold: an environment variable
	// of more than 128 KiB cannot be given to a program on Linux.
	longestSecret = 64 << 10
	// secretPatience is how long a command may take to print a secret; it may ask
	// a person first.
	secretPatience = 2 * time.Minute
	// longestReason is how much of what such a command complains is told.
	longestReason = 2 << 10
)

// secrets are the values of a project's secrets: each is had once, when it is
// first asked for, and kept in memory only.
type secrets struct {
	env     Env
	dir     string // the project folder
	sources map[string]config.SecretSource

	mu  sync.Mutex
	had map[string]secret
}

type secret struct {
	value string
	err   error
}

// secretsOf are the secrets of a project, as far as its manifest has been read:
// plan begins to look when only its settings are known.
func (a *app) secretsOf(p *project) *secrets {
	if p.secrets == nil {
		p.secrets = &secrets{env: a.env, had: map[string]secret{}}
	}
	p.secrets.mu.Lock()
	defer p.secrets.mu.Unlock()
	p.secrets.dir, p.secrets.sources = p.manifest.Root, p.manifest.Secrets
	return p.secrets
}

// value is a secret's value. The error says why there is none, with what a
// command complained; what it printed is in no error.
func (s *secrets) value(name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got, ok := s.had[name]
	if !ok {
		got.value, got.err = s.fetch(name)
		s.had[name] = got
	}
	return got.value, got.err
}

// fetch is a secret's value asked for anew, as whoever stays for long has to.
func (s *secrets) fetch(name string) (string, error) {
	src := s.sources[name]
	var b []byte
	var err error
	switch {
	case src.File != "":
		b, err = secretFile(src.File)
	case src.Command != nil:
		b, err = s.printed(src.Command)
	default:
		v, set := s.env.lookup(s.variable(name))
		if !set {
			return "", s.unset(name)
		}
		return v, nil
	}
	if err != nil {
		return "", err
	}
	b = bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
	switch {
	case len(b) == 0:
		return "", fmt.Errorf("%s: it is empty", s.from(src))
	case len(b) > longestSecret:
		return "", fmt.Errorf("%s: it is longer than %d KiB", s.from(src), longestSecret>>10)
	case bytes.IndexByte(b, 0) >= 0:
		return "", fmt.Errorf("%s: it holds a NUL character, which no environment can carry", s.from(src))
	}
	return string(b), nil
}

// lacking says what a secret lacks as far as that can be seen without reading
// it; nil: nothing.
func (s *secrets) lacking(name string) error {
	src := s.sources[name]
	switch {
	case src.File != "":
		_, err := regular(src.File)
		return err
	case src.Command != nil:
		if _, found := s.env.findCommand(src.Command[0], s.dir); !found {
			return fmt.Errorf("%s: it is not installed", s.from(src))
		}
		return nil
	}
	if _, set := s.env.lookup(s.variable(name)); !set {
		return s.unset(name)
	}
	return nil
}

// variable is the environment variable that a secret without a file or command
// comes from.
func (s *secrets) variable(name string) string {
	if v := s.sources[name].Env; v != "" {
		return v
	}
	return name
}

func (s *secrets) unset(name string) error {
	return fmt.Errorf("set it in the environment of agentform: export %s=…", s.variable(name))
}

// from is where a secret comes from, for a message.
func (s *secrets) from(src config.SecretSource) string {
	if src.File != "" {
		return "file " + src.File
	}
	return fmt.Sprintf("command %q", src.Command[0])
}

// base is the environment that agents start from: without what is a secret, or
// the source of one, and without the keys of the hub.
func (s *secrets) base() []string {
	hidden := map[string]bool{tokenVariable: true, signingKey: true}
	for name := range s.sources {
		hidden[name], hidden[s.variable(name)] = true, true
	}
	return slices.DeleteFunc(slices.Clone(s.env.Environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return hidden[name]
	})
}

// regular makes sure that a file can be read without waiting for anybody.
func regular(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("file %s: there is none", path)
	case err != nil:
		return nil, fmt.Errorf("file %s: %w", path, errors.Unwrap(err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("file %s: it is no regular file", path)
	}
	return info, nil
}

func secretFile(path string) ([]byte, error) {
	if _, err := regular(path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", path, errors.Unwrap(err))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, longestSecret+3)) // and a line break, and one too many
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", path, err)
	}
	return b, nil
}

// printed is what a command prints. Ctrl-C reaches it by the terminal, as it
// reaches agentform.
func (s *secrets) printed(argv []string) ([]byte, error) {
	program, found := s.env.findCommand(argv[0], s.dir)
	if !found {
		return nil, fmt.Errorf("command %q: it is not installed", argv[0])
	}
	ctx, cancel := context.WithTimeout(context.Background(), secretPatience)
	defer cancel()
	out, reason := &limited{left: longestSecret + 3}, &limited{left: longestReason}
	cmd := exec.CommandContext(ctx, program, argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = filepath.Clean(s.dir), s.env.Environ, out, reason
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("command %q: it printed nothing within %s", argv[0], secretPatience)
	case err != nil && len(bytes.TrimSpace(reason.b)) > 0:
		return nil, fmt.Errorf("command %q: %w: %s", argv[0], err, bytes.TrimSpace(reason.b))
	case err != nil:
		return nil, fmt.Errorf("command %q: %w", argv[0], err)
	}
	return out.b, nil
}

// limited keeps the beginning of what is written to it.
type limited struct {
	b    []byte
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.b, l.left = append(l.b, p[:n]...), l.left-n
	return len(p), nil
}
