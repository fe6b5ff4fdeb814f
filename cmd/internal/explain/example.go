package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/language"
)

// Example returns a block that has what the topic names, and is valid.
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

// writeAttributes writes the attribute of the topic and those that it needs. Of a block as
// the topic it writes the most useful ones.
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
			value = sample(path+"."+a.Name, a)
		}
		if value != "" && (a.Required || overridden || shown[a.Name] || usual && a.Default != "") {
			fmt.Fprintf(b, "%s = %s\n", a.Name, value)
		}
	}
}

func sample(path string, a language.Attribute) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	inSession := "session" + path[strings.IndexByte(path, '.'):]
	for _, value := range []string{samples()[path], samples()[inSession], a.Default} {
		if value != "" {
			return value
		}
	}
	if len(a.Values) > 0 && a.Kind == language.Text {
		return fmt.Sprintf("%q", a.Values[0])
	}
	if value := byType()[a.Kind]; value != "" {
		return value
	}
	return fmt.Sprintf("%q", name)
}

// names returns the labels of blocks in examples.
func names() map[string]string {
	return map[string]string{
		"session": "api", "agent": "reviewer", "variable": "ticket", "secret": "GH_TOKEN", "notify": "me",
		"output": "branch", "check": "branches", "runtime": "box", "price": "claude-opus-4-8", "budget": "night",
	}
}

// before returns the blocks that the example of a block needs in front of it.
func before() map[string]string {
	return map[string]string{"agentform.encryption": "backend \"pg\" {\n}\n"}
}

// beside returns the blocks that the example of an attribute needs after its own.
func beside() map[string]string {
	return map[string]string{"session.workspace.repo_secret": "\nruntime \"kubernetes\" \"team\" {\n  image = \"registry.example/agents:1\"\n}\n"}
}

// needed returns the attributes that an example of a block has in any case, besides the
// required ones.
func needed() map[string][]string {
	return map[string][]string{
		"session": {"branch"}, "agent": {"base"}, "notify": {"on", "command"}, "session.conversation": {"id"},
		"budget": {"cost"}, "session.budget": {"tokens"}, "agent.budget": {"tokens"},
	}
}

// useful returns the attributes in the example of a block, if not those with a default.
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

// others returns values of other attributes in the example of an attribute. Without a value
// the example does not have that attribute.
func others() map[string]map[string]string {
	return map[string]map[string]string{
		"session.workspace.repo_secret": {"repo": `"https://git.example/shop.git"`, "runtime": "runtime.kubernetes.team"},
		"session.for_each":              {"branch": `"agents/${each.key}"`},
		"session.count":                 {"branch": `"agents/pool-${count.index}"`},
		"agent.command":                 {"base": ""},
		"notify.report":                 {"on": ""},
		"notify.webhook":                {"command": ""},
		"runtime.docker.cert_path":      {"host": `"tcp://build.example.com:2376"`},
		"notify.webhook_secret":         {"command": ""},
		"notify.preset":                 {"command": ""},
		"import.for_each":               {"to": "session.worker[each.key]", "id": `"tmux:default/${each.value}"`},
		"moved.for_each":                {"from": `session.old[each.key]`, "to": "session.worker[each.key]"},
		"removed.for_each":              {"from": `session.old[each.key]`},
	}
}

