// Package backends opens the state of a project, on this machine or in the backend that its
// manifest declares.
package backends

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/backend/pg"
	"github.com/agentform/agentform/internal/backend/sealed"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/sharedstate"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// State is the place of a project's state.
type State struct {
	Path     string // of the state file; a copy if the state is shared
	Manifest *config.Manifest
	Environ  environ.Vars
	Owner    func() session.Owner
	Version  string // of agentform
	Log      *slog.Logger
	// Waiting is called with the holder of the lock, before each new try. It may be nil.
	Waiting func(backend.Info)

	// AllowPlain accepts an unencrypted state although encryption is declared.
	AllowPlain bool

	once sync.Once
	copy *sharedstate.Copy
	err  error
}

// Shared reports whether the manifest declares a backend.
func (s *State) Shared() bool { return s.Manifest.Backend != nil }

// Copy returns the copy of the shared state.
func (s *State) Copy() (*sharedstate.Copy, error) {
	s.once.Do(func() { s.copy, s.err = s.newCopy() })
	return s.copy, s.err
}

func (s *State) newCopy() (*sharedstate.Copy, error) {
	m, err := sharedstate.ReadMark(s.Path)
	if err != nil {
		return nil, err
	}
	return s.CopyIn(m.Place.Given)
}

// CopyIn returns the copy of the shared state for the manifest and these settings of
// --backend-config.
func (s *State) CopyIn(given map[string]string) (*sharedstate.Copy, error) {
	b := s.Manifest.Backend
	all := values(b, given, s.Environ)
	opened, name, err := open(b.Kind, all, b.Headers, s.Manifest)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: backend %q: %w", b.Range.Filename, b.Range.Start.Line, b.Kind, err)
	}
	if opened, err = s.encrypted(opened, sealed.Settings{AllowPlain: s.AllowPlain}); err != nil {
		return nil, err
	}
	maps.DeleteFunc(all, func(name, _ string) bool { return secretSettings[name] != "" })
	for name, value := range all {
		if strings.Contains(value, "://") {
			all[name] = withoutPassword(value)
		}
	}
	c := s.copyOf(opened, name)
	c.Place = sharedstate.Place{Kind: b.Kind, Values: all, Given: given}
	return c, nil
}

// encrypted returns a backend that encrypts for b, if the manifest says so. plain decides about
// unencrypted states.
func (s *State) encrypted(b backend.Backend, plain sealed.Settings) (backend.Backend, error) {
	e := s.Manifest.Encryption
	if e == nil {
		return b, nil
	}
	identities := s.Environ.Get("AGENTFORM_AGE_IDENTITY")
	if identities == "" && e.IdentityFile != "" {
		text, err := os.ReadFile(e.IdentityFile)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: encryption: %w; or set AGENTFORM_AGE_IDENTITY", e.Range.Filename, e.Range.Start.Line, err)
		}
		identities = string(text)
	}
	if strings.TrimSpace(identities) == "" { // it could write what it cannot read
		return nil, fmt.Errorf("%s:%d: encryption: no identity is set: set AGENTFORM_AGE_IDENTITY or identity_file to the private key of a recipient", e.Range.Filename, e.Range.Start.Line)
	}
	plain.Recipients, plain.Identities = e.Recipients, identities
	b, err := sealed.New(b, plain)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: encryption: %w", e.Range.Filename, e.Range.Start.Line, err)
	}
	return b, nil
}

// Previous returns the copy of the shared state according to the mark next to the state file; nil:
// the state is only on this machine.
func (s *State) Previous() (*sharedstate.Copy, error) {
	m, err := sharedstate.ReadMark(s.Path)
	if err != nil || m.Backend == "" {
		return nil, err
	}
	b := &config.Backend{Kind: m.Place.Kind, Values: m.Place.Values}
	opened, name, err := open(b.Kind, values(b, nil, s.Environ), nil, s.Manifest)
	if err != nil {
		return nil, fmt.Errorf("backend %q of before: %w", b.Kind, err)
	}
	if name != m.Backend {
		return nil, fmt.Errorf("the state is in %s, whose conn_str is not kept, and not in %s: set AGENTFORM_PG_CONN_STR to the conn_str of before; a new one belongs in the backend block", m.Backend, name)
	}
	if opened, err = s.encrypted(opened, sealed.Settings{AsFound: true}); err != nil { // encryption may be new
		return nil, err
	}
	c := s.copyOf(opened, name)
	c.Place = m.Place
	return c, nil
}

