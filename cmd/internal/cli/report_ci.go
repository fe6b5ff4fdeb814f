package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/agentform/agentform/cmd/internal/view/ci"
)

// printReport writes a report as Markdown or for GitHub Actions.
func printReport(a *app, r ci.Report, format string) error {
	if format == "markdown" {
		return ci.Markdown(a.Out, r)
	}
	return errors.Join(
		ci.GitHub(a.Out, r),
		addTo(a, "GITHUB_STEP_SUMMARY", func(w io.Writer) error { return ci.Markdown(w, r) }),
		addTo(a, "GITHUB_OUTPUT", func(w io.Writer) error { return ci.GitHubOutputs(w, r) }),
	)
}

func addTo(a *app, variable string, write func(io.Writer) error) error {
	name := a.Environ.Get(variable)
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(a.Absolute(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	if err = errors.Join(write(f), f.Close()); err != nil {
		err = fmt.Errorf("%s: %w", variable, err)
	}
	return err
}
