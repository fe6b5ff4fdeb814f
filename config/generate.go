package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
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

func (b *blockBody) text(path, s, usual string) {
	if s != usual {
		b.add(path, text(s))
	}
}

func (b *blockBody) duration(path string, d, usual session.Duration) {
	if d != usual {
		b.add(path, text(d.Short()))
	}
}

func (b *blockBody) number(path string, n, usual float64) {
	if n != usual {
		b.add(path, hclText(cty.NumberFloatVal(n)))
	}
}

func (b *blockBody) size(path string, n, usual int64) {
	switch mib := int64(1 << 20); {
	case n == usual:
	case n%mib == 0:
		b.add(path, text(fmt.Sprintf("%dMiB", n/mib)))
	default:
		b.add(path, text(fmt.Sprintf("%dB", n)))
	}
}

func (b *blockBody) flag(path string, v, usual bool) {
	if v != usual {
		b.add(path, fmt.Sprint(v))
	}
}

func (b *blockBody) list(path string, all, usual []string) {
	if len(all)+len(usual) > 0 && !slices.Equal(all, usual) {
		b.add(path, texts(all))
	}
}

func (b *blockBody) table(path string, all, usual map[string]string) {
	if maps.Equal(all, usual) {
		return
	}
	values := map[string]cty.Value{}
	for name, v := range all {
		if u, same := usual[name]; !same || u != v {
			values[name] = cty.StringVal(v)
		}
	}
	b.add(path, hclText(cty.ObjectVal(values)))
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

// settings returns what a session block says of a spec.
func (g *generator) settings(s session.Spec) (blockBody, bool) {
	var b blockBody
	b.text("role", s.Role, "default")
	b.number("priority", float64(s.Priority), 0)
	usual, ok := g.agent(s)
	if !ok {
		return nil, false
	}
	b.add("agent", text(s.Agent.Name))
	b.text("profile", s.Profile, "")
	b.text("branch", s.Branch, "")
	noPrompt := s.Prompt.Digest != "" && s.Prompt.Text == ""
	if s.Prompt.Text != "" {
		b.add("prompt", text(s.Prompt.Text))
	}
	b.text("on_prompt_change", string(s.OnPromptChange), string(session.PromptRestarts))
	b.list("args", s.Args, nil)
	if !g.runtime(s, &b) {
		return nil, false
	}
	b.table("env", s.Env, nil)
	named := slices.Concat(s.Secrets, slices.Collect(maps.Keys(s.SecretRefs)))
	named = slices.DeleteFunc(named, func(name string) bool { return s.SecretRefs != nil && name == s.Workspace.RepoSecret })
	b.list("secrets", slices.Sorted(slices.Values(named)), nil)
	if len(s.SecretRefs) > 0 {
		g.note(s.Address, "secrets that are in its cluster need secret blocks: the next plan shows what is missing")
	}
	if !s.Runtime.Traits().OwnHome {
		b.list(inheritEnv, lessOf(s.InheritEnv, g.m.InheritEnv), nil)
	}
	if s.Telemetry != g.m.Telemetry.ofAgents() {
		g.note(s.Address, "the telemetry block is declared differently than it was started: the next plan shows what that changes")
	}
	b.text("desired", string(s.Desired), string(session.Running))
	b.duration("timeout", s.Timeout, 0)
	b.text("finish", string(s.Finish), string(session.FinishNever))
	b.table("labels", s.Labels, nil)
	g.dependsOn(s, &b)

	g.workspace(s, &b)
	if s.Conversation != (session.Conversation{}) {
		b.add("conversation.resume", fmt.Sprint(s.Conversation.Resume))
		b.text("conversation.id", s.Conversation.ID, "")
	}
	policies(&b, s, usual)
	b.flag("lifecycle.prevent_destroy", s.Lifecycle.PreventDestroy, false)
	ignore := s.Lifecycle.IgnoreChanges
	if noPrompt {
		g.note(s.Address, "the text of its prompt is no longer stored: changes of the prompt are ignored")
		ignore = append(slices.Clone(ignore), "prompt")
	}
	if len(ignore) > 0 {
		b.add("lifecycle.ignore_changes", "["+strings.Join(ignore, ", ")+"]")
	}
	if s.Lifecycle.ReplaceTrigger != "" {
		g.note(s.Address, "the values of replace_triggered_by are not in the state: set it again, or the next plan replaces the session")
	}
	return b, true
}

func policies(b *blockBody, s session.Spec, usual Agent) {
	r, ur := s.Restart, usual.Restart
	b.text("restart.policy", r.Policy, ur.Policy)
	b.number("restart.attempts", float64(r.Attempts), float64(ur.Attempts))
	b.duration("restart.window", r.Window, ur.Window)
	b.number("restart.escalate_after", float64(r.EscalateAfter), float64(ur.EscalateAfter))
	b.flag("restart.resume", r.Resume, ur.Resume)
	b.duration("restart.backoff.initial", r.Backoff.Initial, ur.Backoff.Initial)
	b.number("restart.backoff.factor", r.Backoff.Factor, ur.Backoff.Factor)
	b.duration("restart.backoff.max", r.Backoff.Max, ur.Backoff.Max)
	b.number("restart.backoff.jitter", r.Backoff.Jitter, ur.Backoff.Jitter)
	b.duration("restart.backoff.reset_after", r.Backoff.ResetAfter, ur.Backoff.ResetAfter)

	h, uh := s.Health, usual.Health
	b.duration("health.interval", h.Interval, uh.Interval)
	b.duration("health.timeout", h.Timeout, uh.Timeout)
	b.duration("health.start_period", h.StartPeriod, uh.StartPeriod)
	b.number("health.failures", float64(h.Failures), float64(uh.Failures))
	b.duration("health.hung_after", h.HungAfter, uh.HungAfter)
	b.text("health.on_unhealthy", h.OnUnhealthy, uh.OnUnhealthy)
	if beat, ub := h.Heartbeat, uh.Heartbeat; beat != nil && (ub == nil || beat.Key != ub.Key || !slices.Equal(beat.Command, ub.Command)) {
		b.list("health.heartbeat.command", beat.Command, nil)
		b.text("health.heartbeat.key", beat.Key, "")
	}

	b.text("pause.mode", s.Pause.Mode, session.Detach)
	b.text("limits.resume", string(cmp.Or(s.Limits.Resume, session.ResumeNever)), string(session.ResumeNever))
	b.text("refresh.method", cmp.Or(s.Refresh.Method, "merge"), "merge")
	b.text("refresh.on_conflict", string(cmp.Or(s.Refresh.OnConflict, session.ConflictHolds)), string(session.ConflictHolds))
	if v := s.Verify; v.Declared() {
		b.list("verify.command", v.Command, nil)
		b.duration("verify.timeout", v.Timeout, session.Duration(20*time.Minute))
		b.text("verify.on_failure", string(v.OnFailure), string(session.FailureSends))
		b.number("verify.rounds", float64(v.Rounds), 3)
		b.flag("verify.commit", v.Commit, false)
		b.flag("verify.clean", v.Clean, false)
		b.list("verify.protect", v.Protect, nil)
	}
	if p := s.PR; p.Declared() {
		if p.Checks == session.PRSends && p.Reviews == session.PRSends && p.Rounds == 3 && slices.Equal(p.From, defaults().PR.From) {
			b.text("pr.checks", string(p.Checks), "") // an empty block would be left out
		}
		b.text("pr.checks", string(p.Checks), string(session.PRSends))
		b.text("pr.reviews", string(p.Reviews), string(session.PRSends))
		b.number("pr.rounds", float64(p.Rounds), 3)
		b.list("pr.from", p.From, defaults().PR.From)
	}
	b.text("stop.signal", s.Stop.Signal, usual.Stop.Signal)
	b.duration("stop.grace", s.Stop.Grace, usual.Stop.Grace)
	b.duration("stop.after_turn", s.Stop.AfterTurn, usual.Stop.AfterTurn)
}

func (g *generator) workspace(s session.Spec, b *blockBody) {
	w, usual := s.Workspace, session.Worktree
	if s.Runtime.Traits().OwnHome {
		usual = session.Clone
	}
	b.text("workspace.mode", w.Mode, usual)
	repos := &expr.Dirs{Repos: map[string]string{}}
	if session.Remote(w.Repo) {
		b.add("workspace.repo", text(w.Repo))
		b.text("workspace.repo_secret", w.RepoSecret, "")
	} else if w.Mode != session.Plain && w.Repo != repos.Repository(g.m.Dir) {
		b.add("workspace.repo", text(relativeTo(g.m.Dir, w.Repo)))
	}
	if w.Explicit {
		b.add("workspace.path", text(relativeTo(g.m.Root, w.Path)))
	}
	b.text("workspace.base", w.Base, "")
	b.list("workspace.setup", w.Setup, nil)
	b.text("workspace.on_destroy", w.OnDestroy, session.Keep)
	b.flag("workspace.trust_git", w.TrustGit, false)
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
	a, from := s.Agent, customAgent()
	if a.Base != "" {
		from = g.builtins[a.Base]
	}
	var b blockBody
	b.text("base", a.Base, "")
	b.list("command", a.Command, from.Command)
	b.text("permissions", a.Permissions, from.Permissions)
	b.flag("trust", a.Trust, from.Trust)
	b.text("prompt_via", a.PromptVia, from.PromptVia)
	b.text("ready", a.Ready, from.Ready)
	b.duration("ready_timeout", a.ReadyTimeout, from.ReadyTimeout)
	b.number("status_bar_lines", float64(a.StatusBarLines), float64(from.StatusBarLines))
	b.text("observable", a.Observable, from.Observable)
	b.duration("unobserved_for", a.UnobservedFor, from.UnobservedFor)
	b.flag("one_shot", a.OneShot, from.OneShot)
	b.table("env", a.Env, from.Env)
	b.list(inheritEnv, lessOf(a.InheritEnv, from.InheritEnv), nil)
	p, fp := a.Patterns, from.Patterns
	b.list("patterns.done", lessOf(p.Done, fp.Done), nil)
	b.list("patterns.blocked", lessOf(p.Blocked, fp.Blocked), nil)
	b.list("patterns.blocked_api", lessOf(p.BlockedAPI, fp.BlockedAPI), nil)
	b.list("patterns.failed", lessOf(p.Failed, fp.Failed), nil)
	b.list("patterns.working", lessOf(p.Working, fp.Working), nil)
	b.list("patterns.ui", lessOf(p.UI, fp.UI), nil)
	b.list("patterns.shell_prompt", lessOf(p.ShellPrompt, fp.ShellPrompt), nil)
	writeBlock(&g.declared, fmt.Sprintf("agent %q", name), b)
	return usual, true
}

// runtime adds a session's runtime to its block, and declares it if necessary.
func (g *generator) runtime(s session.Spec, b *blockBody) bool {
	r := s.Runtime
	if r.Name == "" {
		return true // tmux on this machine
	}
	b.add("runtime", fmt.Sprintf("runtime.%s.%s", r.Kind, r.Name))
	found, ok := g.m.Runtimes[r.Key()]
	if ok && !sameValue(found, r) {
		g.note(s.Address, "the runtime %q is declared differently than it was created: the next plan shows what that changes", r.Name)
	}
	if ok {
		return true
	}
	if found, ok := g.runtimes[r.Key()]; ok {
		if !sameValue(found, r) {
			g.note(s.Address, "left out: its runtime %q differs from that of another session", r.Name)
		}
		return sameValue(found, r)
	}
	g.runtimes[r.Key()] = r
	var x blockBody
	x.text("socket", r.Socket, "")
	if d := r.Docker; d != nil {
		x.text("image", d.Image, "")
		x.text("host", d.Host, "")
		x.number("cpus", d.CPUs, 0)
		x.size("memory", d.Memory, 0)
		x.number("pids", float64(d.PIDs), 0)
		x.text("network", d.Network, "")
		x.text("user", d.User, "")
		x.table("env", d.Env, nil)
		var mounts []cty.Value
		for _, v := range d.Mounts {
			mounts = append(mounts, cty.ObjectVal(map[string]cty.Value{
				"source": cty.StringVal(v.Source), "target": cty.StringVal(v.Target), "read_only": cty.BoolVal(v.ReadOnly),
			}))
		}
		if len(mounts) > 0 {
			x.add("mounts", hclText(cty.TupleVal(mounts)))
		}
		x.flag("read_only", d.ReadOnly, false)
	}
	if k := r.Kubernetes; k != nil {
		x = append(x, kubernetesSettings(*k)...)
	}
	writeBlock(&g.declared, fmt.Sprintf("runtime %q %q", r.Kind, r.Name), x)
	return true
}

// sameValue compares by what the state file would have.
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
