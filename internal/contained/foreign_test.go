package contained

import (
	"testing"

	"github.com/agentform/agentform/session"
)

// TestForeign checks whose sessions a project takes for its own: without a lineage, those of its name, so
// that a new project leaves alone what others have in the namespace.
func TestForeign(t *testing.T) {
	mark := session.Mark{ID: "it-1f2e3d4c", Project: "lineage", Address: "session.it"}
	own := mark.Address.OutsideName("shop")
	for what, c := range map[string]struct {
		project Project
		mark    session.Mark
		name    string
		ours    bool
		want    bool
	}{
		"its lineage":                      {Project{Lineage: "lineage", Name: "shop"}, mark, own, false, false},
		"its lineage, and the name before": {Project{Lineage: "lineage", Name: "store"}, mark, own, false, false},
		"another lineage":                  {Project{Lineage: "other", Name: "shop"}, mark, own, true, true},
		"its state is lost":                {Project{Name: "shop"}, mark, own, true, false},
		"another clone":                    {Project{Name: "shop"}, mark, own, false, true},
		"a new project":                    {Project{Name: "store"}, mark, own, true, true},
		"no mark":                          {Project{Name: "shop"}, session.Mark{}, own, true, true},
		"no project":                       {Project{}, mark, own, false, false},
	} {
		if got := c.project.Foreign(c.mark, c.name, c.ours); got != c.want {
			t.Errorf("%s: foreign is %v", what, got)
		}
	}
}
