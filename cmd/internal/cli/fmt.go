package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/pmezard/go-difflib/difflib"
	"github.com/spf13/cobra"

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
		files, err := formattable(a.Absolute(given), o.recursive)
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
		err = printDiff(a.Out, "<stdin>", src, formatted)
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
		if err := printDiff(a.Out, a.Relative(file), src, formatted); err != nil {
			return true, err
		}
	}
	if o.check {
		return true, nil
	}
	return true, rewrite(file, formatted)
}

// rewrite keeps permissions and links.
func rewrite(file string, text []byte) error {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	return renameio.WriteFile(real, text, info.Mode().Perm(), renameio.IgnoreUmask())
}

func printDiff(w io.Writer, name string, before, after []byte) error {
	return difflib.WriteUnifiedDiff(w, difflib.UnifiedDiff{
		A: difflib.SplitLines(string(before)), FromFile: "a/" + name,
		B: difflib.SplitLines(string(after)), ToFile: "b/" + name, Context: 3,
	})
}

func formattable(path string, recursive bool) ([]string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir() && strings.HasSuffix(path, ".json"):
		return nil, errors.New("the JSON syntax cannot be formatted")
	case !info.IsDir():
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != path && (!recursive || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case !d.IsDir() && isFormattable(d.Name()):
			files = append(files, p)
		}
		return nil
	})
	return files, err
}

func isFormattable(name string) bool {
	return name == "agentform.hcl" || name == "agentform.vars.hcl" ||
		!strings.HasPrefix(name, ".") && (strings.HasSuffix(name, ".agentform.hcl") || strings.HasSuffix(name, ".auto.vars.hcl"))
}
