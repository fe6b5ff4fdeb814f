package arch_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/language"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/plan"
)

// TestLanguageNamesAgents: the table, which does not import agent, names every built-in one.
func TestLanguageNamesAgents(t *testing.T) {
	text, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range agent.Names() {
		names = append(names, "`"+name+"`")
	}
	if want := plaintext.List(names, "and") + " need no block"; !strings.Contains(string(text), want) {
		t.Errorf("the doc of the agent block in internal/language/agent.go does not say %q", want)
	}
}

// TestLanguageAndPlan: what the manifest's schema says about a change of an
// attribute is what a plan makes of it, and ignore_changes can name exactly what
// a plan compares, and the blocks that it stands in.
func TestLanguageAndPlan(t *testing.T) {
	said := map[string]plan.Forces{}
	var ignorable []string
	var read func(prefix string, b language.Block)
	read = func(prefix string, b language.Block) {
		for _, a := range b.Attributes {
			if a.Forces != "" {
				said[prefix+a.Name] = plan.Forces(a.Forces)
			}
			if a.Name == "ignore_changes" {
				ignorable = a.Values
			}
		}
		for _, inner := range b.Blocks {
			if inner.Forces != "" {
				said[prefix+inner.Type] = plan.Forces(inner.Forces)
			}
			read(prefix+inner.Type+".", inner)
		}
	}
	for _, b := range config.Language().Blocks {
		switch b.Type {
		case "session":
			read("", b)
		case "secret":
			read("secret.", b)
		case "agentform":
			read("", b) // of what all sessions have
		case "agent":
			b.Blocks = slices.DeleteFunc(b.Blocks, func(b language.Block) bool { return b.Type != "patterns" }) // its sessions'
			read("agent.", b)
		case "runtime":
			for _, kind := range b.Kinds {
				prefix := map[string]string{"docker": "runtime.docker.", "kubernetes": "runtime.kubernetes.", "tmux": "runtime."}[kind.FirstLabel]
				read(prefix, kind)
			}
		}
	}
	for _, part := range []string{"kind", "name"} {
		said["runtime."+part] = said["runtime"]
	}
	delete(said, "runtime")
	said["depends_on.until"] = said["depends_on"]
	if diff := cmp.Diff(plan.Fields(), said); diff != "" {
		t.Errorf("how far a change reaches (-plan +schema):\n%s", diff)
	}

	want := map[string]bool{"all": true}
	for path := range plan.Fields() {
		if strings.HasPrefix(path, "lifecycle.") {
			continue // of what says itself what is ignored, nothing can be
		}
		for i := range path {
			if path[i] == '.' {
				want[path[:i]] = true
			}
		}
		want[path] = true
	}
	got := map[string]bool{}
	for _, path := range ignorable {
		got[path] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("what ignore_changes can name (-plan +schema):\n%s", diff)
	}
}
