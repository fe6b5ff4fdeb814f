package plan

import (
	"encoding/json"
	"testing"
)

// What was approved for one difference is not for another, whether it was computed or
// read from a file.
func TestMatchesTheDifference(t *testing.T) {
	change := func(after string) Change {
		return Change{Address: "session.api", Action: Update, Fields: []Field{{Path: "env.MODE", Before: "a", After: after}}}
	}
	var read Change
	text, err := json.Marshal(change("b"))
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	for what, approved := range map[string]Change{"computed": change("b"), "read": read} {
		if !change("b").Matches(approved) {
			t.Errorf("%s: the same does not match", what)
		}
		if change("c").Matches(approved) {
			t.Errorf("%s: another difference matches", what)
		}
	}
}
