package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"
	"gopkg.in/natefinch/lumberjack.v2"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/notify"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/session"
)

// serveOptions are how the hub is run.
type serveOptions struct {
	detach    bool
	printUnit bool
	stop      bool
	logFile   string
	openAPI   bool
	socket    bool
	vars      bool // on standard input
	listenOptions
}

func (a *app) serveCommand() *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:     "serve",
		Aliases: []string{"hub"},
		Short:   "Run the hub: it watches the sessions and repairs what was applied",
		Long: `Runs the hub of this project until it is interrupted: it looks at the sessions on
record when something happens to them, and at least once an interval, starts again what
died, as the restart block of each session allows, judges their health, and tells whom
the notify blocks name. It repairs what a person applied, and never makes, changes or
takes away what a person wanted; what was stopped or paused by hand stays so.

There is one hub a project. The sessions do not need it: it may be ended, or die, at any
time, and the next one goes on where it was. It reads the manifest's settings (notify,
max_running, data_dir) when it starts.

Other programs ask it, and tell sessions what to do, over HTTP on a unix socket that only
you can connect to (--print-socket). With --listen it serves the same, and a dashboard
for a browser, on TCP, to whoever brings the token.

With --print-unit it prints a systemd unit that runs it, for your user's systemd:

  agentform serve --print-unit > ~/.config/systemd/user/agentform-shop.service
  systemctl --user daemon-reload
  systemctl --user enable --now agentform-shop
  loginctl enable-linger`,
		Example: `  agentform serve
  agentform serve --detach
  agentform serve --stop
  agentform serve --listen 127.0.0.1:7171 --token-file ~/.config/agentform/token
  agentform serve --print-socket
  agentform serve --print-unit`,
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return usageError{c.CommandPath(), err}
			}
			if !c.Flags().Changed("log-level") {
				a.globals.logLevel = "info"
			}
			if o.vars {
				vars, err := readVars(a.env.Stdin)
				if err != nil {
					return err
				}
				a.globals.vars = vars
			}
			switch {
			case o.printUnit:
				return a.printUnit(o.listenOptions)
			case o.openAPI:
				return a.printOpenAPI()
			case o.socket:
				return a.printSocket()
			case o.stop:
				return a.stopHub(c.Context())
			case o.detach:
				return a.detachHub(c.Context(), o)
			}
			return a.runServe(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.detach, "detach", false, "run it in the background, in a session of its own; it logs to DATA_DIR/hub.log")
	c.Flags().BoolVar(&o.stop, "stop", false, "end the hub of this project, and return when it has ended; the sessions go on")
	c.Flags().BoolVar(&o.printUnit, "print-unit", false, "print a systemd unit that runs it, and do nothing else")
	c.Flags().StringVar(&o.logFile, "log-file", "", "log to this `file`, which is rotated, and not to standard error")
	c.Flags().BoolVar(&o.openAPI, "print-openapi", false, "print the OpenAPI document of the HTTP API, and do nothing else")
	c.Flags().BoolVar(&o.socket, "print-socket", false, "print the path of the hub's unix socket, and do nothing else")
	c.Flags().StringVar(&o.listen, "listen", "", "serve the API and the dashboard at this `host:port`, too; without a host on this machine only")
	c.Flags().StringVar(&o.tokenFile, "token-file", "", "with --listen: read the token from this `file`, which only you may read (default: $AGENTFORM_TOKEN)")
	c.Flags().BoolVar(&o.allowRemote, "allow-remote", false, "with --listen: at an address that other machines reach, though nothing is encrypted")
	c.Flags().BoolVar(&o.vars, varsOnStdin, false, "")
	_ = c.Flags().MarkHidden(varsOnStdin) // fails only for a flag that does not exist
	for _, flag := range []string{"log-file", "token-file"} {
		_ = c.MarkFlagFilename(flag) // fails only for a flag that does not exist
	}
	return c
}

// check refuses flags that do not go together.
func (o serveOptions) check() error {
	n := 0
	for _, set := range []bool{o.detach, o.stop, o.printUnit, o.openAPI, o.socket} {
		if set {
			n++
		}
	}
	switch {
	case n > 1:
		return errors.New("--detach runs the hub, --stop ends it and --print-… only prints: give one of them")
	case o.listen == "" && (o.tokenFile != "" || o.allowRemote):
		return errors.New("--token-file and --allow-remote are for --listen: give that, too")
	}
	return nil
}

// frugal is by how much, in per cent, the hub's memory may grow before what it does
// not need any more is collected.
const frugal = 70

