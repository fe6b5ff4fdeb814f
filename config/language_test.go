package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/language"
	"github.com/agentform/agentform/session"
	"github.com/google/go-cmp/cmp"
)

// seat is an attribute and where it stands.
type seat struct {
	language.Attribute
	typ   string   // of the top-level block
	first string   // its first label, where that matters
	way   []string // the blocks from there on
}

func (s seat) String() string {
	return strings.Join(append([]string{s.typ + s.first}, append(slices.Clone(s.way), s.Name)...), ".")
}

// seats is every attribute of the language.
func seats() []seat {
	var list []seat
	var in func(s language.Block, at seat)
	in = func(s language.Block, at seat) {
		for _, a := range s.Attributes {
			at.Attribute = a
			list = append(list, at)
		}
		for _, b := range s.Blocks {
			inner := at
			inner.way = append(slices.Clone(at.way), b.Type)
			in(b, inner)
		}
		for _, k := range s.Kinds {
			inner := at
			inner.first = k.FirstLabel
			in(k, inner)
		}
	}
	for _, b := range language.Sorted(language.Blocks()) {
		in(b, seat{typ: b.Type})
	}
	return list
}

// besides is what a block needs next to the attribute that is looked at.
var besides = map[string]map[string]string{
	"session":             {"agent": `"claude"`, "branch": `"b"`},
	"import":              {"to": "session.it", "id": `"tmux:a/b"`},
	"moved":               {"from": "session.old", "to": "session.it"},
	"removed":             {"from": "session.old"},
	"variable":            {"default": `"x"`},
	"variable.validation": {"condition": "true", "error_message": `"no"`},
	"check.assert":        {"condition": "true", "error_message": `"no"`},
	"output":              {"value": "1"},
	"runtimedocker":       {"image": `"agents:1"`},
	"runtimekubernetes":   {"image": `"agents:1"`},
	"runtimetmux":         {"socket": `"own"`},

	"session.verify":       {"command": `["make"]`},
	"session.limits":       {"fallback": `["codex"]`},
	"price":                {"input": "1", "output": "1"},
	"price.long":           {"input": "1", "output": "1", "above": "1"},
	"budget":               {"time": `"1h"`, "tokens": "1"},
	"session.budget":       {"time": `"1h"`, "tokens": "1"},
	"agent.budget":         {"time": `"1h"`, "tokens": "1"},
	"agentform.encryption": {"recipients": `["age1"]`},
	"secret.kubernetes":    {"name": `"tokens"`, "key": `"github"`},
	"agentform.telemetry":  {"endpoint": `"http://127.0.0.1:4318"`},
	"notify":               {"on": `["done"]`, "command": `["true"]`},
}

// without is what cannot stand next to an attribute.
var without = map[string]string{"notify.webhook": "command", "notify.webhook_secret": "command", "notify.preset": "command", "session.count": "for_each"}

