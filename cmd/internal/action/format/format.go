// Package format finds manifests to format, and rewrites them.
package format

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/pmezard/go-difflib/difflib"
)

// Rewrite replaces the text of a file. It keeps permissions and links.
func Rewrite(file string, text []byte) error {
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

// Diff writes the change of a file as a unified diff.
func Diff(w io.Writer, name string, before, after []byte) error {
	return difflib.WriteUnifiedDiff(w, difflib.UnifiedDiff{
		A: difflib.SplitLines(string(before)), FromFile: "a/" + name,
		B: difflib.SplitLines(string(after)), ToFile: "b/" + name, Context: 3,
	})
}

// Files returns the files to format: the file itself, or those of a directory.
func Files(path string, recursive bool) ([]string, error) {
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
