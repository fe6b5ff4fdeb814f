package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/agentform/agentform/config"
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
	vars, left := unitVars(a.globals.vars, p.manifest.Sensitive)
	for _, arg := range slices.Concat([]string{self}, a.sameFlags(), vars, []string{"serve"}, a.listenFlags(o)) {
		command = append(command, unitWord(arg, true))
	}
	for _, name := range left {
		fmt.Fprintf(a.env.Stderr, "Variable %[1]s is sensitive, so its value is not in the unit.\nSet AGENTFORM_VAR_%[1]s in a file that only you can read, and name that file in the unit: EnvironmentFile=FILE\n", name)
	}
	_, err = fmt.Fprintf(a.env.Stdout, unit, unitText(p.manifest.Project), strings.Join(command, " "), unitWord("PATH="+a.env.getenv("PATH"), false))
	return err
}

// unitVars returns the flags that set variables, without those of sensitive ones, which
// it names: whoever can see processes reads a command line.
func unitVars(vars []config.Var, sensitive []string) (flags, left []string) {
	for _, v := range vars {
		switch {
		case v.File != "":
			flags = append(flags, "--var-file", v.File)
		case slices.Contains(sensitive, v.Name):
			left = append(left, v.Name)
		default:
			flags = append(flags, "--var", v.Name+"="+v.Value)
		}
	}
	return flags, left
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
