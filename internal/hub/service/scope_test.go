package service

import (
	"log/slog"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentform/agentform/internal/test/executable"
)

// A scope is asked of systemd only where systemd runs the hub, and is used only
// where systemd makes one.
func TestScope(t *testing.T) {
	makes, fails, older, oldest := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	const runs = "while [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n"
	for dir, script := range map[string]string{
		makes: "#!/bin/sh\n" + runs, fails: "#!/bin/sh\nexit 1\n",
		older:  "#!/bin/sh\ncase \"$*\" in *OOMPolicy*) exit 1;; esac\n" + runs,
		oldest: "#!/bin/sh\ncase \"$*\" in *OOM*) exit 1;; esac\n" + runs,
	} {
		executable.Write(t, filepath.Join(dir, "systemd-run"), []byte(script), 0o700)
	}
	for name, c := range map[string]struct {
		environ []string
		want    []string
	}{
		"systemd makes scopes": {[]string{"INVOCATION_ID=1", "PATH=" + makes}, []string{filepath.Join(makes, "systemd-run"), "--user", "--scope", "--quiet", "--collect",
			"--property=OOMPolicy=continue", "--property=ManagedOOMPreference=avoid", "--"}},
		"it knows no policy of scopes": {[]string{"INVOCATION_ID=1", "PATH=" + older}, []string{filepath.Join(older, "systemd-run"), "--user", "--scope", "--quiet", "--collect",
			"--property=ManagedOOMPreference=avoid", "--"}},
		"it knows no properties": {[]string{"INVOCATION_ID=1", "PATH=" + oldest}, []string{filepath.Join(oldest, "systemd-run"), "--user", "--scope", "--quiet", "--collect", "--"}},
		"it makes none":          {[]string{"INVOCATION_ID=1", "PATH=" + fails}, nil},
		"there is no such tool":  {[]string{"INVOCATION_ID=1", "PATH=" + t.TempDir()}, nil},
		"a person runs the hub":  {[]string{"PATH=" + makes}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Scope(t.Context(), c.environ, t.TempDir(), slog.New(slog.DiscardHandler)); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
