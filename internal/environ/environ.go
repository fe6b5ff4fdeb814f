// Package environ looks up variables and programs in the environment of a process.
package environ

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Vars is an environment, each variable as NAME=VALUE. The last value of a name counts.
type Vars []string

// Get returns the value of a variable, or "" if it is not set.
func (v Vars) Get(name string) string {
	value, _ := v.Lookup(name)
	return value
}

// Lookup returns the value of a variable and reports whether it is set.
func (v Vars) Lookup(name string) (value string, set bool) {
	for _, kv := range v {
		if k, x, ok := strings.Cut(kv, "="); ok && k == name {
			value, set = x, true
		}
	}
	return value, set
}

// Map returns the variables by their names.
func (v Vars) Map() map[string]string {
	all := make(map[string]string, len(v))
	for _, kv := range v {
		name, value, _ := strings.Cut(kv, "=")
		all[name] = value
	}
	return all
}

// LookUp is Program with an error that explains why the program was not found.
func (v Vars) LookUp(name, dir string) (string, error) {
	path, found := v.Program(name, dir)
	switch {
	case found:
		return path, nil
	case strings.Contains(name, "/"):
		return "", fmt.Errorf("command %s is not an executable file", path)
	}
	return "", fmt.Errorf("command %q is not on its PATH (%s)", name, v.Get("PATH"))
}

// Program returns the absolute path of an executable file: the one that name leads to, or
// the first on PATH. As in a shell, relative entries of PATH start at dir.
func (v Vars) Program(name, dir string) (path string, found bool) {
	if strings.ContainsRune(name, '/') {
		path = absolute(name, dir)
		return path, Executable(path)
	}
	for _, entry := range filepath.SplitList(v.Get("PATH")) {
		if path := absolute(filepath.Join(entry, name), dir); Executable(path) {
			return path, true
		}
	}
	return "", false
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Executable reports whether path is a regular file that someone may execute.
func Executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
