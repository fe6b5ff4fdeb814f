package cli

import (
	"context"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/api"
)

type openOptions struct {
	readOnly bool
	print    bool
}

func openCommand(a *app) *cobra.Command {
	var o openOptions
	c := &cobra.Command{
		Use:   "open",
		Short: "Open the hub's page in a browser",
		Long: `Opens the page of this project's hub in your browser and logs it in, for 30 days. The hub must
serve the page: agentform serve --listen 127.0.0.1:7171. Without a browser on this machine the
command prints a link, which works once, for 10 minutes.

With --read-only the page only shows the sessions: it cannot answer, type, start or stop.`,
		Example: `  agentform open
  agentform open --read-only --print`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runOpen(c.Context(), a, o) },
	}
	c.Flags().BoolVar(&o.readOnly, "read-only", false, "log the page in for looking only")
	c.Flags().BoolVar(&o.print, "print", false, "print the link and open nothing")
	return c
}

func runOpen(ctx context.Context, a *app, o openOptions) error {
	p := a.Open()
	socket, err := p.HubSocket()
	if err != nil {
		return err
	}
	client := api.Dial(socket)
	defer client.Close()
	link, err := client.Link(ctx, api.LinkOptions{ReadOnly: o.readOnly})
	if api.NotThere(err) {
		return errors.New("no hub is running for this project\nstart it: agentform serve --detach --listen 127.0.0.1:7171")
	}
	if err != nil {
		return err
	}
	browser, found := browserOf(a)
	if o.print || !found {
		printLink(a.Out, link)
		return nil
	}
	// A command line can be read by all users of a machine, so the browser gets a file.
	file := filepath.Join(p.Manifest.DataDir, "open.html")
	if err := writeRedirect(file, link.URL); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, browser, file)
	c.Env = a.Environ
	if out, err := c.CombinedOutput(); err != nil {
		fmt.Fprintf(a.Err, "%s: %v: %s\n", browser, err, out)
		printLink(a.Out, link)
	}
	return nil
}

// browserOf returns the program that opens a file in the user's browser.
func browserOf(a *app) (string, bool) {
	name := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		name = "open"
	case a.Environ.Get("DISPLAY") == "" && a.Environ.Get("WAYLAND_DISPLAY") == "":
		return "", false
	}
	return a.Environ.Program(name, a.Dir)
}

func writeRedirect(path, url string) error {
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
