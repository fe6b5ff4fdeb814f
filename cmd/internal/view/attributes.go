package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

type attribute struct{ path, value string }

func writeAttributes(p *page, c plan.Change, full bool) {
	if c.Action == plan.Delete && c.Before != nil {
		writeWorkspaceFate(p, *c.Before, c.Keeps)
	}
	switch {
	case c.Action == plan.Create:
		c.Fields = nil // what a new one is stands below, as what it is, and not as changes
	case c.Action == plan.Hold && (c.Before == nil || c.Before.Unmade()) && !full:
		return // that of one which has to wait is told once it is its turn
	}
	for _, f := range c.Fields {
		writeField(p, "      ", f, c.After)
	}
	if o := c.Lifts; o != nil && c.Reason != plan.ReasonOverride {
		p.line("      ", p.paint(red, "-"), " override: ", p.paint(noInk, fmt.Sprintf("%s by %s", o.Desired, o.By)))
	}
	switch {
	case c.After == nil:
	case full:
		writeUnchangedFields(p, c)
	case c.Action == plan.Create:
		p.aligned("      ", outline(*c.After))
	}
}

func writeWorkspaceFate(p *page, r session.Record, work string) {
	if r.Tree.Path == "" {
		return
	}
	fate := "stays"
	if r.Tree.Created && r.Spec.Workspace.OnDestroy == session.RemoveClean {
		fate = "is removed, unless work would be lost"
	}
	if work != "" {
		p.line("      ", p.paint(yellow, "workspace "+r.Tree.Path+" is kept: it holds "+work))
		return
	}
	p.line("      ", p.paint(dim, "workspace "+r.Tree.Path+" "+fate))
}

func outline(s session.Spec) []attribute {
	all := []attribute{{"agent", quote(s.Agent.Name)}}
	add := func(path, value string, told bool) {
		if told {
			all = append(all, attribute{path, value})
		}
	}
	add("role", quote(s.Role), s.Role != "" && s.Role != "default")
	add("branch", quote(s.Branch), s.Branch != "")
	add("workspace", shownAt("workspace.path", s.Workspace.Path)+" ("+s.Workspace.Mode+")", true)
	add("runtime", quote(s.Runtime.Key()), s.Runtime.Key() != "tmux")
	add("prompt", promptWords(s.Prompt.Digest, s.Prompt), s.Prompt.Digest != "")
	return all
}

func writeUnchangedFields(p *page, c plan.Change) {
	var same []attribute
	for _, a := range flatten(*c.After) {
		if a.path != "address" && !covered(a.path, c.Fields) {
			same = append(same, a)
		}
	}
	p.aligned("      ", same)
}

// covered treats the field agent as the agent's name.
func covered(path string, changed []plan.Field) bool {
	for _, f := range changed {
		if path == f.Path || f.Path != "agent" && strings.HasPrefix(path, f.Path+".") {
			return true
		}
	}
	return false
}

func (p *page) aligned(indent string, attributes []attribute) {
	width := 0
	for _, a := range attributes {
		width = max(width, len(a.path))
	}
	for _, a := range attributes {
		p.line(indent, p.paint(dim, a.path+":"), strings.Repeat(" ", width-len(a.path)+1), p.paint(noInk, a.value))
	}
}

// flatten keeps the order of fields, and leaves out empty ones.
func flatten(v any) []attribute {
	b, err := json.Marshal(v)
	if err != nil {
		return []attribute{{"error", err.Error()}}
	}
	var all []attribute
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var walk func(path string)
	walk = func(path string) {
		token, err := d.Token()
		if err != nil {
			return
		}
		delim, composed := token.(json.Delim)
		switch {
		case composed && delim == '{':
			for d.More() {
				key, _ := d.Token()
				walk(strings.TrimPrefix(path+"."+key.(string), "."))
			}
			_, _ = d.Token()
		case composed:
			values := []any{}
			for d.More() {
				var one any
				if d.Decode(&one) != nil {
					return
				}
				values = append(values, one)
			}
			_, _ = d.Token()
			if len(values) > 0 {
				all = append(all, attribute{path, shown(values)})
			}
		case token == nil || token == "":
		default:
			all = append(all, attribute{named(path), shownAt(strings.TrimPrefix(path, "spec."), tidy(strings.TrimPrefix(path, "spec."), token))})
		}
	}
	walk("")
	return all
}

// named returns the manifest's name for a path in the state.
func named(path string) string {
	switch {
	case strings.HasSuffix(path, "agent.name"):
		return strings.TrimSuffix(path, ".name")
	case strings.HasSuffix(path, "prompt.sha256"):
		return strings.TrimSuffix(path, ".sha256")
	}
	return path
}
