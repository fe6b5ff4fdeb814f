package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/action/page"
)

type openOptions struct {
	readOnly bool
	print    bool
	name     string
}

func openCommand(a *app) *cobra.Command {
	var o openOptions
	c := &cobra.Command{
		Use:   "open",
		Short: "Open the hub's page in a browser",
		Long: `Opens the page of this project's hub in your browser and logs it in, for 30 days. The hub must
serve the page: agentform serve --listen 127.0.0.1:7171. Without a browser on this machine the
command prints a link, which works once, for 10 minutes.

With --read-only the page only shows the sessions: it cannot answer, type, start or stop.

With --name the login has a name: in the history, at terminals and in the page's list of logins,
where each can be ended.`,
		Example: `  agentform open
  agentform open --name phone --print
  agentform open --read-only --print`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runOpen(c.Context(), a, o) },
	}
	c.Flags().BoolVar(&o.readOnly, "read-only", false, "log the page in for looking only")
	c.Flags().StringVar(&o.name, "name", "", "`name` of the login, of at most 40 letters, digits, spaces and -_. (default: the start of its id)")
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
	link, err := client.Link(ctx, api.LinkOptions{ReadOnly: o.readOnly, Name: o.name})
	if api.NotThere(err) {
		return errors.New("no hub is running for this project\nstart it: agentform serve --detach --listen 127.0.0.1:7171")
	}
	if err != nil {
		return err
	}
	browser, found := page.Browser(a.Environ, a.Dir)
	if o.print || !found {
		printLink(a.Out, link)
		return nil
	}
	// A command line can be read by all users of a machine, so the browser gets a file.
	file := filepath.Join(p.Manifest.DataDir, "open.html")
	if err := page.Redirect(file, link.URL); err != nil {
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
