package cli

import (
	"context"
	"os"
	"os/exec"
	"time"
)

// scopeTimeout is how long systemd may take to make a scope.
const scopeTimeout = 5 * time.Second

// scope is the command to put before a tmux server that a hub starts which systemd
// runs: in a scope of its own the server is in no service's control group, so
// nothing that happens to the service happens to the sessions. Empty: systemd does
// not run this, or makes no scopes for it; then KillMode=process spares the server.
func (a *app) scope(ctx context.Context) []string {
	if a.env.getenv("INVOCATION_ID") == "" { // set by systemd for what it runs
		return nil
	}
	path, found := a.env.findCommand("systemd-run", a.env.Dir)
	if !found {
		return nil
	}
	ways := [][]string{{path, "--user", "--scope", "--quiet", "--collect", "--"}}
	if os.Geteuid() == 0 {
		ways = append(ways, []string{path, "--scope", "--quiet", "--collect", "--"})
	}
	for _, way := range ways {
		try, cancel := context.WithTimeout(ctx, scopeTimeout)
		err := exec.CommandContext(try, way[0], append(way[1:len(way):len(way)], "true")...).Run()
		cancel()
		if err == nil {
			return way
		}
		a.log.Debug("systemd makes no scope", "command", way, "error", err)
	}
	return nil
}