// manifest is one in which the attribute has a value; empty: it is left out.
func (s seat) manifest(value string) string {
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "%s = %s\n", name, value) }
	others := func(path string) {
		for _, name := range slices.Sorted(maps.Keys(besides[path])) {
			v := besides[path][name]
			if path+"."+name != s.String() && without[s.String()] != name {
				line(name, v)
			}
		}
	}
	if s.typ != "session" {
		b.WriteString("session \"it\" {\nagent = \"claude\"\nbranch = \"b\"\n}\n")
	}
	onServer := s.String() == "session.workspace.repo_secret" // with a repo that is a URL, in a pod
	if onServer {
		b.WriteString("runtime \"kubernetes\" \"pods\" {\nimage = \"agents:1\"\n}\n")
	}
	header, label := s.typ, "it"
	switch s.typ {
	case "runtime":
		header += ` "` + s.first + `" "it"`
	case "agent":
		label = "claude"
		fallthrough
	case "session", "variable", "secret", "notify", "output", "check", "price", "budget":
		header += ` "` + label + `"`
	}
	b.WriteString(header + " {\n")
	path := s.typ + s.first
	if len(s.way) == 0 || s.typ == "session" || s.typ == "variable" || s.typ == "price" || s.typ == "budget" || s.typ == "runtime" {
		others(path)
	}
	if onServer {
		line("runtime", "runtime.kubernetes.pods")
	}
	for _, typ := range s.way {
		if typ == "encryption" {
			b.WriteString("backend \"http\" {\n}\n") // else there is nothing to encrypt
		}
		path += "." + typ
		switch typ {
		case "backend":
			typ += ` "` + s.first + `"`
		case "budget":
			typ += ` "it"`
		}
		b.WriteString(typ + " {\n")
		others(path)
	}
	if s.String() == "session.conversation.resume" {
		line("id", `"x"`)
	}
	if onServer {
		line("repo", `"https://git.example/shop.git"`)
	}
	if s.String() == "runtimedocker.cert_path" {
		line("host", `"tcp://far:2376"`)
	}
	if value != "" {
		line(s.Name, value)
	}
	b.WriteString(strings.Repeat("}\n", len(s.way)+1))
	return b.String()
}

// fit and unfit are a value that an attribute of a kind takes, and one that it
// refuses.
var (
	fit = map[language.Kind]string{
		language.Text: `"x"`, language.Flag: "true", language.Whole: "3", language.Number: "1", language.Duration: `"90s"`, language.Size: `"4GiB"`, language.Regex: `"a|b"`,
		language.Texts: `["a"]`, language.TrueOrTexts: `["A_*"]`, language.Regexes: `["a|b"]`, language.Command: `["true", "-x"]`, language.Table: `{ A = "b" }`, language.Path: `"folder"`,
		language.Address: "session.gone", language.Addresses: "[]", language.Agent: "agent.codex", language.Agents: "[agent.codex]", language.Runtime: `"tmux"`, language.Paths: "[prompt]",
		language.Mounts: `[{ source = "~", target = "/x" }]`, language.Volumes: `[{ claim = "c", target = "/x" }]`, language.Tolerations: `[{ key = "k" }]`, language.Type: "string", language.Anything: `{ a = "b" }`,
	}
	unfit = map[language.Kind]string{
		language.Text: `["x"]`, language.Flag: `"perhaps"`, language.Whole: "1.5", language.Number: `"some"`, language.Duration: `"soon"`, language.Size: `"much"`, language.Regex: `"("`,
		language.Texts: `"a"`, language.TrueOrTexts: `"A"`, language.Regexes: `["("]`, language.Command: "[]", language.Table: `["a"]`, language.Path: `["folder"]`,
		language.Address: `"x"`, language.Addresses: `["x"]`, language.Agent: "1", language.Agents: "[1]", language.Runtime: `"moon"`, language.Paths: "[nothing]",
		language.Mounts: `[{ source = "~" }]`, language.Volumes: `[{ target = "/x" }]`, language.Tolerations: `[{ value = "v" }]`, language.Type: `"strong"`, language.Anything: "nothing",
	}
	fitting = map[string]string{
		"agentform.required_version": `">= 0.0.1"`, "agent.base": `"claude"`, "import.to": "session.it", "import.id": `"tmux:a/b"`,
		"moved.to": "session.new", "notify.webhook": `"https://example.com"`, "notify.report": `"08:00"`, "agentform.telemetry.endpoint": `"http://127.0.0.1:4318"`, "session.workspace.repo": `"."`,
		"session.lifecycle.replace_triggered_by": "[1]", "session.health.heartbeat.key": `"F12"`, "session.restart.backoff.factor": "1",
		"agent.health.heartbeat.key": `"F12"`,
		"session.for_each":           `{ it = 1 }`, "import.for_each": `{ it = 1 }`, "notify.on": `["done"]`, "session.pr.from": `["NONE"]`,
		"session.conversation.id": `"x"`, "output.value": "1", "runtimedocker.user": `"1000:1000"`, "runtimekubernetes.user": `"1000:1000"`,
		"runtimekubernetes.network_allow": "[]",
		"runtimekubernetes.affinity":      `{ nodeAffinity = {} }`, "runtimekubernetes.resources.requests": `{ cpu = "1" }`,
		"runtimekubernetes.resources.limits": `{ cpu = "1" }`,
		"session.count":                      "1", "budget.sessions": "[session.it]", "budget.zone": `"UTC"`, "session.budget.zone": `"UTC"`, "agent.budget.zone": `"UTC"`, "agentform.price_file": `"prices.json"`,
	}
)

