package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentform/agentform/session"
)

// DotfileFix is a setting that an agent reads only from the user's own file. Only `doctor --fix`
// writes to it.
type DotfileFix struct {
	Path    string // absolute
	Problem string // the agent's behaviour at start without the setting

	add []setting
}

// setting is a member of a JSON object, by its path.
type setting struct {
	path  []string
	value any
	// list marks a value that is added to a list. Other values are set only if missing.
	list bool
}

// DotfileFixes returns the settings that a session's agent reads from dotfiles, set or not. It uses
// the home and the environment of the lookup.
func DotfileFixes(s session.Spec, of session.Lookup) []DotfileFix {
	k := kindOf(s.Agent)
	if k.dotfiles == nil || of.Home == "" {
		return nil
	}
	return k.dotfiles(s, of)
}

// Refusal returns why an agent exits at once when started like this, or "".
func Refusal(in session.StartInput) string {
	k := kindOf(in.Spec.Agent)
	if k.refuses == nil {
		return ""
	}
	return k.refuses(in)
}

// Apply returns the file's text with the missing settings, and whether any was missing. now is the
// current text, empty without a file; the rest of it is kept. Text that is not a JSON object is an
// error.
func (f DotfileFix) Apply(now []byte) (text []byte, changed bool, err error) {
	object := map[string]json.RawMessage{}
	head, now := comments(now)
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
		return slices.Concat(head, now), false, nil
	}
	text, err = json.MarshalIndent(object, "", "  ")
	return slices.Concat(head, text, []byte("\n")), true, err
}

// comments splits off the comments at the start of Copilot CLI's file.
func comments(text []byte) (head, rest []byte) {
	for bytes.HasPrefix(text[len(head):], []byte("//")) {
		end := bytes.IndexByte(text[len(head):], '\n')
		if end < 0 {
			return text, nil
		}
		head = text[:len(head)+end+1]
	}
	return head, text[len(head):]
}

// into adds a setting to an object and reports whether it was missing.
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

// given reports whether the manifest sets one of the agent's variables.
func given(s session.Spec, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, spec := s.Env[name]
		_, agent := s.Agent.Env[name]
		return spec || agent || slices.Contains(s.Secrets, name)
	})
}

// gets reports whether the agent gets one of the variables, from the manifest or inherited.
func gets(s session.Spec, of session.Lookup, names ...string) bool {
	return given(s, names...) || slices.ContainsFunc(names, func(name string) bool { return of.Env[name] != "" })
}
