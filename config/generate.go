package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/language"
	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Draft is a session for which Generate writes a block. Its prompt has its text.
type Draft struct {
	Spec   session.Spec
	Import string // the id of what an import block gives it; empty: no import block
}

// Generated are blocks of a manifest. Notes say what could not be written, for people.
type Generated struct {
	Text     []byte
	Sessions int // that are declared
	Notes    []string
}

// Generate returns the session blocks of drafts, in canonical format and without what is
// the default, and those agent and runtime blocks that they need and the manifest lacks.
// Added to the manifest, the blocks load as the same specs.
func (m *Manifest) Generate(drafts []Draft, builtins map[string]session.AgentSpec) Generated {
	g := &generator{m: m, builtins: builtins, known: map[session.Address]session.Spec{}, agents: map[string]session.AgentSpec{}, runtimes: map[string]session.RuntimeSpec{}}
	for _, s := range m.Sessions {
		g.known[s.Address] = s
	}
	drafts = slices.SortedFunc(slices.Values(drafts), func(a, b Draft) int { return a.Spec.Address.Compare(b.Spec.Address) })
	for _, d := range drafts {
		g.known[d.Spec.Address] = d.Spec
	}
	for len(drafts) > 0 {
		block := drafts[0].Spec.Address.Block()
		n := slices.IndexFunc(drafts, func(d Draft) bool { return d.Spec.Address.Block() != block })
		if n < 0 {
			n = len(drafts)
		}
		g.session(drafts[:n])
		drafts = drafts[n:]
	}
	if g.declared.Len() > 0 && g.sessions.Len() > 0 {
		g.declared.WriteByte('\n')
	}
	return Generated{Text: hclwrite.Format(slices.Concat(g.declared.Bytes(), g.sessions.Bytes())), Sessions: g.written, Notes: g.notes}
}

// generator collects blocks, agents and runtimes apart from the sessions that need them.
type generator struct {
	m                  *Manifest
	builtins           map[string]session.AgentSpec
	known              map[session.Address]session.Spec // of the manifest and of drafts
	agents             map[string]session.AgentSpec
	runtimes           map[string]session.RuntimeSpec
	declared, sessions bytes.Buffer
	written            int
	notes              []string
}

func (g *generator) note(a session.Address, format string, args ...any) {
	g.notes = append(g.notes, string(a)+": "+fmt.Sprintf(format, args...))
}

// session writes the instances of one block.
func (g *generator) session(of []Draft) {
	repeat, index, ok := repetition(of)
	if !ok {
		g.note(session.Single(of[0].Spec.Address.Block()), "left out: its instances do not start at 0 or have gaps; agentform state mv gives them other addresses")
		return
	}
	if slices.ContainsFunc(of, func(d Draft) bool { return (d.Spec.Health.Heartbeat == nil) != (of[0].Spec.Health.Heartbeat == nil) }) {
		g.note(session.Single(of[0].Spec.Address.Block()), "left out: only some of its instances have a heartbeat, and one block declares it for all")
		return
	}
	if slices.ContainsFunc(of, func(d Draft) bool { return d.Spec.Verify.Declared() != of[0].Spec.Verify.Declared() }) {
		g.note(session.Single(of[0].Spec.Address.Block()), "left out: only some of its instances are verified, and one block declares it for all")
		return
	}
	if slices.ContainsFunc(of, func(d Draft) bool { return d.Spec.PR.Declared() != of[0].Spec.PR.Declared() }) {
		g.note(session.Single(of[0].Spec.Address.Block()), "left out: only some of its instances have a pr block, and one block declares it for all")
		return
	}
	var instances []blockBody
	var keys []string
	for _, d := range of {
		b, ok := g.settings(d.Spec)
		if !ok {
			return
		}
		key, _ := d.Spec.Address.Key()
		instances, keys = append(instances, b), append(keys, key)
	}
	writeBlock(&g.sessions, fmt.Sprintf("session %q", of[0].Spec.Address.Block()), append(repeat, merge(instances, keys, index)...))
	g.written += len(of)
	for _, d := range of {
		if d.Import != "" {
			writeBlock(&g.sessions, "import", blockBody{{path: "to", expr: string(d.Spec.Address)}, {path: "id", expr: hclText(cty.StringVal(d.Import))}})
		}
	}
}

