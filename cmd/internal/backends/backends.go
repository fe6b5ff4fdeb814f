// Package backends opens the state of a project, on this machine alone or in the backend
// that its manifest declares.
package backends

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/sharedstate"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// State is where the state of a project is.
type State struct {
	Path     string // of the state file, which is a copy if the state is shared
	Manifest *config.Manifest
	Environ  environ.Vars
	Owner    func() session.Owner
	Version  string // of agentform
	Log      *slog.Logger
	// Waiting is called while somebody else has the lock. It may be nil.
	Waiting func(backend.Info)

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
	b, name, err := Backend(context.Background(), s.Manifest, m.Config, s.Environ)
	if err != nil {
		return nil, err
	}
	return &sharedstate.Copy{
		Path: s.Path, Backend: b, Name: name, Config: m.Config, Blobs: state.Blobs{Dir: filepath.Join(s.Manifest.DataDir, "blobs")},
		Owner: s.Owner(), Project: s.Manifest.Project, Version: s.Version, Outputs: s.Manifest.OutputsDir, Log: s.Log,
	}, nil
}

// Pull brings the copy of a shared state up to date.
func (s *State) Pull(ctx context.Context) error {
	if !s.Shared() {
		return s.local()
	}
	c, err := s.Copy()
	if err != nil {
		return err
	}
	if err := layout.MakeDataDir(s.Manifest.DataDir); err != nil {
		return err
	}
	return c.Pull(ctx)
}

// local refuses a state file that is the copy of a state in a backend.
func (s *State) local() error {
	m, err := sharedstate.ReadMark(s.Path)
	if err == nil && m.Backend != "" {
		err = &sharedstate.MovedError{From: m.Backend}
	}
	return err
}

// Open locks and opens the state. restarts returns what counts for the restarts of a session
// of this machine; it may be nil.
func (s *State) Open(ctx context.Context, who state.Holder, wait time.Duration, restarts func(session.Record) []health.Moment) (*state.Store, error) {
	if err := layout.MakeDataDir(s.Manifest.DataDir); err != nil {
		return nil, err
	}
	if !s.Shared() {
		if err := s.local(); err != nil {
			return nil, err
		}
		return state.Open(ctx, s.Path, s.Manifest.Project, s.Version, who, wait, s.Manifest.OutputsDir)
	}
	c, err := s.Copy()
	if err != nil {
		return nil, err
	}
	return c.Open(ctx, sharedstate.Opening{Who: who, Wait: wait, Waiting: s.Waiting, Restarts: restarts})
}

// Restarts returns what counts for the restarts of a session, as it was read from the backend.
func (s *State) Restarts(r session.Record) []health.Moment {
	c, err := s.Copy()
	if err != nil {
		return nil // every other use of the state says so
	}
	return c.Restarts(r)
}

// Parse returns the settings that words of --backend-config give, NAME=VALUE each.
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

// secretSettings are the settings that are not kept, with the variable of each.
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
	maps.Copy(all, b.Values)
	maps.Copy(all, given)
	return all
}
