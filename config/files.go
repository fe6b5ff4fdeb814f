package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/config/expr"
	"github.com/hashicorp/hcl/v2"
)

// IsManifest reports whether a file with that name is a manifest of its directory.
func IsManifest(name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#") {
		return false // hidden, or of an editor
	}
	return name == "agentform.hcl" || strings.HasSuffix(name, ".agentform.hcl") || strings.HasSuffix(name, ".agentform.json")
}

func findManifests(l *loader) []string {
	if l.Failed() {
		return nil
	}
	if len(l.opts.Files) == 0 {
		found := manifestsIn(l, l.Root)
		if len(found) == 0 && !l.Failed() {
			l.FailNowhere("No manifest", "There is no agentform.hcl, *.agentform.hcl or *.agentform.json in %s. `agentform init` creates a starter manifest; --file selects another path.", l.Root)
		}
		return found
	}
	var all []string
	for i, given := range l.opts.Files {
		path := l.InProject(given)
		info, err := os.Stat(path)
		if err != nil {
			l.FailNowhere("No such manifest", "%q cannot be read: %s.", given, expr.Reason(err))
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		found := []string{path}
		home := filepath.Dir(path)
		if info.IsDir() {
			home = path
			if found = manifestsIn(l, path); len(found) == 0 {
				l.FailNowhere("No manifest", "There is no agentform.hcl, *.agentform.hcl or *.agentform.json in the directory %q.", given)
			}
		}
		if i == 0 {
			l.Module = home
		}
		for _, f := range found {
			if !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	return all
}

func manifestsIn(l *loader, dir string) (found []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		l.FailNowhere("Unreadable directory", "The directory %s cannot be read: %s.", dir, expr.Reason(err))
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); IsManifest(e.Name()) && (err != nil || info.Mode().IsRegular()) {
			found = append(found, path)
		}
	}
	return found
}

func parseFiles(l *loader, files []string) (bodies []hcl.Body, whole bool) {
	whole = true
	for _, path := range files {
		name := l.Display(path)
		l.eval.Watch.Enter(&hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos})
		body, ok := l.ParseFile(path, name)
		if whole = whole && ok; ok {
			bodies = append(bodies, body)
		}
	}
	return bodies, whole
}
