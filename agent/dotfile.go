package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentform/agentform/session"
)

// DotfileFix is what an agent looks for in a file of the person's own, because
// neither a flag nor its environment can tell it. agentform writes to such a file
// only when told to, by `doctor --fix`.
type DotfileFix struct {
	Path    string // absolute
	Problem string // what the agent does at start without it

	add []setting
}

// setting is a member of a JSON object, and where it stands in it.
type setting struct {
	path  []string
	value any
	// list says that the value is one of a list, and otherwise that it is put where
	// nothing is.
	list bool
}

// DotfileFixes are what the agent of a session looks for in dotfiles, whether it
// is there or not: Apply tells. Of the whereabouts it takes the home and the
// environment, with the values of secrets as far as they are known.
func DotfileFixes(s session.Spec, of session.Lookup) []DotfileFix {
	k := kindOf(s.Agent)
	if k.dotfiles == nil || of.Home == "" {
		return nil
	}
	return k.dotfiles(s, of)
}

// Refusal says why an agent will leave at once when it is started so, whatever it
// is told; empty: it will not.
func Refusal(in session.StartInput) string {
	k := kindOf(in.Spec.Agent)
	if k.refuses == nil {
		return ""
	}
	return k.refuses(in)
}

// Apply is the file's text with what is missing in it, and whether anything is;
// now is what stands there, empty when there is no such file. Everything else in
// it stays. The error says that it is no JSON object, so that nothing can be added.
func (f DotfileFix) Apply(now []byte) (text []byte, changed bool, err error) {
	object := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(now)) > 0 {
		if err := json.Unmarshal(now, &object); err != nil {
			return nil, false, fmt.Errorf("add to %s: %w", f.Path, err)
		}
	}
	for _, s := range f.add {
		added, err := s.into(object, s.path)
		if err != nil {
			return nil, false, fmt.Errorf("add to %s: %w", f.Path, err)
		}
		changed = changed || added
	}
	if !changed {
		return now, false, nil
	}
	text, err = json.MarshalIndent(object, "", "  ")
	return append(text, '\n'), true, err
}

// into puts a setting into an object, and says whether it was not there.
func (s setting) into(object map[string]json.RawMessage, path []string) (added bool, err error) {
	name := path[0]
	if len(path) > 1 {
		inner := map[string]json.RawMessage{}
		if err := member(object, name, &inner); err != nil {
			return false, err
		}
		if added, err = s.into(inner, path[1:]); err == nil && added {
			object[name], err = json.Marshal(inner)
		}
		return added, err
	}
	if !s.list {
		if _, there := object[name]; there {
			return false, nil
		}
		object[name], err = json.Marshal(s.value)
		return true, err
	}
	var all []any
	if err := member(object, name, &all); err != nil || slices.Contains(all, s.value) {
		return false, err
	}
	object[name], err = json.Marshal(append(all, s.value))
	return true, err
}

func member(object map[string]json.RawMessage, name string, to any) error {
	if object[name] == nil {
		return nil
	}
	if err := json.Unmarshal(object[name], to); err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	return nil
}

// given reports whether a session's agent gets one of some variables.
func given(s session.Spec, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, spec := s.Env[name]
		_, agent := s.Agent.Env[name]
		return spec || agent || slices.Contains(s.Secrets, name)
	})
}

// gets reports whether a session's agent gets one of some variables, from the manifest or
// from the environment that it inherits.
func gets(s session.Spec, of session.Lookup, names ...string) bool {
	return given(s, names...) || slices.ContainsFunc(names, func(name string) bool { return of.Env[name] != "" })
}
