package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/internal/shim"
)

// tokenVariable is the variable of the environment that holds the API's token.
const tokenVariable = "AGENTFORM_TOKEN"

// shortestToken is how long a token must be: nobody guesses 128 bits in hex.
const shortestToken = 32

// listenOptions say where the hub is to be reached besides its unix socket.
type listenOptions struct {
	listen      string
	tokenFile   string
	allowRemote bool
}

// hubSocket is the path of the unix socket of the project's hub.
func (p *project) hubSocket() (string, error) {
	sockets, err := shim.SocketDir(p.manifest.DataDir)
	return filepath.Join(sockets, server.SocketName), err
}

// tcpDoor listens on TCP, if that is asked for; nil: it is not.
func (a *app) tcpDoor(o listenOptions) (*server.Door, error) {
	if o.listen == "" {
		return nil, nil
	}
	token, err := a.token(o.tokenFile)
	if err != nil {
		return nil, err
	}
	l, host, err := server.ListenTCP(o.listen, o.allowRemote)
	if err != nil {
		return nil, err
	}
	return &server.Door{Listener: l, Token: token, Host: host}, nil
}

// token is what whoever comes by TCP has to bring.
func (a *app) token(file string) (string, error) {
	const make = "make one: (umask 077; openssl rand -hex 32 > FILE)"
	token, from := a.env.getenv(tokenVariable), tokenVariable
	if file != "" {
		from = a.absolute(file)
		info, err := os.Stat(from)
		if err != nil {
			return "", fmt.Errorf("read the token: %w\n%s", err, make)
		}
		if info.Mode().Perm()&0o077 != 0 {
			return "", fmt.Errorf("others may read the token in %s\nchmod 600 %s", from, from)
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return "", fmt.Errorf("read the token: %w", err)
		}
		token = string(bytes.TrimSpace(text))
	}
	switch {
	case token == "":
		return "", fmt.Errorf("--listen needs a token: give --token-file, or set %s\n%s", tokenVariable, make)
	case len(token) < shortestToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf("the token of %s is no good: it wants %d or more visible characters\n%s", from, shortestToken, make)
	}
	return token, nil
}

// serveAPI serves a hub that runs until ctx ends, and what was asked of it by then is
// finished.
func (a *app) serveAPI(ctx context.Context, p *project, hub *hub.Hub, reader *activity.Reader, m *server.Metrics, tcp *server.Door, log *slog.Logger) error {
	path, err := p.hubSocket()
	if err != nil {
		return err
	}
	l, err := server.ListenUnix(path)
	if err != nil {
		return err
	}
	if err := shim.KeepSocketDir(p.manifest.DataDir, filepath.Dir(path)); err != nil {
		return errors.Join(err, l.Close())
	}
	doors := []server.Door{{Listener: l}}
	log.Info("the API is served", "socket", path)
	if tcp != nil {
		doors = append(doors, *tcp)
		log.Info("the API is served", "address", "http://"+tcp.Addr().String())
	}
	server := server.New(server.Config{
		Hub: hub, Activity: reader, Facts: p.facts, Metrics: m, Project: p.manifest.Project, Version: a.env.Version, By: a.who().User, Log: log,
	})
	return server.Run(ctx, doors...)
}

// listenFlags are the flags that say the same.
func (a *app) listenFlags(o listenOptions) (args []string) {
	if o.listen != "" {
		args = append(args, "--listen", o.listen)
	}
	if o.tokenFile != "" {
		args = append(args, "--token-file", a.absolute(o.tokenFile))
	}
	if o.allowRemote {
		args = append(args, "--allow-remote")
	}
	return args
}

// printSocket prints where the hub is, or will be, to be reached.
func (a *app) printSocket() error {
	path, err := a.open().hubSocket()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.env.Stdout, path)
	return err
}

// printOpenAPI prints the document that describes the API.
func (a *app) printOpenAPI() error {
	e := json.NewEncoder(a.env.Stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(server.OpenAPI())
}
