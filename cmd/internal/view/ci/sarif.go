package ci

import (
	"cmp"
	"io"
	"net/url"
	"path/filepath"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
)

var driftRules = []struct {
	kind plan.DriftKind
	text string
}{
	{plan.BranchMismatch, "The workspace is not on the declared branch"},
	{plan.Changed, "Session does not match its recorded state"},
	{plan.Exited, "Agent exited"},
	{plan.Failed, "Agent failed"},
	{plan.Missing, "A session in the state no longer exists"},
	{view.NotApplied, "The manifest differs from the state"},
	{plan.Orphaned, "A running session of the project is not in the state"},
	{plan.Stale, "Agent exited but its tmux session or container remains"},
	{plan.Unreachable, "Session could not be inspected"},
}

// SARIF writes SARIF 2.1.0. A difference without a line is placed at the manifest's first, since
// GitHub requires one. A session that could not be inspected makes the run unsuccessful unless that
// was requested.
func SARIF(w io.Writer, r view.DriftReport) error {
	r = r.Near()
	rules, indexes := []wire.Object{}, map[plan.DriftKind]int{}
	for i, k := range driftRules {
		rules = append(rules, wire.Object{"id", "agentform/" + string(k.kind), "shortDescription", text(k.text)})
		indexes[k.kind] = i
	}
	results := []wire.Object{}
	for _, i := range r.Items {
		results = append(results, wire.Object{
			"ruleId", "agentform/" + string(i.Kind),
			"ruleIndex", indexes[i.Kind],
			"level", "error",
			"message", text(string(i.Address) + ": " + i.Detail),
			"locations", []wire.Object{{
				"physicalLocation", location(r, i),
				"logicalLocations", []wire.Object{{"fullyQualifiedName", i.Address, "kind", "resource"}},
			}},
			"partialFingerprints", wire.Object{"agentform/v1", r.Project + "/" + string(i.Address) + "/" + string(i.Kind)},
		})
	}
	driver := wire.Object{"name", "agentform", "version", r.Agentform,
		"informationUri", "https://github.com/agentform/agentform", "rules", rules}
	// OASIS Static Analysis Results Interchange Format 2.1.0, section 3.
	return wire.Write(w, wire.Object{
		"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		"version", "2.1.0",
		"runs", []wire.Object{{
			"tool", wire.Object{"driver", driver},
			"automationDetails", wire.Object{"id", "agentform/drift/" + marker(r.Project) + "/"},
			"columnKind", "unicodeCodePoints",
			"invocations", []wire.Object{{
				"executionSuccessful", r.Complete || r.Offline,
				"toolExecutionNotifications", notifications(r),
			}},
			"results", results,
		}},
	})
}

func text(s string) wire.Object { return wire.Object{"text", plaintext.Safe(s)} }

func location(r view.DriftReport, i view.DriftItem) wire.Object {
	file, region := cmp.Or(r.Manifest, "agentform.hcl"), wire.Object{"startLine", 1}
	if at := i.Range; at != nil {
		file = at.Filename
		region = wire.Object{"startLine", at.Start.Line, "startColumn", at.Start.Column,
			"endLine", at.End.Line, "endColumn", at.End.Column}
	}
	uri := (&url.URL{Path: filepath.ToSlash(file)}).String()
	return wire.Object{"artifactLocation", wire.Object{"uri", uri, "uriBaseId", "%SRCROOT%"}, "region", region}
}

func notifications(r view.DriftReport) []wire.Object {
	level := "note"
	if r.Offline || !r.Complete {
		level = "warning"
	}
	all := []wire.Object{{"level", level, "message", text(r.Verdict())}}
	for _, d := range r.Problems {
		all = append(all, wire.Object{"level", levelOf(d), "message", text(d.Summary + "\n" + d.Detail)})
	}
	return all
}
