package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

type attribute struct {
	path, value string
	alarming    bool // it lets an agent act without asking
}

func writeAttributes(p *page, c plan.Change, full bool) {
	if c.Action == plan.Delete && c.Before != nil {
		writeWorkspaceFate(p, *c.Before, c.Keeps)
	}
	switch {
	case c.Action == plan.Create:
		c.Fields = nil // what a new one is stands below, as what it is, and not as changes
	case c.Action == plan.Hold && (c.Before == nil || c.Before.Unmade()) && !full:
		if c.Queues() && !c.Queued() { // approving the plan approves that start
			p.aligned("      ", outline(*c.After))
		}
		return
	}
	for _, f := range c.Fields {
		writeField(p, "      ", f, c, full)
	}
	if o := c.Lifts; o != nil && c.Reason != plan.ReasonOverride {
		p.line("      ", p.paint(red, "-"), " override: ", p.paint(noInk, fmt.Sprintf("%s by %s", o.Desired, o.By)))
	}
	switch {
	case c.After == nil:
	case full:
		all := slices.DeleteFunc(flatten(*c.After), func(a attribute) bool {
			return a.path == "address" || covered(a.path, c.Fields)
		})
		if i := slices.IndexFunc(all, func(a attribute) bool { return a.path == "prompt" }); i >= 0 {
			all[i].value = promptWords(c.After.Prompt)
		}
		p.aligned("      ", all)
	case c.Action == plan.Create:
		p.aligned("      ", outline(*c.After))
	}
}

func writeWorkspaceFate(p *page, r session.Record, work string) {
	if r.Tree.Path == "" {
		return
	}
	fate := "is kept"
	if r.Tree.Created && r.Spec.Workspace.OnDestroy == session.RemoveClean {
		fate = "will be removed if it has no unsaved work"
	}
	if work != "" {
		p.prose(8, "      ", p.paint(yellow, "workspace "+r.Tree.Path+" is kept: it has "+work))
		return
	}
	p.prose(8, "      ", p.paint(dim, "workspace "+r.Tree.Path+" "+fate))
}

func outline(s session.Spec) []attribute {
	all := append([]attribute{{path: "agent", value: quote(s.Agent.Name)}}, safety(s.Agent)...)
	add := func(path, value string, told bool) {
		if told {
			all = append(all, attribute{path: path, value: value})
		}
	}
	add("role", quote(s.Role), s.Role != "" && s.Role != "default")
	add("branch", quote(s.Branch), s.Branch != "")
	add("workspace", shownAt("workspace.path", s.Workspace.Path)+" ("+s.Workspace.Mode+")", true)
	add("runtime", quote(s.Runtime.Key()), s.Runtime.Key() != "tmux")
	add("prompt", promptWords(s.Prompt), s.Prompt.Digest != "")
	return append(all, reviewed(s)...)
}

// reviewedPaths are the attributes of a new session, or their parents, that decide what runs, what
// it can reach and for how long. Every plan shows them, even without --detail full.
var reviewedPaths = []string{
	"args", "env", "secrets", "inherit_env", "telemetry", "timeout", "workspace.setup", "workspace.trust_git",
	"agent.env", "agent.inherit_env",
	"runtime.docker.image", "runtime.docker.host", "runtime.docker.network", "runtime.docker.user", "runtime.docker.env", "runtime.docker.mounts",
	"runtime.kubernetes.context", "runtime.kubernetes.namespace", "runtime.kubernetes.image", "runtime.kubernetes.runtime_class",
	"runtime.kubernetes.service_account", "runtime.kubernetes.env", "runtime.kubernetes.network", "runtime.kubernetes.volumes",
}