// runServe is the hub, until it is told to end.
func (a *app) runServe(ctx context.Context, o serveOptions) error {
	p, _, err := a.recorded()
	if err != nil {
		return err
	}
	if len(p.problems) > 0 { // what is on record is looked after all the same
		if err := view.Diagnostics(a.env.Stderr, a.err(), p.problems); err != nil {
			return err
		}
	}
	log, closeLog, err := a.hubLog(o.logFile)
	if err != nil {
		return err
	}
	defer closeLog()
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	keepToOurselves()
	if a.env.getenv("GOGC") == "" {
		debug.SetGCPercent(frugal) // it is here for months, and has nothing to hurry for
	}

	a.scoped = a.scope(ctx)
	tcp, err := a.tcpDoor(o.listenOptions)
	if err != nil {
		return err
	}
	if tcp != nil {
		defer tcp.Close()
	}
	notifier, endNotifier := a.notifier(p, log)
	defer endNotifier()
	config, metrics := a.hubConfig(p, log, notifier), server.NewMetrics(a.env.Version)
	config.Looked = metrics.Looked
	hub := hub.New(config)
	supervised, end := context.WithCancel(context.WithoutCancel(ctx)) // its API ends before it
	defer end()
	ended := make(chan error, 1)
	serving, endServing := context.WithCancel(ctx) // which ends with the hub
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
		log.Info("supervising", "project", p.manifest.Project, "sessions", len(hub.Snapshot().Sessions), "pid", os.Getpid())
		a.systemd(log, daemon.SdNotifyReady)
		err = a.serveAPI(serving, p, hub, config.Activity, metrics, tcp, log)
	}
	if serving.Err() != nil {
		err = nil // it was told to end, or the hub ended, and says why
	}
	a.systemd(log, daemon.SdNotifyStopping)
	end()
	err = errors.Join(err, <-ended)
	log.Info("the hub ends; the sessions go on")
	return err
}

// systemd tells the service manager, if one runs this.
func (a *app) systemd(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd was not told", "state", state, "error", err)
	}
}

// hubConfig is what the hub of a project works with.
func (a *app) hubConfig(p *project, log *slog.Logger, n *notify.Notifier) hub.Config {
	secrets := a.secretsOf(p)
	looks, clones, reader := git.NewLooks(), git.NewCloneLooks(), a.activity(p)
	return hub.Config{
		Project: p.manifest.Project, DataDir: p.manifest.DataDir,
		Open: func(by string) *engine.Reconciler {
			r := a.wired(p, toAct)
			r.Observer.Look, r.Observer.LookClone = looks.Look, clones.Look
			r.Observer.Overdue = overdue(p, func() *activity.Reader { return reader }) // which the hub keeps small
			r.Applier.By = by
			r.Applier.BaseOf = func(address session.Address) ([]string, error) { return p.lastEnviron(address, secrets) }
			r.Applier.Secrets = func(name string) (string, bool) {
				v, err := secrets.fetch(name)
				return v, err == nil
			}
			return r
		},
		Activity:   reader,
		Secret:     func(name string) error { _, err := secrets.fetch(name); return err },
		Inherited:  func(run string) []string { _, names := environOf(p.runDir(run)); return names },
		MaxRunning: p.maxRunning(),
		AtOnce:     min(hub.DefaultAtOnce, a.parallelism(p)),
		Notify:     n.Tell,
		Wakers:     []hub.Waker{&hub.Processes{}, &hub.Files{}},
		Log:        log,
	}
}

// signingKey is the secret, or the variable of the environment, with which what
// webhooks are sent is signed.
const signingKey = "AGENTFORM_WEBHOOK_SECRET"

// notifyGrace is how long the end of the hub waits for what is still to be told.
const notifyGrace = 5 * time.Second

// withoutGitCall returns an environment without the variables that git sets for the
// aliases and hooks that it runs, such as GIT_DIR: the hub outlives the call.
func withoutGitCall(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "GIT_") && session.NeverInherited(name)
	})
}

// notifier tells whom the manifest's notify blocks name, until end is called.
func (a *app) notifier(p *project, log *slog.Logger) (n *notify.Notifier, end func()) {
	var targets []notify.Target
	for _, b := range p.manifest.Notifies {
		targets = append(targets, notify.Target{Name: b.Name, On: b.On, Command: b.Command, Webhook: b.Webhook})
	}
	secrets := a.secretsOf(p)
	ctx, cancel := context.WithCancel(context.Background())
	n = notify.New(ctx, notify.Config{
		Targets: targets, Dir: p.manifest.Root, Environ: withoutGitCall(a.env.Environ), Log: log,
		Key: func() ([]byte, bool) {
			key, err := secrets.fetch(signingKey)
			return []byte(key), err == nil
		},
	})
	return n, func() {
		defer time.AfterFunc(notifyGrace, cancel).Stop()
		n.Close()
		cancel()
	}
}

// The hub's log is begun anew at so many MiB, and so many old ones are kept.
const (
	logSize = 4
	logsOld = 3
)

// hubLog is where the hub says what it does.
func (a *app) hubLog(path string) (*slog.Logger, func(), error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.globals.logLevel)); err != nil {
		return nil, nil, err // it was checked before
	}
	var to io.Writer = a.env.Stderr
	end := func() {}
	if path != "" {
		path = a.absolute(path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, nil, fmt.Errorf("make the log's folder: %w", err)
		}
		file := &lumberjack.Logger{Filename: path, MaxSize: logSize, MaxBackups: logsOld}
		to, end = file, func() { _ = file.Close() }
	}
	log := slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: level}))
	a.log = log
	return log, end, nil
}

// lastEnviron returns the environment that a session was started with last, because
// a hub that systemd runs has hardly any. What looked like a secret then is asked
// for again, as declared secrets are: it was not written down.
func (p *project) lastEnviron(address session.Address, secrets *secrets) ([]string, error) {
	r := p.recordOf(address)
	if r == nil {
		return nil, nil
	}
	env, names := environOf(p.runDir(r.Run.ID))
	for _, name := range names {
		value, err := secrets.fetch(name)
		if err != nil {
			return nil, fmt.Errorf("secret %s cannot be had: %w", name, err)
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}
