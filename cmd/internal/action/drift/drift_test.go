package drift

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// An object that could not be inspected makes a report incomplete, unless it is ignored; a state
// that changed does in any case.
func TestDriftIsCompleteOrNot(t *testing.T) {
	record := &session.Record{}
	unreachable := plan.Drift{Address: "session.b", Kind: plan.Unreachable, Detail: "no answer"}
	runtime := session.Diagnostic{Severity: session.Error, Summary: "docker/x cannot be inspected"}
	moved := session.Diagnostic{Severity: session.Warning, Summary: "state_moved"}
	for name, c := range map[string]struct {
		plan     plan.Plan
		ignore   []string
		complete bool
		items    int
		problems int
	}{
		"all seen":                  {plan.Plan{Complete: true}, nil, true, 0, 0},
		"contradicting signals":     {plan.Plan{Complete: true, Drift: []plan.Drift{unreachable}}, nil, false, 1, 0},
		"a runtime is down":         {plan.Plan{Drift: []plan.Drift{unreachable}, Problems: []session.Diagnostic{runtime}}, nil, false, 1, 1},
		"which is ignored":          {plan.Plan{Drift: []plan.Drift{unreachable}, Problems: []session.Diagnostic{runtime}}, []string{"b"}, true, 0, 0},
		"another is ignored":        {plan.Plan{Drift: []plan.Drift{unreachable}, Problems: []session.Diagnostic{runtime}}, []string{"a"}, false, 1, 1},
		"the state moved":           {plan.Plan{Drift: []plan.Drift{unreachable}, Problems: []session.Diagnostic{moved}}, []string{"b"}, false, 0, 1},
		"nothing told of a runtime": {plan.Plan{Problems: []session.Diagnostic{runtime}}, []string{"a"}, false, 0, 1},
	} {
		c.plan.Changes = []plan.Change{{Address: "session.a", Before: record}, {Address: "session.b", Before: record}}
		r := reportOf(c.plan, session.Owner{})
		if none, err := Ignore(&r, r.Sessions, c.ignore); err != nil || len(none) > 0 {
			t.Errorf("%s: no session %v, %v", name, none, err)
		}
		if r.Complete != c.complete || len(r.Items) != c.items || len(r.Problems) != c.problems || len(r.Sessions) != 2-len(c.ignore) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestDriftOf(t *testing.T) {
	problem := func(a session.Address) session.Diagnostic {
		return session.Diagnostic{Severity: session.Error, Address: a, Summary: "x"}
	}
	r := reportOf(plan.Plan{
		Complete: true,
		Options:  plan.Options{Targets: []session.Address{"session.a", "session.w", "session.two"}, Exclude: []session.Address{`session.w["no"]`}},
		Changes: []plan.Change{
			{Address: "session.a", Before: &session.Record{}},
			{Address: "session.new"},
			{Address: "session.other", Before: &session.Record{}, Reason: plan.ReasonNotTargeted},
			{Address: "session.stray", Live: &session.Live{}},
			{Address: "session.away", Before: &session.Record{}, Reason: plan.ReasonElsewhere, Detail: "on vm:/shop"},
			{Address: "session.two", Before: &session.Record{}, Reason: plan.ReasonAmbiguous},
		},
		Drift: []plan.Drift{
			{Address: "session.two", Kind: plan.Missing}, {Address: "session.ghost", Kind: plan.Orphaned},
			{Address: `session.w["no"]`, Kind: plan.Orphaned}, {Address: `session.w["x"]`, Kind: plan.Orphaned},
		},
		Problems: []session.Diagnostic{problem("session.a"), problem("session.two")},
	}, session.Owner{})
	var kinds []string
	for _, i := range r.Items {
		kinds = append(kinds, string(i.Address)+" "+string(i.Kind))
	}
	if diff := cmp.Diff([]string{"session.away unreachable", "session.two missing", `session.w["x"] orphaned`, "session.stray orphaned"}, kinds); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]session.Address{"session.a", "session.away", "session.two"}, r.Sessions); diff != "" {
		t.Error(diff)
	}
	if r.Complete || !strings.HasPrefix(r.Items[0].Detail, "on vm:/shop; run agentform there") {
		t.Errorf("%v, complete: %v", r.Items[0], r.Complete)
	}
	if len(r.Problems) != 1 || r.Problems[0].Address != "session.two" {
		t.Errorf("problems %v: only what nobody can tell apart is one", r.Problems)
	}
}

// The paths in another machine's record are mapped to the manifest's directory; this machine's are
// compared unchanged.
func TestMoveHome(t *testing.T) {
	here := t.TempDir()
	wanted := session.Spec{Branch: "b", Workspace: session.Workspace{Mode: session.Worktree, Repo: "/ci/shop", Path: "/ci/shop/.agentform/w"}}
	for name, c := range map[string]struct {
		was  session.Workspace
		want string
	}{
		"another machine":          {session.Workspace{Mode: session.Worktree, Repo: "/no/such/shop", Path: "/no/such/shop/.agentform/w"}, "/no/such/shop/.agentform/w"},
		"this machine":             {session.Workspace{Mode: session.Worktree, Repo: here, Path: here + "/.agentform/w"}, "/ci/shop/.agentform/w"},
		"another place in it":      {session.Workspace{Mode: session.Worktree, Repo: "/no/such/shop", Path: "/no/such/shop/x"}, "/no/such/shop/.agentform/w"},
		"another mode of workings": {session.Workspace{Mode: session.Plain, Path: "/no/such/folder"}, "/ci/shop/.agentform/w"},
	} {
		got := relocate(wanted, &session.Record{Spec: session.Spec{Branch: "b", Workspace: c.was}})
		if got.Workspace.Path != c.want {
			t.Errorf("%s: %s, want %s", name, got.Workspace.Path, c.want)
		}
	}
	outside := wanted
	outside.Workspace.Path = "/home/ci/data/w"
	if got := relocate(outside, &session.Record{Spec: session.Spec{Branch: "b", Workspace: session.Workspace{Mode: session.Worktree, Repo: "/no/such/shop", Path: "/home/ada/data/w"}}}); got.Workspace.Path != "/home/ada/data/w" {
		t.Errorf("a data folder elsewhere: %s", got.Workspace.Path)
	}
	if got := relocate(wanted, nil); got.Workspace.Path != wanted.Workspace.Path {
		t.Error("without a record there is nothing to go by")
	}
}