func samples() map[string]string {
	return map[string]string{
		"agentform.required_version": `">= 0.1"`, "agentform.project": `"shop"`, "agentform.max_running": "8",
		"agentform.outputs_dir": `"out"`, "agentform.price_file": `"prices.json"`,
		"session.agent": `"claude"`, "session.branch": `"agents/api"`, "session.prompt": `"Fix the failing tests."`,
		"session.for_each": `toset(["web", "docs"])`, "session.count": "2", "session.profile": `"review"`,
		"session.args": `["--verbose"]`, "session.env": `{ LOG = "debug" }`, "session.secrets": `["GH_TOKEN"]`,
		"session.inherit_env": `["SSH_AUTH_SOCK"]`, "session.timeout": `"2h"`, "session.labels": `{ team = "shop" }`,
		"session.depends_on": "[session.db]", "session.role": `"builder"`, "session.priority": "10",
		"session.conversation.id": `"8f14e45f-ceea-467f-a0e6-1d2c6a7b9e11"`,
		"session.workspace.repo":  `"."`, "session.workspace.path": `"work/api"`, "session.workspace.base": `"main"`,
		"notify.report":                 `"08:00"`,
		"session.workspace.repo_secret": `"GIT_TOKEN"`,
		"session.workspace.setup":       `["npm", "ci"]`, "session.stop.after_turn": `"5m"`,
		"session.lifecycle.ignore_changes": "[prompt]", "session.lifecycle.replace_triggered_by": "[var.release]",
		"session.health.heartbeat.command": `["curl", "-fsS", "http://localhost:8080/health"]`,
		"session.health.heartbeat.key":     `"F12"`,
		"session.verify.command":           `["make", "test"]`, "session.verify.protect": `["tests/**", "Makefile"]`,
		"agent.base": `"claude"`, "agent.command": `["my-agent", "--chat"]`, "agent.ready": `"^> "`, "agent.ready_timeout": `"1m"`,
		"agent.status_bar_lines": "2", "agent.unobserved_for": `"24h"`, "agent.permissions": `"edits"`, "agent.trust": "true",
		"agent.patterns.done": `["all tests pass"]`, "agent.patterns.blocked": `["\\[y/n\\]"]`,
		"agent.patterns.blocked_api": `["rate limit"]`, "agent.patterns.failed": `["fatal error"]`,
		"agent.patterns.working": `["thinking"]`, "agent.patterns.ui": `["my-agent v"]`, "agent.patterns.shell_prompt": `["\\$ $"]`,
		"variable.type": "string", "variable.default": `"SHOP-1"`, "variable.description": `"The ticket to work on."`,
		"variable.validation.condition":     `startswith(var.ticket, "SHOP-")`,
		"variable.validation.error_message": `"The ticket must be one of SHOP."`,
		"secret.env":                        `"SHOP_TOKEN"`, "secret.file": `"~/.config/shop/token"`, "secret.command": `["pass", "show", "shop/token"]`,
		"notify.on": `["blocked", "done"]`, "notify.command": `["notify-send", "agentform"]`,
		"notify.webhook": `"https://hooks.example.com/shop"`, "notify.webhook_secret": `"HOOK_URL"`, "notify.preset": `"desktop"`,
		"budget.sessions": "[session.api]", "budget.tokens": "20000000", "budget.cost": "25", "budget.time": `"8h"`, "budget.zone": `"Europe/Berlin"`,
		"session.budget.tokens": "1000000", "session.budget.cost": "5", "session.budget.time": `"2h"`, "session.budget.zone": `"Europe/Berlin"`,
		"price.input": "5", "price.output": "25", "price.cache_read": "0.5", "price.cache_write": "6.25", "price.cache_write_1h": "10",
		"price.long.above": "200000", "price.long.input": "6", "price.long.output": "22.5", "price.long.cache_read": "0.6",
		"price.long.cache_write": "7.5", "price.long.cache_write_1h": "12",
		"output.value": "session.api.branch", "output.description": `"The branch of the API."`,
		"check.assert.condition": `session.api.branch != "main"`, "check.assert.error_message": `"The API must not be on main."`,
		"import.to": "session.api", "import.id": `"tmux:default/work"`, "import.for_each": `{ web = "left", docs = "right" }`,
		"moved.from": "session.old", "moved.to": "session.api", "moved.for_each": `toset(["web", "docs"])`,
		"removed.from": "session.old", "removed.destroy": "false", "removed.for_each": `toset(["web", "docs"])`,
		"runtime.docker.image": `"agents:1"`, "runtime.docker.host": `"ssh://build.example.com"`, "runtime.docker.cpus": "2",
		"runtime.docker.memory": `"4GiB"`, "runtime.docker.pids": "512", "runtime.docker.network": `"none"`,
		"runtime.docker.user": `"1000:1000"`, "runtime.docker.env": `{ LOG = "debug" }`,
		"runtime.docker.mounts": `[{ source = "~/.cache", target = "/cache" }]`, "runtime.docker.read_only": "true",
		"runtime.tmux.socket": `"own"`,

		"runtime.kubernetes.context":            `"prod"`,
		"runtime.kubernetes.namespace":          `"agents"`,
		"runtime.kubernetes.image":              `"registry.example/agents:1"`,
		"runtime.kubernetes.image_pull_secrets": `["pull"]`,
		"runtime.kubernetes.cpus":               "2",
		"runtime.kubernetes.memory":             `"4GiB"`,
		"runtime.kubernetes.node_selector":      `{ pool = "agents" }`,
		"runtime.kubernetes.tolerations":        `[{ key = "agents", operator = "Exists" }]`,
		"runtime.kubernetes.affinity":           `{ nodeAffinity = {} }`,
		"runtime.kubernetes.runtime_class":      `"gvisor"`,
		"runtime.kubernetes.service_account":    `"agents"`,
		"runtime.kubernetes.labels":             `{ team = "shop" }`,
		"runtime.kubernetes.annotations":        `{ team = "shop" }`,
		"runtime.kubernetes.env":                `{ LOG = "debug" }`,
		"runtime.kubernetes.user":               `"1000:1000"`,
		"runtime.kubernetes.read_only":          "true",
		"runtime.kubernetes.network":            `"restricted"`,
		"runtime.kubernetes.volumes":            `[{ secret = "npm", target = "/etc/npm" }]`,
		"runtime.kubernetes.schedule_timeout":   `"5m"`,
		"runtime.kubernetes.storage.class":      `"fast"`,
		"runtime.kubernetes.storage.size":       `"20GiB"`,
		"runtime.kubernetes.resources.requests": `{ cpu = "500m" }`,
		"runtime.kubernetes.resources.limits":   `{ memory = "8Gi" }`,

		"agentform.backend.http.address":        `"https://states.example.com/shop"`,
		"agentform.backend.http.lock_address":   `"https://states.example.com/shop/lock"`,
		"agentform.backend.http.unlock_address": `"https://states.example.com/shop/lock"`,
		"agentform.backend.http.headers":        `{ X-Team = "shop" }`,
		"agentform.backend.http.username":       `"shop"`,
		"agentform.telemetry.endpoint":          `"http://127.0.0.1:4318"`,
		"agentform.encryption.recipients":       `["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]`,
		"agentform.encryption.identity_file":    `"~/.config/agentform/key.txt"`,
		"agentform.backend.pg.conn_str":         `"postgres://db.example.com/states"`,
		"agentform.backend.s3.bucket":           `"team-state"`,
		"agentform.backend.s3.key":              `"shop/agentform.json"`,
		"agentform.backend.s3.region":           `"eu-central-1"`,
		"agentform.backend.s3.endpoint":         `"https://store.example.com"`,
	}
}

func byType() map[language.Kind]string {
	return map[language.Kind]string{"true or false": "true", "whole number": "1", "number": "1", "duration": `"15m"`}
}
