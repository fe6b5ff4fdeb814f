package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/internal/wire"
)

type serveOptions struct {
	detach    bool
	printUnit bool
	stop      bool
	logFile   string
	openAPI   bool
	socket    bool
	vars      bool // on standard input
	listen    string
	tokenFile string
	remote    bool
	readOnly  bool
	elect     bool   // whether other hubs of the project may lead
	advertise string // the URL of this hub for the others
}

// varsOnStdin is a hidden flag: everyone on this machine can read a command line.
const varsOnStdin = "vars-on-stdin"

func serveCommand(a *app) *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:     "serve",
		Aliases: []string{"hub"},
		Short:   "Run the hub, which restarts failed sessions and sends notifications",
		Long: `Runs the hub of this project until it is interrupted. The hub inspects the sessions in the
state when something happens to them, and at least once an interval. It restarts failed
sessions as their restart blocks allow, checks health, and sends notifications. It never
creates, changes or removes sessions; manual stops and pauses are respected.

One hub runs per project. Sessions do not depend on it; it can be stopped at any time and
continues where it left off. It reads the manifest's settings (notify, max_running,
data_dir) when it starts.

Other programs use its HTTP API on a unix socket that only you can connect to
(--print-socket). With --listen it serves the API and a page for browsers on TCP to clients
with the token. Without --token-file and AGENTFORM_TOKEN it makes a token, in
DATA_DIR/hub.token, and prints a link to the page that works once; agentform open opens it.

With --leader-elect several hubs of a project run, on different machines or as replicas in a
cluster: the one that has their lock in the backend acts, and another one when it ends. Those
that wait pass requests on to the URL that it gave with --advertise.

--print-unit prints a systemd unit for your user's systemd:

  agentform serve --print-unit > ~/.config/systemd/user/agentform-shop.service
  systemctl --user daemon-reload
  systemctl --user enable --now agentform-shop
  loginctl enable-linger`,
		Example: `  agentform serve
  agentform serve --detach
  agentform serve --stop
  agentform serve --listen 127.0.0.1:7171
  agentform serve --listen 127.0.0.1:7171 --token-file ~/.config/agentform/token
  agentform serve --print-socket
  agentform serve --print-unit`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return exit.Usage(c.CommandPath(), err)
			}
			if !c.Flags().Changed("log-level") {
				a.LogLevel = "info"
				a.level.Set(slog.LevelInfo)
			}
			if o.vars {
				if err := json.NewDecoder(a.In).Decode(&a.Vars); err != nil {
					return fmt.Errorf("read the values of variables: %w", err)
				}
			}
			switch {
			case o.printUnit:
				return runPrintUnit(a, o)
			case o.openAPI:
				return wire.Write(a.Out, server.OpenAPI())
			case o.socket:
				return runPrintSocket(a)
			case o.stop:
				return runStopHub(c.Context(), a)
			case o.detach:
				return runDetach(c.Context(), a, o)
			}
			return runServe(c.Context(), a, o)
		},
	}
	c.Flags().BoolVar(&o.detach, "detach", false, "run in the background; log to DATA_DIR/hub.log")
	c.Flags().BoolVar(&o.stop, "stop", false, "stop the hub; sessions keep running")
	c.Flags().BoolVar(&o.printUnit, "print-unit", false, "print a systemd unit and exit")
	c.Flags().StringVar(&o.logFile, "log-file", "", "log to this `file`, which is rotated, instead of standard error")
	c.Flags().BoolVar(&o.openAPI, "print-openapi", false, "print the OpenAPI document of the HTTP API and exit")
	c.Flags().BoolVar(&o.socket, "print-socket", false, "print the path of the hub's unix socket and exit")
	c.Flags().StringVar(&o.listen, "listen", "", "also serve the API and the page on this TCP `host:port` (default host: 127.0.0.1)")
	c.Flags().StringVar(&o.tokenFile, "token-file", "", "`file` with the API token, not readable by others (default: $AGENTFORM_TOKEN, else DATA_DIR/hub.token, which is made)")
	c.Flags().BoolVar(&o.remote, "allow-remote", false, "allow --listen on a non-loopback address (unencrypted)")
	c.Flags().BoolVar(&o.readOnly, "read-only", false, "refuse all actions over TCP, also by pages")
	c.Flags().BoolVar(&o.elect, "leader-elect", false, "be one of several hubs of which one acts; needs a backend with locks that expire")
	c.Flags().StringVar(&o.advertise, "advertise", "", "the `URL` at which the other hubs reach this one while it leads")
	c.Flags().BoolVar(&o.vars, varsOnStdin, false, "")
	_ = c.Flags().MarkHidden(varsOnStdin) // fails only for a flag that does not exist
	for _, flag := range []string{"log-file", "token-file"} {
		_ = c.MarkFlagFilename(flag) // fails only for a flag that does not exist
	}
	return c
}

func (o serveOptions) check() error {
	n := 0
	for _, set := range []bool{o.detach, o.stop, o.printUnit, o.openAPI, o.socket} {
		if set {
			n++
		}
	}
	switch {
	case n > 1:
		return errors.New("--detach, --stop and --print-… exclude each other")
	case o.listen == "" && (o.tokenFile != "" || o.remote || o.readOnly):
		return errors.New("--token-file, --allow-remote and --read-only need --listen")
	case o.advertise != "" && !o.elect:
		return errors.New("--advertise needs --leader-elect")
	case o.elect && o.detach:
		return errors.New("--leader-elect and --detach exclude each other: what runs several hubs starts them")
	}
	return nil
}

func runPrintSocket(a *app) error {
	path, err := a.Open().HubSocket()
	if err == nil {
		_, err = fmt.Fprintln(a.Out, path)
	}
	return err
}
