package config

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

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

// findManifests lists the manifests to read, without repeats.
func findManifests(l *loader) []file {
	if l.failed() {
		return nil
	}
	if len(l.opts.Files) == 0 {
		found := manifestsIn(l, l.root)
		if len(found) == 0 && !l.failed() {
			l.failNowhere("No manifest", "There is no agentform.hcl, *.agentform.hcl or *.agentform.json in %s. `agentform init` writes a first one; --file names one that stands elsewhere.", l.root)
		}
		return found
	}
	var all []file
	seen := map[string]bool{}
	for i, given := range l.opts.Files {
		path := l.inProject(given)
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
			if found = manifestsIn(l, path); len(found) == 0 {
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

// manifestsIn lists the manifests in a folder by name.
func manifestsIn(l *loader, dir string) []file {
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

// parseFiles reads the files. It reports whether all of them could be read to the
// end.
func parseFiles(l *loader, files []file) (bodies []hcl.Body, whole bool) {
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
