package engine

import (
	"testing"

	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

func TestExplain(t *testing.T) {
	restart := session.Remedy{Code: session.RemedyRestart}
	p := plan.Plan{
		Problems: []session.Diagnostic{{Detail: "p", Remedy: restart}},
		Changes:  []plan.Change{{Detail: "c", Remedy: restart}},
		Drift:    []plan.Drift{{Detail: "d", Remedy: restart}},
	}
	const words = "; agentform restart runs it again"
	for range 2 { // once is enough
		p = Explain(p)
		if p.Problems[0].Detail != "p"+words || p.Changes[0].Detail != "c"+words || p.Drift[0].Detail != "d"+words {
			t.Errorf("explained: %+v", p)
		}
	}

}
