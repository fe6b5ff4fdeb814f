package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
)

// tellDrift writes a report to standard output, and what GitHub wants of a step
// besides to the files that it names.
func tellDrift(a *app, r view.DriftReport, format string) error {
	switch format {
	case "json":
		return view.DriftJSON(a.env.Stdout, r)
	case "markdown":
		return view.DriftMarkdown(a.env.Stdout, r)
	case "junit":
		return view.DriftJUnit(a.env.Stdout, r)
	case "sarif":
		return view.DriftSARIF(a.env.Stdout, r)
	case "github":
		return errors.Join(
			view.DriftGitHub(a.env.Stdout, r),
			addTo(a, "GITHUB_STEP_SUMMARY", func(w io.Writer) error { return view.DriftMarkdown(w, r) }),
			addTo(a, "GITHUB_OUTPUT", func(w io.Writer) error { return view.DriftGitHubOutputs(w, r) }),
		)
	}
	if len(r.Problems) > 0 {
		if err := a.warn(r.Problems); err != nil {
			return err
		}
	}
	return view.Drift(a.env.Stdout, a.out(), r)
}

// addTo writes to the end of the file that an environment variable names, if it
// is set.
func addTo(a *app, variable string, write func(io.Writer) error) error {
	name := a.env.Environ.Get(variable)
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(a.absolute(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	return nil
}

// locate gives each difference its place in the manifest. What a CI system shows
// beside a repository's files is named from the top of that repository, else
// from the project folder.
func locate(ctx context.Context, p *project.Project, r *view.DriftReport, format string) {
	name := func(file string) string { return file }
	if format != "text" && format != "json" {
		top, err := git.Toplevel(ctx, p.Manifest.Root)
		if err != nil {
			top = p.Manifest.Root // no repository, or no git: the project folder is what there is
		}
		name = func(file string) string { return from(top, p.Manifest.Root, file) }
	}
	if len(p.Manifest.Files) > 0 {
		r.Manifest = name(p.Manifest.Files[0])
	}
	for i := range r.Items {
		at, known := p.Manifest.Ranges[r.Items[i].Address]
		if !known {
			continue
		}
		r.Items[i].Range = &session.Range{Filename: name(at.Filename), Start: at.Start, End: at.End}
	}
}

// from is a file of the project folder as seen from the top of the repository.
// One that lies elsewhere keeps its name.
func from(top, root, file string) string {
	path := file
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, path)
	}
	if rel, err := filepath.Rel(top, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return file
}
