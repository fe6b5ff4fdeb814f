package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/format"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/config"
)

type fmtOptions struct {
	paths                  []string
	check, diff, recursive bool
}

func fmtCommand(a *app) *cobra.Command {
	var o fmtOptions
	c := &cobra.Command{
		Use:   "fmt [PATH | -]...",
		Short: "Format manifest files",
		Long: `Formats manifest and variable files in place and lists the files it changed. PATH is a file
or a directory, by default the current directory; "-" formats standard input to standard
output. JSON manifests are left as they are.`,
		Example: `  agentform fmt
  agentform fmt --check --diff --recursive
  agentform fmt - < agentform.hcl`,
		RunE: func(_ *cobra.Command, args []string) error {
			o.paths = args
			return runFmt(a, o)
		},
	}
	c.Flags().BoolVar(&o.check, "check", false, "check only; exit 3 if files would change")
	c.Flags().BoolVar(&o.diff, "diff", false, "show what changes")
	c.Flags().BoolVarP(&o.recursive, "recursive", "r", false, "also format subdirectories")
	return c
}

func runFmt(a *app, o fmtOptions) error {
	switch files := a.Files; {
	case slices.Equal(o.paths, []string{"-"}) && len(files) == 0:
		return fmtStream(a, o)
	case len(files) > 0 && len(o.paths) > 0:
		return exit.Usage(a.Command, errors.New("give PATH or --file, not both"))
	case len(files) > 0:
		o.paths = files
	case len(o.paths) == 0:
		o.paths = []string{"."}
	}
	var errs []error
	work := false
	for _, given := range o.paths {
		files, err := format.Files(a.Absolute(given), o.recursive)
		if err != nil {
			errs = append(errs, fmt.Errorf("format %s: %w", given, err))
			continue
		}
		for _, file := range files {
			changed, err := fmtFile(a, file, o)
			if err != nil {
				errs = append(errs, fmt.Errorf("format %s: %w", a.Relative(file), err))
			}
			work = work || changed
		}
	}
	if o.check && work && len(errs) == 0 {
		errs = append(errs, exit.Unformatted)
	}
	return errors.Join(errs...)
}

func fmtStream(a *app, o fmtOptions) error {
	src, err := io.ReadAll(a.In)
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	formatted, err := config.Format(src)
	if err != nil {
		return fmt.Errorf("format standard input: %w", err)
	}
	changed := string(src) != string(formatted)
	if o.diff && changed {
		err = format.Diff(a.Out, "<stdin>", src, formatted)
	}
	switch {
	case err != nil:
		return err
	case o.check && changed:
		return exit.Unformatted
	case !o.check && !o.diff:
		_, err = a.Out.Write(formatted)
	}
	return err
}

func fmtFile(a *app, file string, o fmtOptions) (changed bool, err error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	formatted, err := config.Format(src)
	if err != nil || string(src) == string(formatted) {
		return false, err
	}
	fmt.Fprintln(a.Out, a.Relative(file))
	if o.diff {
		if err := format.Diff(a.Out, a.Relative(file), src, formatted); err != nil {
			return true, err
		}
	}
	if o.check {
		return true, nil
	}
	return true, format.Rewrite(file, formatted)
}
