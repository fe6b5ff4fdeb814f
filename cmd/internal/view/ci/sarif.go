package ci

import (
	"io"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// driftRule is a kind of drift as a rule of SARIF.
type driftRule struct {
	kind plan.DriftKind
	text string
}

// driftRules returns the rules, in the order of their index.
func driftRules() []driftRule {
	return []driftRule{
		{plan.BranchMismatch, "A workspace is not on the branch that was declared for it"},
		{plan.Changed, "A session does something else than it was last told to"},
		{plan.Exited, "The agent of a session was left"},
		{plan.Failed, "The agent of a session failed"},
		{plan.Missing, "A session that is on record is gone"},
		{view.NotApplied, "The manifest differs from what is on record"},
		{plan.Orphaned, "A live session of the project is not on record"},
		{plan.Stale, "The place of a session stands and the session in it is dead"},
		{plan.Unreachable, "A session could not be looked at"},
	}
}

// What SARIF has that a report needs (OASIS Static Analysis Results Interchange
// Format 2.1.0, section 3).
type (
	sarifText struct {
		Text string `json:"text"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndLine     int `json:"endLine,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifRun struct {
		Tool struct {
			Driver struct {
				Name    string      `json:"name"`
				Version string      `json:"version,omitempty"`
				URI     string      `json:"informationUri"`
				Rules   []sarifRule `json:"rules"`
			} `json:"driver"`
		} `json:"tool"`
		Automation struct {
			ID string `json:"id"`
		} `json:"automationDetails"`
		Columns     string            `json:"columnKind"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
)

// SARIF writes the report as SARIF 2.1.0, which code scanning shows at the manifest's
// lines. A difference without a line is at the first line of the manifest, since GitHub
// requires a location. What could not be inspected is a notification, and makes the run
// unsuccessful unless that was requested.
func SARIF(w io.Writer, r view.DriftReport) error {
	r = r.Near()
	run := sarifRun{Columns: "unicodeCodePoints", Results: []sarifResult{}}
	d := &run.Tool.Driver
	d.Name, d.Version, d.URI = "agentform", r.Agentform, "https://github.com/agentform/agentform"
	rules := driftRules()
	for _, k := range rules {
		d.Rules = append(d.Rules, sarifRule{"agentform/" + string(k.kind), sarifText{k.text}})
	}
	run.Automation.ID = "agentform/drift/" + marker(r.Project) + "/"
	for _, i := range r.Items {
		run.Results = append(run.Results, sarifResult{
			RuleID:       "agentform/" + string(i.Kind),
			RuleIndex:    slices.IndexFunc(rules, func(k driftRule) bool { return k.kind == i.Kind }),
			Level:        "error",
			Message:      sarifText{plaintext.Safe(string(i.Address) + ": " + i.Detail)},
			Locations:    []sarifLocation{{place(r, i), []sarifLogical{{string(i.Address), "resource"}}}},
			Fingerprints: map[string]string{"agentform/v1": r.Project + "/" + string(i.Address) + "/" + string(i.Kind)},
		})
	}
	run.Invocations = []sarifInvocation{{r.Complete || r.Offline, notifications(r)}}
	return wire.Write(w, struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}{"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json", "2.1.0", []sarifRun{run}})
}

func place(r view.DriftReport, i view.DriftItem) sarifPhysical {
	file, region := r.Manifest, sarifRegion{StartLine: 1}
	if file == "" {
		file = "agentform.hcl"
	}
	if i.Range != nil {
		file = i.Range.Filename
		region = sarifRegion{i.Range.Start.Line, i.Range.Start.Column, i.Range.End.Line, i.Range.End.Column}
	}
	u := url.URL{Path: filepath.ToSlash(file)}
	return sarifPhysical{sarifArtifact{u.String(), "%SRCROOT%"}, region}
}

func notifications(r view.DriftReport) []sarifNotification {
	level := "note"
	if r.Offline || !r.Complete {
		level = "warning"
	}
	all := []sarifNotification{{level, sarifText{plaintext.Safe(r.Verdict())}}}
	for _, d := range r.Problems {
		level := "error"
		if d.Severity == session.Warning {
			level = "warning"
		}
		all = append(all, sarifNotification{level, sarifText{plaintext.Safe(d.Summary + "\n" + d.Detail)}})
	}
	return all
}