// repetition returns for_each or count of a block's instances, and what chooses the value
// of one.
func repetition(of []Draft) (repeat blockBody, index string, ok bool) {
	var keys []cty.Value
	counted := true
	for i, d := range of {
		key, keyed := d.Spec.Address.Key()
		if !keyed {
			return nil, "", len(of) == 1
		}
		keys = append(keys, cty.StringVal(key))
		counted = counted && d.Spec.Address == session.Indexed(d.Spec.Address.Block(), i)
	}
	if counted {
		return blockBody{{path: "count", expr: fmt.Sprint(len(of))}}, "count.index", true
	}
	if key, _ := of[0].Spec.Address.Key(); of[0].Spec.Address != session.Keyed(of[0].Spec.Address.Block(), key) {
		return nil, "", false
	}
	return blockBody{{path: "for_each", expr: "toset(" + hclText(cty.TupleVal(keys)) + ")"}}, "each.key", true
}

// blockBody is a block: its attributes and those of the blocks in it, in order.
type blockBody []setting

// setting is one attribute. The path names the blocks around it: restart.backoff.max.
type setting struct{ path, expr string }

func (b *blockBody) add(path, expr string) { *b = append(*b, setting{path, expr}) }

// text adds an attribute if it has a text.
func (b *blockBody) text(path, s string) {
	if s != "" {
		b.add(path, text(s))
	}
}

// list adds an attribute if it has elements.
func (b *blockBody) list(path string, all []string) {
	if len(all) > 0 {
		b.add(path, texts(all))
	}
}

// json adds an attribute whose value is written as its JSON, if it has any.
func (b *blockBody) json(path string, value any) {
	var v ctyjson.SimpleJSONValue
	text, err := json.Marshal(value)
	if err == nil && v.UnmarshalJSON(text) == nil && !v.IsNull() {
		b.add(path, hclText(v.Value))
	}
}

// mounts adds the attribute of that name if there are any.
func (b *blockBody) mounts(all []session.Mount) {
	var values []cty.Value
	for _, v := range all {
		values = append(values, cty.ObjectVal(map[string]cty.Value{
			"source": cty.StringVal(v.Source), "target": cty.StringVal(v.Target), "read_only": cty.BoolVal(v.ReadOnly),
		}))
	}
	if len(values) > 0 {
		b.add("mounts", hclText(cty.TupleVal(values)))
	}
}

// values adds the attributes of a block whose values differ from the usual ones. Apart has code
// for some, and for whole blocks, by their paths.
func (b *blockBody) values(prefix string, of *language.Block, s, usual *session.Spec, apart map[string]func()) {
	for i := range of.Attributes {
		a := &of.Attributes[i]
		if write := apart[prefix+a.Name]; write != nil {
			write()
		} else if a.Field != nil {
			b.value(prefix+a.Name, a, a.Field(s), a.Field(usual))
		}
	}
	for i := range of.Blocks {
		inner := &of.Blocks[i]
		if write := apart[prefix+inner.Type]; write != nil {
			write()
		} else {
			b.values(prefix+inner.Type+".", inner, s, usual, apart)
		}
	}
}

// value adds an attribute by pointers to its value and to the usual one. What is added to the
// usual value in a manifest is written without that.
func (b *blockBody) value(path string, a *language.Attribute, value, usual any) {
	is := written(a, value)
	if is == written(a, usual) {
		return
	}
	switch v := value.(type) {
	case *string:
		if *v == "" && len(a.Values) > 0 {
			return // its block is missing
		}
	case *[]string:
		if a.Kind == language.Regexes || a.Kind == language.TrueOrTexts {
			b.list(path, lessOf(*v, *usual.(*[]string)))
			return
		}
	case *map[string]string:
		more := maps.Clone(*v)
		maps.DeleteFunc(more, func(name, v string) bool { u, same := (*usual.(*map[string]string))[name]; return same && u == v })
		is = written(a, &more)
	}
	b.add(path, is)
}

