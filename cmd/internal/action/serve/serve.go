// Package serve runs the hub of a project with its API, its page and its telemetry.
package serve

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/hub/service"
	"github.com/agentform/agentform/internal/notify"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/internal/shim/socketdir"
	"github.com/agentform/agentform/internal/usage"
)

// Input has the settings of a hub.
type Input struct {
	Project *project.Project
	Version string // of agentform
	// Listen is a TCP host and port that also serves API and page, for clients with Token; empty:
	// only the socket does. Remote admits other machines, and ReadOnly refuses all actions there.
	// Linked is called with a link to the page.
	Listen           string
	Token            func() (string, error) // called once this hub leads
	Remote, ReadOnly bool
	Linked           func(api.Link)
	// Elect means that other hubs of the project may lead. They reach this one at Advertise.
	Elect     bool
	Advertise string
	Diff      server.Differ
	Land      server.Lander
	Log       *slog.Logger
}

// Run supervises and serves until ctx ends. A hub that no longer leads waits until it does again.
func Run(ctx context.Context, in Input) error {
	defer context.AfterFunc(ctx, func() { notifySystemd(in.Log, daemon.SdNotifyStopping) })()
	if !in.Elect {
		return act(ctx, in)
	}
	for {
		leading, release, err := lead(ctx, in)
		switch {
		case ctx.Err() != nil: // interrupted before it led
			return nil
		case err != nil:
			return err
		}
		err = act(leading, in)
		cutOff := leading.Err() != nil // then its lock may not be reached, either
		err = errors.Join(err, release())
		if _, lost := errors.AsType[*backend.LostError](err); !lost && !cutOff || ctx.Err() != nil {
			return err
		}
		in.Log.Warn("another hub leads, and this one waits", "error", err)
	}
}

// firstPull is how long a hub waits for a shared state before its first look, which is at this machine's
// copy: that of a new machine is empty.
const firstPull = 3 * time.Second

// act supervises and serves until ctx ends.
func act(ctx context.Context, in Input) (err error) {
	p, log := in.Project, in.Log
	p.Scope = service.Scope(ctx, p.Environ, p.Dir, log)
	var tcp *server.Listener
	if in.Listen != "" {
		token, err := in.Token()
		if err != nil {
			return err
		}
		l, host, err := server.ListenTCP(in.Listen, in.Remote)
		if err != nil {
			return err
		}
		defer l.Close()
		tcp = &server.Listener{Listener: l, Token: token, Host: host, ReadOnly: in.ReadOnly}
	}
	notifier, endNotifier := p.Notifier(log)
	defer endNotifier()
	config, metrics := p.Hub(log, notifier), server.NewMetrics(in.Version)
	config.Looked = metrics.Looked
	report := reporterOf(p, config.Usage)
	config.ReportAt, config.Report = project.ReportTimes(p.Manifest), dailyReport(p, report, notifier)
	sends := &sending{}
	sends.follow(&config)
	if p.Stored.Shared() {
		first, cancel := context.WithTimeout(ctx, firstPull)
		_ = p.Stored.Pull(first) // the hub tries again, and reports it
		cancel()
	}
	hub := hub.New(config)
	defer sends.start(ctx, in, metrics.Of(hub, config.Usage, p.Manifest.Project))()
	supervised, end := context.WithCancel(context.WithoutCancel(ctx)) // its API ends first
	defer end()
	ended := make(chan error, 1)
	serving, endServing := context.WithCancel(ctx) // ends with the hub
	defer endServing()
	go func() {
		err := hub.Run(supervised)
		endServing()
		ended <- err
	}()
	looked := make(chan error, 1)
	go func() { _, err := hub.Look(ctx); looked <- err }()
	select {
	case err := <-ended:
		return err
	case err = <-looked:
	}
	if err == nil {
		log.Info("supervising", "project", p.Manifest.Project, "sessions", len(hub.Snapshot().Sessions), "pid", os.Getpid())
		notifySystemd(log, daemon.SdNotifyReady)
		err = serveAPI(serving, p, server.Config{
			Hub: hub, Activity: config.Activity, Usage: config.Usage, Facts: p.Facts, Metrics: metrics,
			Folder:  p.SessionDir,
			Project: p.Manifest.Project, Version: in.Version, By: p.Who().User, Environ: p.Environ, Log: log,
			Diff: in.Diff, Land: in.Land, Report: report,
		}, tcp, in.Linked)
	}
	if serving.Err() != nil {
		err = nil // interrupted, or the hub ended and returns why
	}
	end()
	err = errors.Join(err, <-ended)
	log.Info("the hub is stopping; sessions keep running")
	return err
}

func notifySystemd(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd was not notified", "state", state, "error", err)
	}
}

func serveAPI(ctx context.Context, p *project.Project, c server.Config, tcp *server.Listener, linked func(api.Link)) error {
	if tcp != nil {
		logins, err := server.ReadLogins(filepath.Join(p.Manifest.DataDir, "hub.logins"), tcp.Token, c.Log)
		if err != nil {
			return err
		}
		c.Logins = logins
	}
	path, err := p.HubSocket()
	if err != nil {
		return err
	}
	l, err := server.ListenUnix(path)
	if err != nil {
		return err
	}
	if err := socketdir.Remember(p.Manifest.DataDir, filepath.Dir(path)); err != nil {
		return errors.Join(err, l.Close())
	}
	doors, served := []server.Listener{{Listener: l}}, server.New(c)
	c.Log.Info("the API is served", "socket", path)
	if tcp != nil {
		doors = append(doors, *tcp)
		c.Log.Info("the API is served", "address", "http://"+tcp.Addr().String())
	}
	if tcp != nil {
		served.Listens(*tcp)
		link, err := served.Link(api.Operate, "")
		if err != nil {
			return err
		}
		linked(link)
	}
	return served.Run(ctx, doors...)
}

// reporterOf returns a Reporter of a hub's observations. It makes one report at a time, since each
// reads all histories.
func reporterOf(p *project.Project, store *usage.Store) server.Reporter {
	var one sync.Mutex
	return func(s *hub.Snapshot, since time.Time) api.Report {
		one.Lock()
		defer one.Unlock()
		return project.HubReport(p, s, store, since)
	}
}

// dailyReport returns a function that sends a report of a hub's observation.
func dailyReport(p *project.Project, report server.Reporter, n *notify.Notifier) func(*hub.Snapshot, string, time.Time) {
	return func(s *hub.Snapshot, at string, since time.Time) {
		now := s.At.Local()
		n.Send(notify.Event{Event: notify.Report, Time: now, Project: p.Manifest.Project, New: at, Detail: view.ReportMessage(report(s, since), now)})
	}
}
