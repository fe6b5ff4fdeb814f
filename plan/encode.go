package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// fileVersion is the version of the plan file. Plans are short-lived, so another
// version is refused and not converted.
const fileVersion = 1

// file is a saved plan. It has the texts of prompts and no value of a secret.
type file struct {
	Agentform int               `json:"agentform_plan"`
	Plan      Plan              `json:"plan"`
	Prompts   map[string]string `json:"prompts"`
}

// ErrNotPlan means that a file is not a plan file.
var ErrNotPlan = errors.New("not a plan file")

// Encode returns a plan as a file that Decode reads.
func Encode(p Plan) ([]byte, error) {
	f := file{Agentform: fileVersion, Plan: p, Prompts: map[string]string{}}
	for _, c := range p.Changes {
		for _, s := range c.prompts() {
			if s.Text != "" {
				f.Prompts[s.Digest] = s.Text
			}
		}
	}
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode plan: %w", err)
	}
	return append(b, '\n'), nil
}

// Decode reads a plan file. Errors distinguish a file that is not a plan file, another version, and
// damage.
func Decode(b []byte) (Plan, error) {
	var f file
	if err := json.Unmarshal(b, &f); err != nil {
		if _, is := errors.AsType[*json.SyntaxError](err); is {
			return Plan{}, ErrNotPlan
		}
		return Plan{}, fmt.Errorf("damaged plan file: %w", err)
	}
	switch {
	case f.Agentform == 0:
		return Plan{}, ErrNotPlan
	case f.Agentform != fileVersion:
		return Plan{}, fmt.Errorf("plan file of version %d: this agentform reads version %d; plan again", f.Agentform, fileVersion)
	}
	for i := range f.Plan.Changes {
		c := f.Plan.Changes[i]
		if err := c.check(); err != nil {
			return Plan{}, fmt.Errorf("damaged plan file: %w", err)
		}
		for _, s := range c.prompts() {
			s.Text = f.Prompts[s.Digest]
		}
	}
	return f.Plan, nil
}

// prompts returns the wanted and the recorded prompt of the session, if there are such.
func (c Change) prompts() (all []*session.Prompt) {
	if c.After != nil {
		all = append(all, &c.After.Prompt)
	}
	if c.Before != nil {
		all = append(all, &c.Before.Spec.Prompt)
	}
	return all
}

// check reports what cannot be part of a plan.
func (c Change) check() error {
	if a, err := session.ParseAddress(string(c.Address)); err != nil {
		return err
	} else if a != c.Address {
		return fmt.Errorf("address %q: it is written %q", string(c.Address), string(a))
	}
	if c.After != nil && c.After.Address != c.Address {
		return fmt.Errorf("%s: it has what %q must be", c.Address, string(c.After.Address))
	}
	if _, known := symbols[c.Action]; !known {
		return fmt.Errorf("%s: there is no action %q", c.Address, string(c.Action))
	}
	return nil
}

// Wanted returns the specs that the plan was made for.
func (p Plan) Wanted() []session.Spec {
	var specs []session.Spec
	for _, c := range p.Changes {
		if c.After != nil {
			specs = append(specs, *c.After)
		}
	}
	return specs
}

// Matches reports whether a change computed now is the approved one: the same
// action on the same run for the same difference.
func (c Change) Matches(approved Change) bool {
	if c.Address != approved.Address || c.Action != approved.Action || c.Then != approved.Then ||
		c.Fresh != approved.Fresh || c.Sends != approved.Sends || (c.Lifts == nil) != (approved.Lifts == nil) || (c.IgnoresBudget == nil) != (approved.IgnoresBudget == nil) || (c.Finishes == nil) != (approved.Finishes == nil) || c.Moved != approved.Moved || c.Import != approved.Import || runOf(c) != runOf(approved) {
		return false
	}
	if reflect.DeepEqual(c.Fields, approved.Fields) {
		return true // computed both times, as without a saved plan
	}
	now := canonical(c.Fields)
	return now != nil && reflect.DeepEqual(now, canonical(approved.Fields))
}

// canonical returns the same for fields as computed and as read from a file; nil: they
// cannot be compared.
func canonical(fields []Field) (v any) {
	if b, err := json.Marshal(fields); err != nil || json.Unmarshal(b, &v) != nil {
		return nil
	}
	return v
}

func runOf(c Change) string {
	switch {
	case c.Before != nil:
		return c.Before.Run.ID
	case c.Live != nil:
		return c.Live.Mark.Run
	}
	return ""
}

// Summary counts the plan's changes by action, and its errors.
func (p Plan) Summary() Summary {
	var s Summary
	count := map[Action]*int{
		Create: &s.Create, Update: &s.Update, Restart: &s.Restart, Replace: &s.Replace, Pause: &s.Pause,
		Resume: &s.Resume, Stop: &s.Stop, Delete: &s.Delete, Adopt: &s.Adopt, Forget: &s.Forget, Hold: &s.Hold, None: &s.None,
	}
	for _, c := range p.Changes {
		*count[c.Action]++
	}
	for _, d := range p.Problems {
		if d.Severity == session.Error {
			s.Errors++
		}
	}
	return s
}

// Acts reports whether applying the plan changes anything.
func (p Plan) Acts() bool {
	return slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Action.Acts() })
}

// Next returns when the earliest hold ends, or zero.
func (p Plan) Next() time.Time {
	var next time.Time
	for _, c := range p.Changes {
		if c.Action == Hold && !c.Until.IsZero() && (next.IsZero() || c.Until.Before(next)) {
			next = c.Until
		}
	}
	return next
}