// settings returns the attributes to search for reviewedPaths. Flattening all attributes would take
// most of the time of a plan of thousands.
func settings(s session.Spec) []attribute {
	some := session.Spec{
		Args: s.Args, Env: s.Env, Secrets: s.Secrets, InheritEnv: s.InheritEnv, Telemetry: s.Telemetry, Timeout: s.Timeout,
		Workspace: session.Workspace{Setup: s.Workspace.Setup, TrustGit: s.Workspace.TrustGit},
		Agent:     session.AgentSpec{Env: s.Agent.Env, InheritEnv: s.Agent.InheritEnv},
		Runtime:   session.RuntimeSpec{Docker: s.Runtime.Docker, Kubernetes: s.Runtime.Kubernetes},
	}
	if reflect.ValueOf(some).IsZero() {
		return nil
	}
	return flatten(some)
}

// reviewed returns the attributes of reviewedPaths that have a value, of variables only the names,
// and the command of an agent that is not built in or has another command.
func reviewed(s session.Spec) (all []attribute) {
	if base := s.Agent.Base; base == "" || !slices.Equal(s.Agent.Command, []string{base}) { // built-in agents are shown by name
		all = append(all, attribute{path: "agent.command", value: shown(plainValue(s.Agent.Command))})
	}
	for _, a := range settings(s) {
		parent, name := a.path, ""
		if i := strings.LastIndexByte(a.path, '.'); i > 0 && strings.HasSuffix(a.path[:i], "env") {
			parent, name = a.path[:i], a.path[i+1:]
		}
		switch last := len(all) - 1; {
		case !slices.ContainsFunc(reviewedPaths, func(p string) bool { return parent == p || strings.HasPrefix(parent, p+".") }):
		case name == "":
			all = append(all, a)
		case last >= 0 && all[last].path == parent:
			all[last].value += ", " + name
		default:
			all = append(all, attribute{path: parent, value: name})
		}
	}
	var refs []string
	for _, name := range slices.Sorted(maps.Keys(s.SecretRefs)) {
		refs = append(refs, name+" ("+s.SecretRefs[name].Name+", "+s.SecretRefs[name].Key+")")
	}
	if len(refs) > 0 {
		all = append(all, attribute{path: "secret.kubernetes", value: strings.Join(refs, ", ")})
	}
	return all
}

// covered treats the field agent as the agent's name.
func covered(path string, changed []plan.Field) bool {
	return slices.ContainsFunc(changed, func(f plan.Field) bool {
		return path == f.Path || f.Path != "agent" && strings.HasPrefix(path, f.Path+".")
	})
}

func (p *page) aligned(indent string, attributes []attribute) {
	width := 0
	for _, a := range attributes {
		width = max(width, len(a.path))
	}
	for _, a := range attributes {
		ink := noInk
		if a.alarming {
			ink = yellow
		}
		p.prose(len(indent)+width+2, indent, p.paint(dim, a.path+":"), strings.Repeat(" ", width-len(a.path)+1), p.paint(ink, a.value))
	}
}

// flatten keeps the order of fields, and omits empty ones.
func flatten(v any) []attribute {
	b, _ := json.Marshal(v) // every value can be encoded
	var all []attribute
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var walk func(path string)
	walk = func(path string) {
		token, _ := d.Token()
		switch token {
		case json.Delim('{'):
			for d.More() {
				key, _ := d.Token()
				walk(strings.TrimPrefix(path+"."+key.(string), "."))
			}
			_, _ = d.Token()
		case json.Delim('['):
			var values []any
			for d.More() {
				var one any
				_ = d.Decode(&one)
				values = append(values, one)
			}
			if _, _ = d.Token(); len(values) > 0 {
				all = append(all, attribute{path: path, value: shown(values)})
			}
		case nil, "":
		default:
			field := strings.TrimPrefix(path, "spec.")
			all = append(all, attribute{path: named(path), value: shownAt(field, tidy(field, token))})
		}
	}
	walk("")
	return all
}

// named returns a state path's name in the manifest.
func named(path string) string {
	if strings.HasSuffix(path, "agent.name") || strings.HasSuffix(path, "prompt.sha256") {
		return path[:strings.LastIndexByte(path, '.')]
	}
	return path
}
