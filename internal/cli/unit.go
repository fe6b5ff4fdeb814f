package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// unit is the service file of a hub, for the systemd of a user. Ending it ends the
// hub alone (KillMode=process): tmux servers that it had to start are in its control
// group, and live on.
const unit = `[Unit]
Description=agentform hub of %[1]s
Documentation=https://github.com/agentform/agentform/blob/main/docs/hub.md

[Service]
Type=notify
ExecStart=%[2]s
KillMode=process
Restart=on-failure
RestartSec=5
# What the hub finds its tools with. Agents keep the environment that they were applied with.
Environment=%[3]s

[Install]
WantedBy=default.target
`

// printUnit prints the service file.
func (a *app) printUnit(o listenOptions) error {
	p, err := a.wanted()
	if err != nil {
		return err
	}
	if o.listen != "" && o.tokenFile == "" {
		return errors.New("a service does not have your environment, nor a token in it: give --token-file with --listen")
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find agentform's own program: %w", err)
	}
	var command []string
	for _, arg := range slices.Concat([]string{self}, a.sameFlags(), []string{"serve"}, a.listenFlags(o)) {
		command = append(command, unitWord(arg, true))
	}
	_, err = fmt.Fprintf(a.env.Stdout, unit, unitText(p.manifest.Project), strings.Join(command, " "), unitWord("PATH="+a.env.getenv("PATH"), false))
	return err
}

// unitWord is a word as systemd reads it back: quoted, with its specifiers and, on a
// command line, its variables escaped.
func unitWord(s string, command bool) string {
	s = unitText(s)
	if command {
		s = strings.ReplaceAll(s, "$", "$$")
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// unitText is text in which systemd replaces nothing, on one line.
func unitText(s string) string {
	return strings.NewReplacer("%", "%%", "\n", " ", "\r", " ").Replace(s)
}
