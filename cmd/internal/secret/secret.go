// Package secret reads the values of a project's secrets from the environment, from
// files and from commands.
package secret

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/excerpt"
)

// The hub's own secrets, which agents do not get.
const (
	TokenVariable   = "AGENTFORM_TOKEN"          // the token of the hub's API
	SigningVariable = "AGENTFORM_WEBHOOK_SECRET" // the key that signs webhooks
)

const (
	// maxValue bounds a secret: Linux limits a variable to 128 KiB.
	maxValue = 64 << 10
	// maxComplaint bounds the quoted error of a failed command.
	maxComplaint = 2 << 10
	// commandTimeout is long enough for a command to ask the user.
	commandTimeout = 2 * time.Minute
)

// Store reads secrets and keeps their values in memory.
type Store struct {
	environ environ.Vars
	dir     string
	sources map[string]config.SecretSource

	mu     sync.Mutex
	values map[string]result
}

type result struct {
	value string
	err   error
}

// New returns the secrets that a manifest declares. Commands run in dir.
func New(env environ.Vars, dir string, sources map[string]config.SecretSource) *Store {
	return &Store{environ: env, dir: dir, sources: sources, values: map[string]result{}}
}

// Value returns a secret's value. It reads each secret once.
func (s *Store) Value(name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got, ok := s.values[name]
	if !ok {
		got.value, got.err = s.Fetch(name)
		s.values[name] = got
	}
	return got.value, got.err
}

// Fetch reads a value again. An error quotes a command's standard error, never its output.
func (s *Store) Fetch(name string) (string, error) {
	src := s.sources[name]
	var b []byte
	var err error
	switch {
	case src.Kubernetes != nil:
		return "", errInCluster
	case src.File != "":
		b, err = readFile(src.File)
	case src.Command != nil:
		b, err = s.run(src.Command)
	default:
		v, set := s.environ.Lookup(s.Variable(name))
		if !set {
			return "", s.errUnset(name)
		}
		return v, nil
	}
	b = bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
	switch {
	case err != nil:
	case len(b) == 0:
		err = errors.New("empty")
	case len(b) > maxValue:
		err = fmt.Errorf("it is longer than %d KiB", maxValue>>10)
	case bytes.IndexByte(b, 0) >= 0:
		err = errors.New("it contains a NUL character, which environment variables cannot have")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", origin(src), err)
	}
	return string(b), nil
}

// Missing returns why a secret has no value, as far as known without reading it.
func (s *Store) Missing(name string) error {
	src := s.sources[name]
	switch {
	case src.Kubernetes != nil:
		return errInCluster
	case src.File != "":
		if err := checkRegular(src.File); err != nil {
			return fmt.Errorf("%s: %w", origin(src), err)
		}
	case src.Command != nil:
		if _, found := s.environ.Program(src.Command[0], s.dir); !found {
			return fmt.Errorf("%s: %w", origin(src), errNotInstalled)
		}
	default:
		if _, set := s.environ.Lookup(s.Variable(name)); !set {
			return s.errUnset(name)
		}
	}
	return nil
}

// Variable returns the variable of a secret without a file or a command.
func (s *Store) Variable(name string) string {
	return cmp.Or(s.sources[name].Env, name)
}

// Environ returns the base environment of agents, without secrets and their sources.
func (s *Store) Environ() environ.Vars {
	hidden := map[string]bool{TokenVariable: true, SigningVariable: true}
	for name := range s.sources {
		hidden[name], hidden[s.Variable(name)] = true, true
	}
	return slices.DeleteFunc(slices.Clone(s.environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return hidden[name]
	})
}

func (s *Store) errUnset(name string) error {
	return fmt.Errorf("set it in the environment of agentform: export %s=…", s.Variable(name))
}

// errInCluster is the error for a secret that only the pods of sessions get.
var errInCluster = errors.New("it is in a Kubernetes cluster, and only sessions there get it")

func origin(src config.SecretSource) string {
	if src.File != "" {
		return "file " + src.File
	}
	return fmt.Sprintf("command %q", src.Command[0])
}

// checkRegular returns an error for a file that would block its reader, such as a named pipe.
func checkRegular(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return errors.New("there is none")
	case err != nil:
		return errors.Unwrap(err) // without the path
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	}
	return nil
}

func readFile(path string) ([]byte, error) {
	if err := checkRegular(path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxValue+3)) // plus a line break and one byte too many
}

var errNotInstalled = errors.New("it is not installed")

// run returns a command's output. The command gets Ctrl-C from the terminal.
func (s *Store) run(argv []string) ([]byte, error) {
	program, found := s.environ.Program(argv[0], s.dir)
	if !found {
		return nil, errNotInstalled
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	out, complaint := excerpt.Head{Limit: maxValue + 3}, excerpt.Head{Limit: maxComplaint}
	cmd := exec.CommandContext(ctx, program, argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.dir, s.environ, &out, &complaint
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch said := bytes.TrimSpace(complaint.Bytes()); {
	case ctx.Err() != nil:
		err = fmt.Errorf("it printed nothing within %s", commandTimeout)
	case err != nil && len(said) > 0:
		err = fmt.Errorf("%w: %s", err, said)
	}
	return out.Bytes(), err
}
