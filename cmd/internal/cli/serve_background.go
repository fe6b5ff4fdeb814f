package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/hub/service"
)

func listenFlags(a *app, o serveOptions) (args []string) {
	if o.listen != "" {
		args = append(args, "--listen", o.listen)
	}
	if o.tokenFile != "" {
		args = append(args, "--token-file", a.Absolute(o.tokenFile))
	}
	if o.remote {
		args = append(args, "--allow-remote")
	}
	if o.readOnly {
		args = append(args, "--read-only")
	}
	return args
}

func runPrintUnit(a *app, o serveOptions) error {
	p, err := a.Manifest()
	if err != nil {
		return err
	}
	if o.listen != "" && o.tokenFile == "" {
		return errors.New("a service does not have your environment: use --token-file with --listen")
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find agentform's own program: %w", err)
	}
	for _, v := range a.SensitiveVars() {
		fmt.Fprintf(a.Err, "Variable %[1]s is sensitive, so its value is not in the unit.\nSet AGENTFORM_VAR_%[1]s in a file that only you can read, and name that file in the unit: EnvironmentFile=FILE\n", v.Name)
	}
	argv := slices.Concat([]string{self}, a.Flags(), a.VarFlags(false), []string{"serve"}, listenFlags(a, o))
	_, err = io.WriteString(a.Out, service.Unit(p.Manifest.Project, argv, a.Environ.Get("PATH")))
	return err
}

func runDetach(ctx context.Context, a *app, o serveOptions) error {
	p, _, err := a.State()
	if err == nil { // the hub in the background could not show what is wrong with the manifest
		p, _, err = a.Optional()
	}
	if err != nil {
		return err
	}
	return detach(ctx, a, p, o, a.Out)
}

func detach(ctx context.Context, a *app, p *project.Project, o serveOptions, w io.Writer) error {
	path := a.Absolute(cmp.Or(o.logFile, filepath.Join(p.Manifest.DataDir, service.LogFile)))
	socket, err := p.HubSocket()
	if err != nil {
		return err
	}
	vars, err := json.Marshal(a.Vars)
	if err != nil {
		return err
	}
	pid, err := service.Start(ctx, service.Command{
		Args: slices.Concat(a.Flags(), []string{"serve", "--" + varsOnStdin, "--log-file", path}, listenFlags(a, o)),
		Dir:  a.Dir, Environ: a.Environ, Stdin: bytes.NewReader(vars), DataDir: p.Manifest.DataDir, Socket: socket, Log: path,
	})
	if err == nil {
		fmt.Fprintf(w, "Hub started for %s (pid %d), logging to %s.\nStop it with: agentform serve --stop\n", p.Manifest.Project, pid, a.Relative(path))
	}
	if err == nil && o.listen != "" && tokenOf(a, p, o).Made() {
		client := api.Dial(socket)
		defer client.Close()
		l, err := client.Link(ctx, api.LinkOptions{})
		if err != nil {
			return err
		}
		printLink(w, l)
	}
	return err
}

func runStopHub(ctx context.Context, a *app) error {
	h, was, err := service.Stop(ctx, a.Open().Manifest.DataDir)
	if err != nil {
		return err
	}
	text := "No hub is running for this project.\n"
	if was {
		text = fmt.Sprintf("Hub stopped (pid %d). Sessions keep running.\n", h.PID)
	}
	_, err = io.WriteString(a.Out, text)
	return err
}
