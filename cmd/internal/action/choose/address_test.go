package choose

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

var known = []session.Address{
	"session.api", "session.docs", "session.pool[0]", "session.pool[1]",
	`session.worker["web"]`, `session.worker["a.b"]`, `session.odd["0"]`,
}

func TestResolve(t *testing.T) {
	for typed, want := range map[string]string{
		"api":                   "session.api",
		"session.api":           "session.api",
		"pool":                  "session.pool[0] session.pool[1]",
		"pool[1]":               "session.pool[1]",
		`worker["web"]`:         `session.worker["web"]`,
		"worker[web]":           `session.worker["web"]`, // the shell took the quotes
		"session.worker[a.b]":   `session.worker["a.b"]`,
		"odd[0]":                `session.odd["0"]`,
		`session.worker["a.b"]`: `session.worker["a.b"]`,
	} {
		found, err := Resolve(known, typed)
		var got []string
		for _, a := range found {
			got = append(got, string(a))
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("Resolve(%q) = %v, %v; want %s", typed, got, err, want)
		}
	}
}

func TestResolveFaults(t *testing.T) {
	for typed, want := range map[string]string{
		"apo":            "Did you mean one of these?\n  session.api",
		"web":            "Did you mean one of these?\n  session.worker[\"web\"]",
		"worker[wib]":    `session.worker["web"]`,
		"something-else": "Sessions:\n  session.api",
		"a b":            "invalid address",
	} {
		if _, err := Resolve(known, typed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Resolve(%q): %v, want an error with %q", typed, err, want)
		}
	}
	if _, err := One(known, "pool"); err == nil || !strings.Contains(err.Error(), "pool matches 2 sessions; choose one") {
		t.Errorf("One(pool): %v", err)
	}
	if _, err := All(known, []string{"nothing-like", "api", "a b"}); err == nil || strings.Count(err.Error(), "invalid address")+strings.Count(err.Error(), "no session") != 2 {
		t.Errorf("All tells %v, want both faults", err)
	}
	if _, err := Resolve(nil, "api"); err == nil || !strings.Contains(err.Error(), "agentform apply") {
		t.Errorf("with nothing known: %v", err)
	}
}
