package cli

import (
	"fmt"
	"strings"
	"sync/atomic"
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
		args sessionArgs
		want string // addresses, or a part of the error
	}{
		"one":                          {sessionArgs{typed: []string{"api"}}, "[session.api]"},
		"twice":                        {sessionArgs{typed: []string{"api", "session.api"}}, "[session.api]"},
		"a block, as far as applied":   {sessionArgs{typed: []string{"pool"}}, "[session.pool[0]]"},
		"an instance, not applied":     {sessionArgs{typed: []string{"pool[1]"}}, "has not been applied"},
		"a block, not applied":         {sessionArgs{typed: []string{"more", "api"}}, "session.more[0] is in the manifest and has not been applied"},
		"all":                          {sessionArgs{all: true}, "[session.api session.old session.pool[0]]"},
		"a role, as far as applied":    {sessionArgs{selector: selector{role: "builder"}}, "[session.api]"},
		"all of a role":                {sessionArgs{all: true, selector: selector{role: "writer"}}, "[session.old]"},
		"a label":                      {sessionArgs{selector: selector{labels: map[string]string{"team": "docs"}}}, "[session.old]"},
		"a role that nobody has":       {sessionArgs{selector: selector{role: "bilder"}}, "--role bilder\nRoles: builder, pool, writer"},
		"a label that nobody has":      {sessionArgs{selector: selector{labels: map[string]string{"team": "x"}}}, "Labels: team=docs, team=shop"},
		"a role and label of no other": {sessionArgs{selector: selector{role: "pool", labels: map[string]string{"team": "shop"}}}, "Roles: builder, pool, writer\nLabels: team=docs"},
	} {
		found, err := c.args.recorded(specs, records)
		got := fmt.Sprint(found)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestInParallel(t *testing.T) {
	drain := make(chan struct{})
	var now, most atomic.Int32
	if n := inParallel(20, 3, drain, func(int) {
		most.Store(max(most.Load(), now.Add(1)))
		now.Add(-1)
	}); n != 20 || most.Load() > 3 {
		t.Errorf("%d begun, %d at once", n, most.Load())
	}
	did := 0
	if n := inParallel(20, 1, drain, func(i int) {
		if did++; i == 4 {
			close(drain)
		}
	}); n != 5 || did != 5 {
		t.Errorf("%d begun, %d done after a drain at the fifth", n, did)
	}
}
