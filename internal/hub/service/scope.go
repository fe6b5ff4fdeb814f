package service

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"github.com/agentform/agentform/internal/environ"
)

const scopeTimeout = 5 * time.Second

// Scope returns the command with which a hub that systemd runs starts tmux servers, in
// scopes of their own, so that they outlive the service. It is empty without systemd or
// scopes; there KillMode=process spares the servers.
func Scope(ctx context.Context, env environ.Vars, dir string, log *slog.Logger) []string {
	if env.Get("INVOCATION_ID") == "" { // systemd sets it
		return nil
	}
	path, found := env.Program("systemd-run", dir)
	if !found {
		return nil
	}
	commands := [][]string{{path, "--user", "--scope", "--quiet", "--collect", "--"}}
	if os.Geteuid() == 0 {
		commands = append(commands, []string{path, "--scope", "--quiet", "--collect", "--"})
	}
	for _, argv := range commands {
		try, cancel := context.WithTimeout(ctx, scopeTimeout)
		err := exec.CommandContext(try, argv[0], append(argv[1:len(argv):len(argv)], "true")...).Run()
		cancel()
		if err == nil {
			return argv
		}
		log.Debug("systemd did not create a scope", "command", argv, "error", err)
	}
	return nil
}
