package config

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/config/expr"
	"github.com/hashicorp/hcl/v2"
)

// IsManifest reports whether a file with that name in the project directory is a manifest.
func IsManifest(name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#") {
		return false // hidden, or of an editor
	}
	return name == "agentform.hcl" || strings.HasSuffix(name, ".agentform.hcl") || strings.HasSuffix(name, ".agentform.json")
}

func findManifests(l *loader) []expr.File {
	if l.Failed() {
		return nil
	}
	if len(l.opts.Files) == 0 {
		found := manifestsIn(l, l.Root)
		if len(found) == 0 && !l.Failed() {
			l.FailNowhere("No manifest", "There is no agentform.hcl, *.agentform.hcl or *.agentform.json in %s. `agentform init` writes a first one; --file selects another path.", l.Root)
		}
		return found
	}
	var all []expr.File
	seen := map[string]bool{}
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
		found := []expr.File{{Path: path, Name: l.Display(path)}}
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
			if !seen[f.Path] {
				seen[f.Path] = true
				all = append(all, f)
			}
		}
	}
	return all
}

func manifestsIn(l *loader, dir string) []expr.File {
	entries, err := os.ReadDir(dir)
	if err != nil {
		l.FailNowhere("Unreadable directory", "The directory %s cannot be read: %s.", dir, expr.Reason(err))
		return nil
	}
	var found []expr.File
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !IsManifest(e.Name()) {
			continue
		}
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			continue
		}
		found = append(found, expr.File{Path: path, Name: l.Display(path)})
	}
	return found
}

func parseFiles(l *loader, files []expr.File) (bodies []hcl.Body, whole bool) {
	whole = true
	for _, f := range files {
		l.eval.Watch.Enter(&hcl.Range{Filename: f.Name, Start: hcl.InitialPos, End: hcl.InitialPos})
		body, ok := l.ParseFile(f)
		whole = whole && ok
		if body != nil && ok {
			bodies = append(bodies, body)
		}
	}
	return bodies, whole
}