// TestLanguageTellsTheTruth holds what the tables say of each attribute against
// what loading it does: its kind, its words, its default, whether it is needed.
func TestLanguageTellsTheTruth(t *testing.T) {
	load := func(manifest string) (*Manifest, string) {
		o := write(t, map[string]string{"agentform.hcl": manifest, "folder/x": "", "prices.json": `{"models": []}`})
		m, ds := Load(o)
		ds = slices.DeleteFunc(ds, func(d session.Diagnostic) bool { return d.Severity != "error" })
		m.Ranges = nil
		return m, strings.ReplaceAll(shown(ds), o.Dir, "/here")
	}
	for _, s := range seats() {
		t.Run(s.String(), func(t *testing.T) {
			good := fit[s.Kind]
			switch v := fitting[s.String()]; {
			case v != "":
				good = v
			case len(s.Values) > 0 && s.Kind == language.Text:
				good = fmt.Sprintf("%q", s.Values[0])
			}
			if _, text := load(s.manifest(good)); text != "" {
				t.Errorf("%s = %s is refused:\n%s\n%s", s.Name, good, text, s.manifest(good))
			}
			if _, text := load(s.manifest(unfit[s.Kind])); !strings.Contains(text, s.Name) {
				t.Errorf("%s = %s is taken:\n%s", s.Name, unfit[s.Kind], text)
			}
			if len(s.Values) > 0 {
				for _, v := range s.Values {
					if s.Kind == language.Text {
						if _, text := load(s.manifest(fmt.Sprintf("%q", v))); strings.Contains(text, "Invalid value") {
							t.Errorf("%s = %q is refused:\n%s", s.Name, v, text)
						}
					}
				}
				wrong := `"none-of-them"`
				if s.Kind != language.Text {
					wrong = `["none-of-them"]`
				}
				if _, text := load(s.manifest(wrong)); !strings.Contains(text, "Invalid value") {
					t.Errorf("%s = %s is taken:\n%s", s.Name, wrong, text)
				}
			}
			_, text := load(s.manifest(""))
			if missing := strings.Contains(text, s.Name); missing != s.Required && !oneOfSome(s) {
				t.Errorf("without %s, which is said to be required: %v\n%s", s.Name, s.Required, text)
			}
			if s.Default == "" {
				return
			}
			with, told := load(s.manifest(s.Default))
			if told != "" {
				t.Errorf("its default %s is refused:\n%s", s.Default, told)
			}
			bare, _ := load(s.manifest(""))
			if d := cmp.Diff(relative(t, bare), relative(t, with)); d != "" {
				t.Errorf("%s is not its default (-without +with):\n%s", s.Default, d)
			}
		})
	}
}

// oneOfSome: one of several attributes must be there, but none by itself.
func oneOfSome(s seat) bool {
	return s.typ == "secret" || s.typ == "notify" || slices.Contains(s.way, "heartbeat") || s.String() == "session.conversation.id" ||
		s.String() == "session.branch" || s.String() == "variable.default"
}

var folder = regexp.MustCompile(`"/[^"]*/project`)

