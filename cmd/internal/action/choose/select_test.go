package choose

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

func TestRecorded(t *testing.T) {
	spec := func(a session.Address, role string, labels map[string]string) session.Spec {
		return session.Spec{Address: a, Role: role, Labels: labels}
	}
	specs := []session.Spec{
		spec("session.api", "builder", map[string]string{"team": "shop"}), spec("session.pool[0]", "pool", nil),
		spec("session.pool[1]", "pool", nil), spec("session.new", "builder", nil), spec("session.more[0]", "pool", nil),
	}
	records := []session.Record{{Address: "session.api", Spec: specs[0]}, {Address: "session.pool[0]", Spec: specs[1]},
		{Address: "session.old", Spec: spec("session.old", "writer", map[string]string{"team": "docs"})}}
	for name, c := range map[string]struct {
		args Sessions
		want string // addresses, or a part of the error
	}{
		"one":                          {Sessions{Typed: []string{"api"}}, "[session.api]"},
		"twice":                        {Sessions{Typed: []string{"api", "session.api"}}, "[session.api]"},
		"a block, as far as applied":   {Sessions{Typed: []string{"pool"}}, "[session.pool[0]]"},
		"an instance, not applied":     {Sessions{Typed: []string{"pool[1]"}}, "has not been applied"},
		"a block, not applied":         {Sessions{Typed: []string{"more", "api"}}, "session.more[0] is in the manifest and has not been applied"},
		"all":                          {Sessions{All: true}, "[session.api session.old session.pool[0]]"},
		"a role, as far as applied":    {Sessions{Filter: Filter{Role: "builder"}}, "[session.api]"},
		"all of a role":                {Sessions{All: true, Filter: Filter{Role: "writer"}}, "[session.old]"},
		"a label":                      {Sessions{Filter: Filter{Labels: map[string]string{"team": "docs"}}}, "[session.old]"},
		"a role that nobody has":       {Sessions{Filter: Filter{Role: "bilder"}}, "--role bilder\nRoles: builder, pool, writer"},
		"a label that nobody has":      {Sessions{Filter: Filter{Labels: map[string]string{"team": "x"}}}, "Labels: team=docs, team=shop"},
		"a role and label of no other": {Sessions{Filter: Filter{Role: "pool", Labels: map[string]string{"team": "shop"}}}, "Roles: builder, pool, writer\nLabels: team=docs"},
	} {
		found, err := c.args.Recorded(specs, records)
		got := fmt.Sprint(found)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
