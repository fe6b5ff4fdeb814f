package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/cmd/internal/backends"
	"github.com/agentform/agentform/cmd/internal/secret"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/budget"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/forge"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/notify"
	"github.com/agentform/agentform/internal/price"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Hub returns the configuration of the project's hub.
func (p *Project) Hub(log *slog.Logger, n *notify.Notifier) hub.Config {
	looks, clones, reader := git.NewLookCache(), git.NewCloneLookCache(), p.Activity()
	wakers := []hub.Waker{&hub.Processes{}, &hub.Files{}}
	if p.Stored.Shared() {
		wakers = append(wakers, puller{p.Stored, log})
	}
	return hub.Config{
		Project: p.Manifest.Project, DataDir: p.Manifest.DataDir, Settings: HubSettings(p.Manifest),
		Open: func(by string) *engine.Engine {
			r := p.reconciler(ToAct)
			r.Observer.Look, r.Observer.LookClone = looks.Look, clones.Look
			r.Observer.Overdue = overdue(p, func() *activity.Reader { return reader }) // which the hub keeps small
			r.Applier.By, r.Applier.BaseOf = by, p.lastEnviron
			r.Applier.Secrets = func(name string) (string, bool) {
				v, err := p.Secrets.Fetch(name)
				return v, err == nil
			}
			return r
		},
		Activity:   reader,
		Usage:      Usage(p),
		Budgets:    p.Manifest.Budgets,
		Secret:     func(name string) error { _, err := p.Secrets.Fetch(name); return err },
		Inherited:  func(run string) []string { _, names, _ := rundir.LaunchEnv(p.RunDir(run)); return names },
		MaxRunning: p.MaxRunning,
		AtOnce:     min(hub.DefaultAtOnce, p.Parallelism),
		Forge:      forge.NewTool(p.Environ, time.Now),
		Notify:     n.Send,
		Wakers:     wakers,
		Log:        log,
	}
}

// Fleet returns an observer of the project's sessions.
func Fleet(p *Project) *fleet.Observer {
	return fleet.New(fleet.Config{
		Engine: p.Reconciler(ToRead), Activity: p.Activity(), DataDir: p.Manifest.DataDir, Wanted: p.Manifest.Sessions, MaxRunning: p.MaxRunning,
		Supervisor: func() (state.Holder, bool) { return hub.Running(p.Manifest.DataDir) }, Log: p.Log,
	})
}

// HubSettings returns a digest of the manifest's settings that a hub reads at its start.
func HubSettings(m *config.Manifest) string {
	notifies := slices.Clone(m.Notifies)
	for i := range notifies {
		notifies[i].Range = session.Range{}
	}
	b, err := json.Marshal(struct {
		Notifies   []config.Notify
		MaxRunning int
		Prices     map[string]price.Price `json:",omitempty"`
		Budgets    []budget.Budget        `json:",omitempty"`
		Telemetry  *config.Telemetry      `json:",omitempty"`
	}{notifies, m.MaxRunning, m.Prices, m.Budgets, m.Telemetry})
	if err != nil {
		panic(err) // plain strings can always be encoded
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// lastEnviron is for a hub that systemd starts with hardly any environment.
func (p *Project) lastEnviron(address session.Address) ([]string, error) {
	st, err := state.Read(p.State)
	r := Find(st.Sessions, address)
	if err != nil || r == nil {
		return nil, nil
	}
	env, names, err := rundir.LaunchEnv(p.RunDir(r.Run.ID))
	if err != nil {
		return nil, nil // the run's directory is gone
	}
	for _, name := range names {
		value, err := p.Secrets.Fetch(name)
		if err != nil {
			return nil, fmt.Errorf("secret %s is not available: %w", name, err)
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

const notifyTimeout = 5 * time.Second

// Notifier starts the notifier of the manifest's notify blocks. end stops it.
func (p *Project) Notifier(log *slog.Logger) (n *notify.Notifier, end func()) {
	var targets []notify.Target
	for _, b := range p.Manifest.Notifies {
		targets = append(targets, target(b))
	}
	// The hub outlives a git hook or alias that started it.
	env := slices.DeleteFunc(slices.Clone(p.Environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "GIT_") && session.NeverInherited(name)
	})
	ctx, cancel := context.WithCancel(context.Background())
	n = notify.New(ctx, notify.Config{
		Targets: targets, Dir: p.Manifest.Root, Environ: env, Log: log,
		Key: func() ([]byte, bool) {
			key, err := p.Secrets.Fetch(secret.SigningVariable)
			return []byte(key), err == nil
		},
		Secret: p.Secrets.Fetch,
	})
	return n, func() {
		defer time.AfterFunc(notifyTimeout, cancel).Stop()
		n.Close()
		cancel()
	}
}

func target(b config.Notify) notify.Target {
	return notify.Target{Name: b.Name, On: b.On, Report: b.Report, Command: b.Command, Webhook: b.Webhook, Secret: b.Secret, Preset: b.Preset}
}

// TryNotify sends a test notification to the target of a notify block.
func (p *Project) TryNotify(ctx context.Context, b config.Notify) error {
	n, end := p.Notifier(p.Log)
	defer end()
	return n.Deliver(ctx, target(b), notify.Event{
		Event: notify.Test, Time: time.Now(), Project: p.Manifest.Project, Detail: "This is a test of agentform doctor --notify.",
	})
}

// pullEvery is the maximum age of a hub's copy of a shared state.
const pullEvery = 15 * time.Second

// puller updates the copy of a shared state, and wakes the hub when it has changed.
type puller struct {
	stored *backends.State
	log    *slog.Logger
}

// Watch implements hub.Waker.
func (puller) Watch(hub.Watched) {}

// Run implements hub.Waker.
func (x puller) Run(ctx context.Context, wake func()) error {
	var failing error
	for seen := uint64(0); ; {
		err := x.stored.Pull(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (failing == nil || failing.Error() != err.Error()):
			x.log.Warn("the shared state is not up to date: sessions of this machine are supervised all the same, and nothing is started", "error", err)
		case err == nil && failing != nil:
			x.log.Info("the shared state is up to date again")
		}
		failing = err
		if serial, err := state.Serial(x.stored.Path); err == nil && serial != seen {
			seen = serial
			wake()
		}
		if !sleep.For(ctx, pullEvery) {
			return nil
		}
	}
}