func (s *State) copyOf(b backend.Backend, name string) *sharedstate.Copy {
	return &sharedstate.Copy{
		Path: s.Path, Backend: b, Name: name, Blobs: state.Blobs{Dir: layout.Data{Dir: s.Manifest.DataDir}.Blobs()},
		Owner: s.Owner(), Project: s.Manifest.Project, Version: s.Version, Outputs: s.Manifest.OutputsDir, Log: s.Log,
	}
}

// Pull updates the copy of a shared state.
func (s *State) Pull(ctx context.Context) error {
	if !s.Shared() {
		return s.local()
	}
	if err := layout.MakeDataDir(s.Manifest.DataDir); err != nil { // the copy's owner has its identity
		return err
	}
	c, err := s.Copy()
	if err != nil {
		return err
	}
	return c.Pull(ctx)
}

// local returns an error if the state file is the copy of a state in a backend.
func (s *State) local() error {
	m, err := sharedstate.ReadMark(s.Path)
	if err == nil && m.Backend != "" {
		err = &sharedstate.MovedError{From: m.Backend}
	}
	return err
}

// Open locks and opens the state.
func (s *State) Open(ctx context.Context, o sharedstate.Opening) (*state.Store, error) {
	if err := layout.MakeDataDir(s.Manifest.DataDir); err != nil {
		return nil, err
	}
	if !s.Shared() {
		if err := s.local(); err != nil {
			return nil, err
		}
		return s.OpenFile(ctx, o)
	}
	c, err := s.Copy()
	if err != nil {
		return nil, err
	}
	o.Waiting = s.Waiting
	return c.Open(ctx, o)
}

// OpenFile locks and opens the state file, even if it is a copy.
func (s *State) OpenFile(ctx context.Context, o sharedstate.Opening) (*state.Store, error) {
	return state.Open(ctx, s.Path, s.Manifest.Project, s.Version, o.Who, o.Wait, s.Manifest.OutputsDir)
}

// Restarts returns the facts about a session's restarts, as read from the backend.
func (s *State) Restarts(r session.Record) []health.Moment {
	c, err := s.Copy()
	if err != nil {
		return nil // every other use of the state reports it
	}
	return c.Restarts(r)
}

// Parse parses the settings of --backend-config, NAME=VALUE each.
func Parse(kind string, words []string) (map[string]string, error) {
	known := config.BackendAttributes(kind)
	var errs []error
	settings := map[string]string{}
	for _, word := range words {
		name, value, given := strings.Cut(word, "=")
		switch {
		case !given:
			errs = append(errs, fmt.Errorf("--backend-config %s: must be NAME=VALUE", word))
		case !slices.Contains(known, name) || name == "headers":
			errs = append(errs, fmt.Errorf("--backend-config %s: backend %q has no such setting", name, kind))
		case secretSettings[name] != "":
			errs = append(errs, fmt.Errorf("--backend-config %s: it would be kept on disk; set %s instead", name, secretSettings[name]))
		}
		settings[name] = value
	}
	return settings, errors.Join(errs...)
}

// secretSettings are the settings that are not stored, with the variable of each.
var secretSettings = map[string]string{
	"password":               "AGENTFORM_HTTP_PASSWORD",
	"client_private_key_pem": "AGENTFORM_HTTP_CLIENT_PRIVATE_KEY_PEM",
	"conn_str":               "AGENTFORM_PG_CONN_STR",
}

// values returns the settings of a backend block: from --backend-config, the block, or the
// environment, in this order.
func values(b *config.Backend, given map[string]string, env environ.Vars) map[string]string {
	all := map[string]string{}
	for _, name := range config.BackendAttributes(b.Kind) {
		if v, set := env.Lookup("AGENTFORM_" + strings.ToUpper(b.Kind+"_"+name)); set && v != "" {
			all[name] = v
		}
	}
	if b.Kind == "pg" { // even if the block has a conn_str, which is in git
		all["password"] = pg.Password(all["conn_str"])
	}
	maps.Copy(all, b.Values)
	maps.Copy(all, given)
	return all
}

// Sessions returns the number of sessions in the state file.
func (s *State) Sessions() (int, error) {
	st, err := state.Read(s.Path)
	if errors.Is(err, state.ErrNone) {
		return 0, nil
	}
	return len(st.Sessions), err
}
