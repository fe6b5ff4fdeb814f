package service

import (
	"fmt"
	"strings"
)

// With KillMode=process systemd spares the tmux servers that the hub had to start.
const unit = `[Unit]
Description=agentform hub of %[1]s
Documentation=https://github.com/agentform/agentform/blob/main/docs/hub.md

[Service]
Type=notify
ExecStart=%[2]s
KillMode=process
Restart=on-failure
RestartSec=5
# The hub's PATH. Agents keep the environment that they were started with.
Environment=%[3]s

[Install]
WantedBy=default.target
`

// Unit returns a systemd unit that runs the hub of a project.
func Unit(project string, argv []string, path string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = quote(strings.ReplaceAll(escape(arg), "$", "$$"))
	}
	return fmt.Sprintf(unit, escape(project), strings.Join(words, " "), quote(escape("PATH="+path)))
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func escape(s string) string {
	return strings.NewReplacer("%", "%%", "\n", " ", "\r", " ").Replace(s)
}
