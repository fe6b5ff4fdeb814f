package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/language"
)

// Example returns a valid block with the topic's block or attribute.
func (t Topic) Example() string {
	blocks := t.Blocks
	last := blocks[len(blocks)-1]
	switch {
	case last.Free:
		return "locals {\n  team = \"shop\"\n}\n"
	case len(last.Kinds) > 0:
		blocks = append(slices.Clone(blocks[:len(blocks)-1]), last.Kinds[0])
	case len(last.Attributes) == 0 && len(last.Blocks) > 0:
		blocks = append(slices.Clone(blocks), last.Blocks[0])
	}
	for i := len(blocks) - 1; i > 0; i-- { // a block of a kind is written once
		if blocks[i].FirstLabel != "" && blocks[i].Type == blocks[i-1].Type {
			blocks = slices.Delete(slices.Clone(blocks), i-1, i)
			i--
		}
	}
	var b strings.Builder
	path := blocks[0].Type
	for i, block := range blocks {
		if i > 0 {
			path += "." + block.Type
		}
		if i > 0 && !strings.HasSuffix(b.String(), "{\n") {
			b.WriteByte('\n')
		}
		b.WriteString(before()[path])
		writeHeader(&b, block)
		path += kindOf(block)
		writeAttributes(&b, path, block, t, i == len(blocks)-1)
	}
	b.WriteString(strings.Repeat("}\n", len(blocks)) + beside()[t.Path])
	text, err := config.Format([]byte(b.String()))
	if err != nil {
		return b.String() // a test formats all of them
	}
	return string(text)
}

func kindOf(b language.Block) string {
	if b.FirstLabel == "" {
		return ""
	}
	return "." + b.FirstLabel
}

func writeHeader(b *strings.Builder, block language.Block) {
	b.WriteString(block.Type)
	if block.FirstLabel != "" {
		fmt.Fprintf(b, " %q", block.FirstLabel)
	}
	if name := names()[block.Type]; len(block.Labels) > 0 && name != "" {
		fmt.Fprintf(b, " %q", name)
	}
	b.WriteString(" {\n")
}

// writeAttributes writes the topic's attribute and those that it needs. For a block it writes the
// most useful ones.
func writeAttributes(b *strings.Builder, path string, block language.Block, t Topic, inner bool) {
	shown := map[string]bool{}
	for _, name := range needed()[path] {
		shown[name] = true
	}
	switch {
	case inner && t.Attribute != nil:
		shown[t.Attribute.Name] = true
	case inner && useful()[path] != nil:
		for _, name := range useful()[path] {
			shown[name] = true
		}
	}
	usual := inner && t.Attribute == nil && useful()[path] == nil
	other := others()[t.Path]
	for _, a := range block.Attributes {
		value, overridden := other[a.Name]
		if !overridden {
			value = sample(a)
		}
		if value != "" && (a.Required || overridden || shown[a.Name] || usual && a.Default != "") {
			fmt.Fprintf(b, "%s = %s\n", a.Name, value)
		}
	}
}

func sample(a language.Attribute) string {
	value := cmp.Or(a.Example, a.Default)
	if value == "" && len(a.Values) > 0 && a.Kind == language.Text {
		value = fmt.Sprintf("%q", a.Values[0])
	}
	return cmp.Or(value, byType()[a.Kind], fmt.Sprintf("%q", a.Name))
}

// names returns the labels of blocks in examples.
func names() map[string]string {
	return map[string]string{
		"session": "api", "agent": "reviewer", "variable": "ticket", "secret": "GH_TOKEN", "notify": "me",
		"output": "branch", "check": "branches", "runtime": "box", "price": "claude-opus-4-8", "budget": "night",
	}
}

// before returns the blocks that a block's example needs before it.
func before() map[string]string {
	return map[string]string{"agentform.encryption": "backend \"pg\" {\n}\n"}
}

// beside returns the blocks that an attribute's example needs after its own.
func beside() map[string]string {
	return map[string]string{"session.workspace.repo_secret": "\nruntime \"kubernetes\" \"team\" {\n  image = \"registry.example/agents:1\"\n}\n"}
}

// needed returns the attributes, other than the required ones, that a block's examples always have.
func needed() map[string][]string {
	return map[string][]string{
		"session": {"branch"}, "agent": {"base"}, "notify": {"on", "command"}, "session.conversation": {"id"},
		"budget": {"cost"}, "session.budget": {"tokens"}, "agent.budget": {"tokens"},
	}
}

// useful returns the attributes in a block's example, unless these are the ones with a default.
func useful() map[string][]string {
	return map[string][]string{
		"session":                  {"prompt"},
		"session.workspace":        {"base", "setup"},
		"session.verify":           {"command", "protect"},
		"session.pr":               {"rounds"},
		"session.health.heartbeat": {"command"},
		"agent":                    {"permissions", "trust"},
		"agent.health.heartbeat":   {"command"},
		"agent.patterns":           {"done", "blocked"},
		"agentform":                {"project", "max_running", "hub"},
		"variable":                 {"type", "default", "description"},
		"agentform.backend.http":   {"address", "lock_address"},
		"agentform.backend.s3":     {"bucket", "key", "region"},
		"agentform.backend.pg":     {"schema"},
		"agentform.encryption":     {"recipients"},
		"agentform.telemetry":      {"agents"},
		"secret":                   {"command"},
		"runtime.docker":           {"cpus", "memory"},
		"price":                    {"cache_read"},
		"budget":                   {"sessions", "per", "on_exceeded"},
		"session.budget":           {"per"},
		"agent.budget":             {"per"},
		"runtime.kubernetes":       {"namespace", "cpus", "memory"},
		"import":                   {}, "moved": {}, "removed": {}, "notify": {}, "output": {},
	}
}

// others returns values of other attributes for an attribute's example, which omits attributes
// without a value.
func others() map[string]map[string]string {
	return map[string]map[string]string{
		"runtime.kubernetes.network_allow": {"network": `"restricted"`},
		"session.workspace.repo_secret":    {"repo": `"https://git.example/shop.git"`, "runtime": "runtime.kubernetes.team"},
		"session.for_each":                 {"branch": `"agents/${each.key}"`},
		"session.count":                    {"branch": `"agents/pool-${count.index}"`},
		"agent.command":                    {"base": ""},
		"notify.report":                    {"on": ""},
		"notify.webhook":                   {"command": ""},
		"runtime.docker.cert_path":         {"host": `"tcp://build.example.com:2376"`},
		"notify.webhook_secret":            {"command": ""},
		"notify.preset":                    {"command": ""},
		"import.for_each":                  {"to": "session.worker[each.key]", "id": `"tmux:default/${each.value}"`},
		"moved.for_each":                   {"from": `session.old[each.key]`, "to": "session.worker[each.key]"},
		"removed.for_each":                 {"from": `session.old[each.key]`},
	}
}

func byType() map[language.Kind]string {
	return map[language.Kind]string{"true or false": "true", "whole number": "1", "number": "1", "duration": `"15m"`}
}
