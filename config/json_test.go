package config

import (
	"testing"

	"github.com/agentform/agentform/session"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestJSONSaysTheSame: one manifest in both syntaxes is one manifest.
func TestJSONSaysTheSame(t *testing.T) {
	load := func(dir string) *Manifest {
		o := project(t, dir)
		m := good(t, o)
		for i := range m.Sessions {
			// the directories of two tests differ
			m.Sessions[i].Workspace.Path, m.Sessions[i].Workspace.Repo = "", ""
		}
		return m
	}
	native, json := load("testdata/right/blocks"), load("testdata/right/blocks_json")
	ignore := cmp.Options{
		cmpopts.IgnoreFields(Manifest{}, "Root", "Dir", "DataDir", "Ranges", "Files", "Outputs"),
		cmpopts.IgnoreTypes(session.Range{}),
		cmpopts.IgnoreFields(session.Mount{}, "Source"), cmpopts.IgnoreFields(SecretSource{}, "File"),
	}
	if d := cmp.Diff(native, json, ignore); d != "" {
		t.Errorf("(-native +JSON):\n%s", d)
	}
	if len(native.Outputs) != len(json.Outputs) || len(native.Moves) == 0 || len(native.Imports) == 0 || len(native.Removed) == 0 {
		t.Errorf("%d and %d outputs", len(native.Outputs), len(json.Outputs))
	}
}
