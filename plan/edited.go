package plan

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// putBack adds what was edited of a session's place to the fields that change. One that is
// over keeps what only a restart can put back.
func putBack(c *Change, reach Forces, over bool) Forces {
	if c.Live == nil {
		return reach
	}
	for _, e := range c.Live.EditsBut(c.After.Lifecycle) {
		f := Field{Path: e.Field, Before: e.Actual, After: e.Declared, Forces: ForcesNothing}
		if e.Restarts {
			f.Forces = ForcesRestart
		}
		if over && e.Restarts {
			continue
		}
		if c.Fields = append(c.Fields, f); reach == ForcesNothing {
			reach = f.Forces
		}
	}
	return reach
}

// because returns why a session is changed for its fields of one reach, or for all of them.
func because(c Change, forces Forces) (Reason, string) {
	var changed, edited []Field
	for _, f := range c.Fields {
		if c.Live != nil && slices.ContainsFunc(c.Live.Edited, func(e session.Edit) bool { return e.Field == f.Path }) {
			edited = append(edited, f)
		} else {
			changed = append(changed, f)
		}
	}
	was, is := paths(edited, forces), paths(changed, forces)
	switch {
	case is == "":
		return ReasonEdited, editedWords + was
	case was == "":
		return ReasonChanged, is + " changed"
	}
	return ReasonChanged, is + " changed; " + editedWords + was
}

const editedWords = "edited outside of agentform: "

// EditedWords names what was edited of a session's place, and is not ignored; "": nothing.
func EditedWords(l session.Live, ignored session.Lifecycle) string {
	var names []string
	for _, e := range l.EditsBut(ignored) {
		names = append(names, e.Field)
	}
	if names == nil {
		return ""
	}
	return editedWords + strings.Join(names, ", ")
}

// editWords returns how a field of a place differs from agentform's value.
func editWords(e session.Edit) string {
	return e.Field + " is " + editValue(e.Actual) + "; agentform made it " + editValue(e.Declared)
}

// editLimit bounds a value of an edited field for people, in bytes.
const editLimit = 200

func editValue(v any) string {
	if v == nil {
		return "not set"
	}
	b, err := json.Marshal(v)
	if err != nil || len(b) > editLimit {
		return "a long value"
	}
	return string(b)
}
