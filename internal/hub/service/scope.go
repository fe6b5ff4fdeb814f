package service

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/agentform/agentform/internal/environ"
)

const scopeTimeout = 5 * time.Second

// scopeProperties are those of a scope, the best first. With OOMPolicy=continue, which scopes
// have since systemd 253, the others in a scope live on when the kernel kills one process for
// its memory, and systemd-oomd avoids a scope with ManagedOOMPreference=avoid
// (systemd.scope(5), systemd.resource-control(5)): else one agent's build ends every session.
var scopeProperties = [][]string{
	{"--property=OOMPolicy=continue", "--property=ManagedOOMPreference=avoid"},
	{"--property=ManagedOOMPreference=avoid"},
	nil,
}

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
	managers := [][]string{{path, "--user"}}
	if os.Geteuid() == 0 {
		managers = append(managers, []string{path})
	}
	var commands [][]string
	for _, manager := range managers {
		for _, properties := range scopeProperties {
			commands = append(commands, slices.Concat(manager, []string{"--scope", "--quiet", "--collect"}, properties, []string{"--"}))
		}
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