// relative is a manifest whose paths do not depend on the test's directory.
func relative(t *testing.T, m *Manifest) string {
	t.Helper()
	var ranges = regexp.MustCompile(`"Range":\{[^}]*\{[^}]*\}[^}]*\{[^}]*\}\},?`)
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return ranges.ReplaceAllString(folder.ReplaceAllString(string(text), `"`), "")
}

// TestEveryWordIsDocumented: no attribute or block without a sentence.
func TestEveryWordIsDocumented(t *testing.T) {
	for _, s := range seats() {
		if !strings.HasSuffix(s.Doc, ".") || s.Kind == "" || s.Default != "" && s.DefaultWords != "" {
			t.Errorf("%s: %+v", s, s.Attribute)
		}
		if s.way != nil && s.way[0] == "stop" {
			continue // signals are what they are everywhere
		}
		if len(s.Meanings) != len(s.Values) {
			t.Errorf("%s: %d meanings of %d values", s, len(s.Meanings), len(s.Values))
		}
		for _, m := range s.Meanings {
			if m == "" || strings.HasSuffix(m, ".") {
				t.Errorf("%s: the meaning %q, which a list of them ends with a full stop", s, m)
			}
		}
	}
}

func TestSchema(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var top map[string]any
	if err := json.Unmarshal(text, &top); err != nil {
		t.Fatal(err)
	}
	if again, _ := Schema(); string(again) != string(text) {
		t.Error("two schemas differ")
	}
	checked := 0
	for _, kind := range []string{"right", "wrong"} {
		files, err := filepath.Glob(filepath.Join("testdata", kind, "*", "*.agentform.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			var doc any
			if json.Unmarshal(src, &doc) != nil {
				continue // not JSON at all
			}
			checked++
			why := holds(top, top, doc)
			if (why == "") != (kind == "right") {
				t.Errorf("%s: the schema says %q", f, why)
			}
		}
	}
	if checked < 4 {
		t.Errorf("%d manifests were held against the schema", checked)
	}
}

// holds says what is wrong with a value by a schema, with as much of draft 7 as
// Schema uses.
func holds(top, s map[string]any, v any) string {
	if ref, ok := s["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/definitions/")
		return holds(top, top["definitions"].(map[string]any)[name].(map[string]any), v)
	}
	if ways, ok := s["anyOf"].([]any); ok {
		why := "no way fits"
		for _, one := range ways {
			w := holds(top, one.(map[string]any), v)
			if w == "" {
				return ""
			}
			why = w
		}
		return why
	}
	if words, ok := s["enum"].([]any); ok && !slices.Contains(words, v) {
		return fmt.Sprintf("%v is none of %v", v, words)
	}
	if typ, ok := s["type"]; ok && !slices.Contains(list(typ), typeOf(v)) && (typ != "integer" || typeOf(v) != "number") {
		return fmt.Sprintf("%v is no %v", v, typ)
	}
	if p, ok := s["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(v.(string)) {
		return fmt.Sprintf("%v does not match %s", v, p)
	}
	switch v := v.(type) {
	case []any:
		items, _ := s["items"].(map[string]any)
		for _, e := range v {
			if why := holds(top, items, e); why != "" {
				return why
			}
		}
	case map[string]any:
		for _, name := range list(s["required"]) {
			if _, there := v[name]; !there {
				return name + " is missing"
			}
		}
		properties, _ := s["properties"].(map[string]any)
		rest, restricted := s["additionalProperties"]
		for name, e := range v {
			of, known := properties[name].(map[string]any)
			switch {
			case name == "//" && s["patternProperties"] != nil:
				continue
			case !known && rest == false:
				return name + " is unknown"
			case !known && !restricted:
				continue
			case !known:
				of = rest.(map[string]any)
			}
			if why := holds(top, of, e); why != "" {
				return name + ": " + why
			}
		}
	}
	return ""
}

func list(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var l []string
		for _, e := range v {
			l = append(l, e.(string))
		}
		return l
	}
	return nil
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}
