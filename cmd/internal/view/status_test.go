package view

import (
	"testing"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/session"
)

func TestLacks(t *testing.T) {
	landed := &session.Landed{}
	for name, c := range map[string]struct {
		api.Session
		want string
	}{
		"behind":                   {api.Session{Changes: &api.Changes{Behind: 4, Ahead: 1}}, "4"},
		"not counted":              {api.Session{}, "-"},
		"landed":                   {api.Session{Changes: &api.Changes{Behind: 4}, Landed: landed}, "-"},
		"landed, and works on":     {api.Session{Changes: &api.Changes{Behind: 4, Ahead: 1}, Landed: landed}, "4"},
		"up to date with its base": {api.Session{Changes: &api.Changes{}}, "0"},
	} {
		if got := number(lacks(c.Session)); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
