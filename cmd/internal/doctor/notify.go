package doctor

import (
	"cmp"
	"context"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/notify"
)

// notifications checks the notify blocks, and tries them if in.Notify is set.
func (f *findings) notifications(ctx context.Context, in Input) {
	for _, n := range in.Manifest.Notifies {
		subject := "notify " + n.Name
		if problem, remedy := missingForNotify(in, n); problem != "" {
			f.warn(subject, problem, remedy)
			continue
		}
		if slices.Contains([]string{notify.Slack, notify.Discord, notify.Telegram}, n.Preset) && n.Webhook != "" {
			f.warn(subject, "its address, to which anyone who knows it can post, is in the manifest", `use a secret: webhook_secret = "NAME"`)
		}
		if in.Notify == nil {
			f.fine(subject, cmp.Or(n.Preset, targetKind(n))+"; test it with: agentform doctor --notify")
		} else if err := in.Notify(ctx, n); err != nil {
			f.fault(subject, "the test notification was not delivered: "+err.Error(), "fix this and try again: agentform doctor --notify")
		} else {
			f.fine(subject, "the test notification was delivered")
		}
	}
}

func targetKind(n config.Notify) string {
	if len(n.Command) > 0 {
		return "command"
	}
	return "webhook"
}

// missingForNotify returns what this machine lacks for a notify block.
func missingForNotify(in Input, n config.Notify) (problem, remedy string) {
	program, remedy := "", "install it, or use another command"
	switch {
	case len(n.Command) > 0:
		program = n.Command[0]
	case n.Preset == notify.Desktop && runtime.GOOS == "darwin":
		program = "osascript"
	case n.Preset == notify.Desktop:
		program, remedy = "notify-send", "install it (apt-get install libnotify-bin, dnf install libnotify)"
	}
	if program != "" {
		if _, found := in.Environ.Program(program, in.Manifest.Root); !found {
			return program + " is not on PATH", remedy
		}
	}
	if n.Preset == notify.Desktop && runtime.GOOS == "linux" && in.Environ.Get("DBUS_SESSION_BUS_ADDRESS") == "" &&
		!exists(filepath.Join(cmp.Or(in.Environ.Get("XDG_RUNTIME_DIR"), "/nonexistent"), "bus")) {
		return "notify-send may find no desktop: DBUS_SESSION_BUS_ADDRESS is not set", "agentform doctor --notify tries it; else use a chat, ntfy or a command on this machine"
	}
	if n.Secret != "" {
		if err := in.Secrets.Missing(n.Secret); err != nil {
			return "secret " + n.Secret + " has no value", err.Error()
		}
	}
	return "", ""
}
