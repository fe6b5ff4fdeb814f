package sharedstate_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/test/backendtest"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

func TestMain(m *testing.M) { suite.Main(m) }

// TestLocal runs the suite of all backends with the state file, as far as it can be lost
// and cut off: its lock belongs to a process, and nothing is between.
func TestLocal(t *testing.T) { suite.RunVirtual(t) }

var suite = backendtest.Suite{
	Start: func(t *testing.T) string { return t.TempDir() },
	Open: func(dir, project string, _ time.Duration) (backend.Backend, error) {
		return &local{path: filepath.Join(dir, project, "state.json")}, nil
	},
	Conditional: true, Local: true,
}

// local is the state file as a backend. What the suite writes is a label of one record,
// and its description of the lock is the holder's command.
type local struct {
	path string

	mu   sync.Mutex
	held map[string]*state.Store // by the ID of the lock
}

func (l *local) Read(context.Context) ([]byte, backend.Version, error) {
	st, err := state.Read(l.path)
	if errors.Is(err, state.ErrNone) {
		return nil, "", backend.ErrNone
	}
	if err != nil {
		return nil, "", err
	}
	return []byte(st.Sessions[0].Spec.Labels["text"]), version(st), nil
}

func version(st state.State) backend.Version {
	return backend.Version(strconv.FormatUint(st.Serial, 10))
}

func (l *local) Write(ctx context.Context, text []byte, seen backend.Version, id string) (backend.Version, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	store := l.held[id]
	if store == nil {
		holder, _ := l.Holder(ctx)
		return "", &backend.LostError{Holder: holder}
	}
	before := backend.Version("")
	if st := store.State(); len(st.Sessions) > 0 {
		before = version(st)
	}
	if before != seen {
		return "", &backend.ChangedError{Seen: seen, Found: before}
	}
	r := session.Record{ID: "a", Address: "session.a", Spec: session.Spec{Address: "session.a", Labels: map[string]string{"text": string(text)}}}
	if err := store.Put(r); err != nil {
		return "", err
	}
	return version(store.State()), nil
}

func (l *local) Lock(ctx context.Context, i backend.Info) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[i.ID] != nil {
		return 0, nil
	}
	text, err := json.Marshal(i)
	if err != nil {
		return 0, err
	}
	store, err := state.Open(ctx, l.path, "suite", "0.1.0", state.Holder{PID: 1, Command: string(text)}, 0)
	if _, locked := errors.AsType[*state.LockedError](err); locked {
		holder, _ := l.Holder(ctx)
		return 0, &backend.HeldError{Holder: holder}
	}
	if err != nil {
		return 0, err
	}
	if l.held == nil {
		l.held = map[string]*state.Store{}
	}
	l.held[i.ID] = store
	return 0, nil
}

func (l *local) Unlock(ctx context.Context, i backend.Info) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if store := l.held[i.ID]; store != nil {
		delete(l.held, i.ID)
		return store.Close()
	}
	if holder, err := l.Holder(ctx); err == nil {
		return &backend.LostError{Holder: holder}
	}
	return nil
}

func (l *local) Holder(context.Context) (backend.Info, error) {
	h, held := state.HeldBy(l.path)
	if !held {
		return backend.Info{}, backend.ErrNone
	}
	var i backend.Info
	_ = json.Unmarshal([]byte(h.Command), &i) // unknown for a moment after it was locked
	return i, nil
}
