// Package page opens the hub's page in a browser.
package page

import (
	"errors"
	"fmt"
	"html"
	"os"
	"runtime"

	"github.com/agentform/agentform/internal/environ"
)

// Browser returns the program that opens a file in the user's browser.
func Browser(env environ.Vars, dir string) (string, bool) {
	name := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		name = "open"
	case env.Get("DISPLAY") == "" && env.Get("WAYLAND_DISPLAY") == "":
		return "", false
	}
	return env.Program(name, dir)
}

// Redirect writes a file that sends a browser to a URL. Only its owner can read it.
func Redirect(path, url string) error {
	write := func(f *os.File, url string) error {
		_, err := fmt.Fprintf(f, "<!doctype html><meta charset=\"utf-8\"><title>agentform</title><meta http-equiv=\"refresh\" content=\"0; url=%[1]s\"><a href=\"%[1]s\">open the page</a>\n", html.EscapeString(url))
		return errors.Join(err, f.Close())
	}
	_ = os.Remove(path) // one that was left keeps its mode
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = write(f, url)
	}
	if err != nil {
		return fmt.Errorf("open the page: %w", err)
	}
	return nil
}