// written returns the expression of the value that a pointer leads to.
func written(a *language.Attribute, value any) string {
	switch v := value.(type) {
	case *bool:
		return fmt.Sprint(*v)
	case *int:
		return fmt.Sprint(*v)
	case *int64:
		switch mib := int64(1 << 20); {
		case a.Kind != language.Size:
			return fmt.Sprint(*v)
		case *v%mib == 0:
			return text(fmt.Sprintf("%dMiB", *v/mib))
		}
		return text(fmt.Sprintf("%dB", *v))
	case *float64:
		return hclText(cty.NumberFloatVal(*v))
	case *session.Duration:
		return text(v.Short())
	case *session.PromptChange:
		return text(string(*v))
	case *session.Finish:
		return text(string(*v))
	case *string:
		return text(*v)
	case *[]string:
		return texts(*v)
	case *map[string]string:
		values := map[string]cty.Value{}
		for name, v := range *v {
			values[name] = cty.StringVal(v)
		}
		return hclText(cty.ObjectVal(values))
	}
	panic(fmt.Sprintf("%s is a %T, which needs code of its own", a.Name, value))
}

// merge returns the settings of several instances as one, in which index chooses
// where they differ.
func merge(instances []blockBody, keys []string, index string) blockBody {
	var paths []string
	values := make([]map[string]string, len(instances))
	for i, b := range instances {
		values[i] = map[string]string{}
		at := 0
		for _, s := range b {
			values[i][s.path] = s.expr
			if p := slices.Index(paths, s.path); p >= 0 {
				at = p + 1
			} else {
				paths = slices.Insert(paths, at, s.path)
				at++
			}
		}
	}
	var all blockBody
	for _, path := range paths {
		same := true
		for _, v := range values {
			same = same && v[path] == values[0][path]
		}
		if same {
			all.add(path, values[0][path])
			continue
		}
		var b strings.Builder
		for i, v := range values {
			value := v[path]
			switch {
			case value != "":
			case path == "conversation.resume":
				value = "false" // what a session without the block has
			case path == "depends_on":
				value = "[]"
			default:
				value = "null"
			}
			if index == "count.index" {
				fmt.Fprintf(&b, "%s,\n", value)
			} else {
				fmt.Fprintf(&b, "%s = %s\n", text(keys[i]), value)
			}
		}
		if index == "count.index" {
			all.add(path, "[\n"+b.String()+"]["+index+"]")
		} else {
			all.add(path, "{\n"+b.String()+"}["+index+"]")
		}
	}
	return all
}

// writeBlock writes a block with its nested blocks, which come after its attributes.
func writeBlock(w *bytes.Buffer, header string, b blockBody) {
	if w.Len() > 0 && !bytes.HasSuffix(w.Bytes(), []byte("{\n")) {
		w.WriteByte('\n')
	}
	fmt.Fprintf(w, "%s {\n", header)
	var nested []string
	inner := map[string]blockBody{}
	for _, s := range b {
		typ, rest, in := strings.Cut(s.path, ".")
		if !in {
			fmt.Fprintf(w, "%s = %s\n", s.path, s.expr)
			continue
		}
		if inner[typ] == nil {
			nested = append(nested, typ)
		}
		inner[typ] = append(inner[typ], setting{rest, s.expr})
	}
	for _, typ := range nested {
		writeBlock(w, typ, inner[typ])
	}
	w.WriteString("}\n")
}

