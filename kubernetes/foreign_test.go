package kubernetes

import (
	"testing"

	"github.com/agentform/agentform/session"
)

// TestForeign checks whose sessions a project takes for its own: without a lineage, those of its name, so
// that a new project leaves alone what others have in the namespace.
func TestForeign(t *testing.T) {
	mark := session.Mark{ID: "it-1f2e3d4c", Project: "lineage", Address: "session.it"}
	own := mark.Address.OutsideName("shop")
	for name, c := range map[string]struct {
		config Config
		mark   session.Mark
		set    string
		want   bool
	}{
		"its lineage":                      {Config{Lineage: "lineage", Project: "shop"}, mark, own, false},
		"its lineage, and the name before": {Config{Lineage: "lineage", Project: "store"}, mark, own, false},
		"another lineage":                  {Config{Lineage: "other", Project: "shop"}, mark, own, true},
		"its state is lost":                {Config{Project: "shop"}, mark, own, false},
		"a new project":                    {Config{Project: "store"}, mark, own, true},
		"no mark":                          {Config{Project: "shop"}, session.Mark{}, own, true},
		"no project":                       {Config{}, mark, own, false},
	} {
		set := target{record: record{Mark: c.mark}}
		set.set.Metadata.Name = c.set
		if got := c.config.foreign(set); got != c.want {
			t.Errorf("%s: foreign is %v", name, got)
		}
	}
}
