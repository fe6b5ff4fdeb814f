package agent

import (
	"bytes"
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// LoginFacts is what MissingLogin needs to know of the machine that an agent runs on.
type LoginFacts struct {
	OS   string                   // as runtime.GOOS
	At   session.Lookup           // Dir, Home and Env, with the values of secrets as far as they are known
	Read func(path string) []byte // returns the text of a file; nil: it cannot be read
}

// MissingLogin returns what the agent of a session lacks to log in, and how to log in.
// Both are empty when a login was found, and whenever there may be one that it does not
// know: it knows the built-in agents by their own commands, and their files.
func MissingLogin(s session.Spec, f LoginFacts) (lack, remedy string) {
	k := kindOf(s.Agent)
	name := cmp.Or(s.Agent.Base, s.Agent.Name)
	if k.login == nil || f.At.Home == "" || s.Profile != "" || len(s.Agent.Command) == 0 || filepath.Base(s.Agent.Command[0]) != name {
		return "", ""
	}
	return k.login(s, f)
}

// IgnoresHooks returns why an agent would not run the hooks that agentform gives it, and what
// to do about that. Both are empty if it runs them, or is not known not to.
func IgnoresHooks(s session.Spec, f LoginFacts) (why, remedy string) {
	k := kindOf(s.Agent)
	if k.ignoresHooks == nil || f.At.Home == "" {
		return "", ""
	}
	return k.ignoresHooks(s, f)
}

// set reports whether the agent of a session gets a variable whose name starts with one
// of the prefixes.
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

// exists reports whether one of some files can be read.
func (f LoginFacts) exists(paths ...string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return f.Read(path) != nil })
}

// contains reports whether a file has one of some words in it.
func (f LoginFacts) contains(path string, words ...string) bool {
	text := f.Read(path)
	return slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(text, []byte(w)) })
}

// folders returns the workspace of a session, or its repository while the workspace does
// not exist, and every folder above them.
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

// ownDir returns an agent's own directory: what a variable says, or the one with a name in the
// home. Empty: there is no home.
func ownDir(of session.Lookup, variable, name string) string {
	if own := of.Env[variable]; own != "" || of.Home == "" {
		return own
	}
	return filepath.Join(of.Home, name)
}