// settings returns the attributes of a spec in a session block.
func (g *generator) settings(s session.Spec) (b blockBody, ok bool) {
	agent, ok := g.agent(s)
	if !ok {
		return nil, false
	}
	runtime, ok := g.runtime(s)
	if !ok {
		return nil, false
	}
	usual := *defaults()
	usual.Restart, usual.Health, usual.Stop = agent.Restart, agent.Health, agent.Stop
	usual.InheritEnv, usual.Workspace.Mode = g.m.InheritEnv, usualMode(s.Runtime)
	if !s.Verify.Declared() {
		usual.Verify = s.Verify
	}
	switch {
	case !s.PR.Declared():
		usual.PR = s.PR
	case sameValue(s.PR, usual.PR):
		usual.PR.Checks = "" // an empty block would be left out
	}
	b.values("", language.SessionBlock(), &s, &usual, map[string]func(){
		"agent":          func() { b.add("agent", text(s.Agent.Name)) },
		"prompt":         func() { b.text("prompt", s.Prompt.Text) },
		"runtime":        func() { b = append(b, runtime...) },
		"secrets":        func() { g.secrets(s, &b) },
		"depends_on":     func() { g.dependsOn(s, &b) },
		"workspace.repo": func() { g.repo(s.Workspace, &b) },
		"workspace.path": func() {
			if s.Workspace.Explicit {
				b.add("workspace.path", text(relativeTo(g.m.Root, s.Workspace.Path)))
			}
		},
		"conversation": func() {
			if s.Conversation != (session.Conversation{}) {
				b.add("conversation.resume", fmt.Sprint(s.Conversation.Resume))
				b.text("conversation.id", s.Conversation.ID)
			}
		},
		"limits.fallback": func() {
			var names []string
			for _, a := range s.Limits.Fallback {
				of := s
				if of.Agent = a; !g.declares(of) {
					return
				}
				names = append(names, a.Name)
			}
			b.list("limits.fallback", names)
		},
		"health.heartbeat": func() {
			if beat, ub := s.Health.Heartbeat, usual.Health.Heartbeat; beat != nil && !sameValue(beat, ub) {
				b.list("health.heartbeat.command", beat.Command)
				b.text("health.heartbeat.key", beat.Key)
			}
		},
		"lifecycle.ignore_changes": func() { g.ignoreChanges(s, &b) },
		"lifecycle.replace_triggered_by": func() {
			if s.Lifecycle.ReplaceTrigger != "" {
				g.note(s.Address, "the values of replace_triggered_by are not in the state: set it again, or the next plan replaces the session")
			}
		},
	})
	return b, true
}

// secrets writes the names of a session's secrets, and notes what stays unwritten of its environment.
func (g *generator) secrets(s session.Spec, b *blockBody) {
	named := slices.Concat(s.Secrets, slices.Collect(maps.Keys(s.SecretRefs)))
	named = slices.DeleteFunc(named, func(name string) bool { return s.SecretRefs != nil && name == s.Workspace.RepoSecret })
	b.list("secrets", slices.Sorted(slices.Values(named)))
	if len(s.SecretRefs) > 0 {
		g.note(s.Address, "secrets that are in its cluster need secret blocks: the next plan shows what is missing")
	}
	if s.Telemetry != g.m.Telemetry.ofAgents() {
		g.note(s.Address, "the telemetry block is declared differently than it was started: the next plan shows what that changes")
	}
}

func (g *generator) ignoreChanges(s session.Spec, b *blockBody) {
	ignore := s.Lifecycle.IgnoreChanges
	if s.Prompt.Digest != "" && s.Prompt.Text == "" {
		g.note(s.Address, "the text of its prompt is no longer stored: changes of the prompt are ignored")
		ignore = append(slices.Clone(ignore), "prompt")
	}
	if len(ignore) == 0 {
		return
	}
	words := make([]string, len(ignore))
	for i, field := range ignore {
		if words[i] = field; strings.HasPrefix(field, session.SetFields) { // it may have brackets
			words[i] = text(field)
		}
	}
	b.add("lifecycle.ignore_changes", "["+strings.Join(words, ", ")+"]")
}

func (g *generator) repo(w session.Workspace, b *blockBody) {
	repos := &expr.Dirs{Repos: map[string]string{}}
	if session.Remote(w.Repo) {
		b.add("workspace.repo", text(w.Repo))
	} else if w.Mode != session.Plain && w.Repo != repos.Repository(g.m.Dir) {
		b.add("workspace.repo", text(relativeTo(g.m.Dir, w.Repo)))
	}
}

// relativeTo returns a path as a manifest in dir names it: relative in dir and next to it.
func relativeTo(dir, path string) string {
	parent := filepath.Dir(dir)
	if !expr.Within(dir, path) && (parent == "/" || path == parent || !expr.Within(parent, path)) {
		return path
	}
	rel, _ := filepath.Rel(dir, path) // Within has checked it
	return rel
}

func (g *generator) dependsOn(s session.Spec, b *blockBody) {
	var all []string
	for _, on := range s.DependsOn {
		other, declared := g.known[on]
		switch until := s.UntilOf(on); {
		case !declared:
			g.note(s.Address, "it depends on %s, which is not declared: the dependency is left out", on)
		case s.Until[on] != "", other.Agent.OneShot, other.Finish != session.FinishNever: // which would be waited for until it is done
			all = append(all, fmt.Sprintf("{ session = %s, until = %q }", on, until))
		default:
			all = append(all, string(on))
		}
	}
	if len(all) > 0 {
		b.add("depends_on", "["+strings.Join(all, ", ")+"]")
	}
}

