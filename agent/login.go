package agent

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// LoginFacts are the facts of a machine that MissingLogin needs.
type LoginFacts struct {
	OS   string                   // as runtime.GOOS
	At   session.Lookup           // Dir, Home and Env, with the known values of secrets
	Read func(path string) []byte // returns the content of a file; nil: it cannot be read
}

// MissingLogin returns what a session's agent lacks to log in, and how to log in. Both are empty if
// a login was found, or if one may exist that it cannot check: it only covers the built-in agents'
// own commands and files.
func MissingLogin(s session.Spec, f LoginFacts) (lack, remedy string) {
	k := kindOf(s.Agent)
	name := s.Agent.Program()
	if k.login == nil || f.At.Home == "" || s.Profile != "" || len(s.Agent.Command) == 0 || filepath.Base(s.Agent.Command[0]) != name {
		return "", ""
	}
	return k.login(s, f)
}

// IgnoresHooks returns why an agent would not run agentform's hooks, and a remedy. Both are empty
// if it runs them, or if that is not known.
func IgnoresHooks(s session.Spec, f LoginFacts) (why, remedy string) {
	k := kindOf(s.Agent)
	if k.ignoresHooks == nil || f.At.Home == "" {
		return "", ""
	}
	return k.ignoresHooks(s, f)
}

// set reports whether a session's agent gets a variable whose name starts with one of the prefixes.
func (f LoginFacts) set(s session.Spec, prefixes ...string) bool {
	starts := func(name string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	}
	for name, value := range f.At.Env {
		if value != "" && starts(name) {
			return true
		}
	}
	return slices.ContainsFunc(s.Secrets, starts)
}

// exists reports whether one of the files can be read.
func (f LoginFacts) exists(paths ...string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return f.Read(path) != nil })
}

// contains reports whether a file contains one of the words.
func (f LoginFacts) contains(path string, words ...string) bool {
	text := f.Read(path)
	return slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(text, []byte(w)) })
}

// folders returns the workspace of a session, or its repository until the workspace exists, and all
// directories above.
func (f LoginFacts) folders(s session.Spec) []string {
	var all []string
	for _, dir := range []string{f.At.Dir, s.Workspace.Repo} {
		for dir != "" && !slices.Contains(all, dir) {
			all = append(all, dir)
			dir = filepath.Dir(dir)
		}
	}
	return all
}

// ownDir returns an agent's own directory: the value of a variable, or name in the home. It returns
// "" without a home.
func ownDir(of session.Lookup, variable, name string) string {
	if own := of.Env[variable]; own != "" || of.Home == "" {
		return own
	}
	return filepath.Join(of.Home, name)
}
