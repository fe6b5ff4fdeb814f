package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
)

// maxFile is the largest file that is read: a manifest of 10 000 sessions
// written out is under 4 MiB.
const maxFile = 4 << 20

// file is one file to read: its absolute path and what it is called in messages.
type file struct {
	path, name string
}

// IsManifest reports whether a file of that name in the project folder is a
// manifest.
func IsManifest(name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#") {
		return false // hidden, or an editor's
	}
	return name == "agentform.hcl" || strings.HasSuffix(name, ".agentform.hcl") || strings.HasSuffix(name, ".agentform.json")
}

// find lists the manifests to read, without repeats.
func (l *loader) find() []file {
	if l.diags.HasErrors() {
		return nil
	}
	if len(l.opts.Files) == 0 {
		found := l.folder(l.root)
		if len(found) == 0 && !l.diags.HasErrors() {
			l.failNowhere("No manifest", "There is no agentform.hcl, *.agentform.hcl or *.agentform.json in %s. `agentform init` writes a first one; --file names one that stands elsewhere.", l.root)
		}
		return found
	}
	var all []file
	seen := map[string]bool{}
	for i, given := range l.opts.Files {
		path := given
		if !filepath.IsAbs(path) {
			path = filepath.Join(l.root, path)
		}
		info, err := os.Stat(path)
		if err != nil {
			l.failNowhere("No such manifest", "%q cannot be read: %s.", given, reason(err))
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		found := []file{{path, l.display(path)}}
		home := filepath.Dir(path)
		if info.IsDir() {
			home = path
			if found = l.folder(path); len(found) == 0 {
				l.failNowhere("No manifest", "There is no agentform.hcl, *.agentform.hcl or *.agentform.json in the folder %q.", given)
			}
		}
		if i == 0 {
			l.module = home
		}
		for _, f := range found {
			if !seen[f.path] {
				seen[f.path] = true
				all = append(all, f)
			}
		}
	}
	return all
}

// folder lists the manifests in a folder by name.
func (l *loader) folder(dir string) []file {
	entries, err := os.ReadDir(dir)
	if err != nil {
		l.failNowhere("Unreadable folder", "The folder %s cannot be read: %s.", dir, reason(err))
		return nil
	}
	var found []file
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !IsManifest(e.Name()) {
			continue
		}
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			continue
		}
		found = append(found, file{path, l.display(path)})
	}
	return found
}

// display is a path as messages call it: relative when it lies in the project
// folder.
func (l *loader) display(path string) string {
	if rel, err := filepath.Rel(l.root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// parse reads the files. It reports whether all of them could be read to the
// end.
func (l *loader) parse(files []file) (bodies []hcl.Body, whole bool) {
	whole = true
	for _, f := range files {
		body, ok := l.parseFile(f)
		whole = whole && ok
		if body != nil && ok {
			bodies = append(bodies, body)
		}
	}
	return bodies, whole
}

// parseFile reads one HCL file, in the JSON syntax if its name ends so.
func (l *loader) parseFile(f file) (hcl.Body, bool) {
	src, err := readFile(f.path)
	if err != nil {
		l.failNowhere("Unreadable file", "%s cannot be read: %s.", f.name, reason(err))
		return nil, false
	}
	parsed, diags := parseSource(src, f.name)
	if parsed != nil {
		l.sources[f.name] = parsed
	}
	l.diags = append(l.diags, diags...)
	if parsed == nil || slices.ContainsFunc(diags, spoils) {
		return nil, false
	}
	if body, native := parsed.Body.(*hclsyntax.Body); native {
		diags := prepare(body)
		l.diags = append(l.diags, diags...)
		if diags.HasErrors() {
			return nil, false
		}
	}
	return parsed.Body, true
}

// spoils reports whether a problem of the syntax leaves the rest of the file in
// doubt. What is set twice is read as it was set first.
func spoils(d *hcl.Diagnostic) bool {
	return d.Severity == hcl.DiagError && d.Summary != "Attribute redefined"
}

// parseSource parses a text whose nesting is bounded.
func parseSource(src []byte, name string) (*hcl.File, hcl.Diagnostics) {
	json := strings.HasSuffix(name, ".json")
	if d := tooDeep(src, name, json); d != nil {
		return &hcl.File{Bytes: src, Body: hcl.EmptyBody()}, hcl.Diagnostics{d}
	}
	if json {
		return hcljson.Parse(src, name)
	}
	return hclsyntax.ParseConfig(src, name, hcl.InitialPos)
}

// readFile reads a file of at most maxFile bytes.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(src) > maxFile {
		err = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	return src, err
}

// reason is an error of the file system without the path, which the message
// names already.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// resolve makes a path of a manifest absolute and clean: ~ is the home folder, a
// relative one is relative to base. Symbolic links above its last element are
// followed, so that one folder has one path.
func (l *loader) resolve(path, base string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		if rest != "" && rest[0] != '/' {
			return "", fmt.Errorf("%q: only ~/ is understood, not another user's home", path)
		}
		home := l.env["HOME"]
		if !filepath.IsAbs(home) {
			return "", fmt.Errorf("%q starts with ~, but HOME is not set", path)
		}
		path = home + rest
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	path = filepath.Clean(path)
	rest := []string{filepath.Base(path)}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			slices.Reverse(rest)
			return filepath.Join(append([]string{real}, rest...)...), nil
		}
		if dir == filepath.Dir(dir) {
			return path, nil
		}
		rest = append(rest, filepath.Base(dir))
	}
}