// agent declares a session's agent if necessary, and returns the defaults that it gives
// to its sessions.
func (g *generator) agent(s session.Spec) (Agent, bool) {
	name := s.Agent.Name
	if found, ok := g.m.Agents[name]; ok {
		if !sameValue(found.Spec, s.Agent) {
			g.note(s.Address, "the agent %q is declared differently than it was started: the next plan shows what that changes", name)
		}
		return found, true
	}
	usual := agentWith(s.Agent)
	if found, ok := g.agents[name]; ok {
		if !sameValue(found, s.Agent) {
			g.note(s.Address, "left out: its agent %q runs %s, and that of another session %s", name, expr.Quoted(s.Agent.Command, "and"), expr.Quoted(found.Command, "and"))
			return Agent{}, false
		}
		return usual, true
	}
	g.agents[name] = s.Agent
	from := s // of whose policies nothing is written
	from.Agent = customAgent()
	if s.Agent.Base != "" {
		from.Agent = g.builtins[s.Agent.Base]
		from.Agent.Base = ""
	}
	var b blockBody
	b.values("", language.AgentBlock(), &s, &from, nil)
	writeBlock(&g.declared, fmt.Sprintf("agent %q", name), b)
	return usual, true
}

// declares declares an agent of a session if necessary, and reports whether it could.
func (g *generator) declares(s session.Spec) bool {
	_, ok := g.agent(s)
	return ok
}

// runtime returns how a session names its runtime, and declares it if necessary.
func (g *generator) runtime(s session.Spec) (b blockBody, ok bool) {
	r := s.Runtime
	if r.Name == "" {
		return nil, true // tmux on this machine
	}
	b.add("runtime", fmt.Sprintf("runtime.%s.%s", r.Kind, r.Name))
	found, ok := g.m.Runtimes[r.Key()]
	if ok && !sameValue(found, r) {
		g.note(s.Address, "the runtime %q is declared differently than it was created: the next plan shows what that changes", r.Name)
	}
	if ok {
		return b, true
	}
	if found, ok := g.runtimes[r.Key()]; ok {
		if !sameValue(found, r) {
			g.note(s.Address, "left out: its runtime %q differs from that of another session", r.Name)
		}
		return b, sameValue(found, r)
	}
	g.runtimes[r.Key()] = r
	var x blockBody
	x.text("socket", r.Socket)
	x.values("", language.RuntimeBlock().Kind(r.Kind), &s, defaults(), map[string]func(){
		"mounts":      func() { x.mounts(r.Docker.Mounts) },
		"tolerations": func() { x.json("tolerations", r.Kubernetes.Tolerations) },
		"affinity":    func() { x.json("affinity", json.RawMessage(r.Kubernetes.Affinity)) },
		"pod":         func() { x.json("pod", json.RawMessage(r.Kubernetes.Pod)) },
		"volumes":     func() { x.json("volumes", r.Kubernetes.Volumes) },
	})
	writeBlock(&g.declared, fmt.Sprintf("runtime %q %q", r.Kind, r.Name), x)
	return b, true
}

// sameValue compares values as the state file stores them.
func sameValue(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func lessOf(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

// Quote returns a text as an expression of the manifest.
func Quote(text string) string { return hclText(cty.StringVal(text)) }

func hclText(v cty.Value) string { return string(hclwrite.TokensForValue(v).Bytes()) }

func texts(all []string) string {
	values := make([]cty.Value, len(all))
	for i, s := range all {
		values[i] = cty.StringVal(s)
	}
	return hclText(cty.TupleVal(values))
}

// text returns a string as an expression: several lines as a heredoc, if that can hold them.
func text(s string) string {
	const marker = "EOT"
	escaped := strings.NewReplacer("${", "$${", "%{", "%%{").Replace(s)
	switch {
	case !strings.Contains(strings.TrimRight(s, "\n"), "\n"), !utf8.ValidString(s),
		strings.Contains(s, "$${"), strings.Contains(s, "%%{"), strings.Contains(s, marker),
		strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }):
		return hclText(cty.StringVal(s))
	case strings.HasSuffix(s, "\n"):
		return "<<" + marker + "\n" + escaped + marker
	}
	return "chomp(<<" + marker + "\n" + escaped + "\n" + marker + "\n)"
}
