package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/language"
	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// built is an evaluated session, with what checks across sessions need.
type built struct {
	spec  session.Spec
	block *expr.Block
	in    *instance
	edges []edge
	ok    bool // without errors
}

// blockInputs are the results of earlier phases that sessions need.
type blockInputs struct {
	manifest  *Manifest
	agents    map[string]Agent
	broken    map[string]bool                // of the agents
	runtimes  map[string]session.RuntimeSpec // by key
	instances map[string]*instances          // by session block
	depends   *dependsOn
}

func readSessions(l *loader, m *Manifest, given blockInputs) []*built {
	l.ctx.Variables["session"] = sessionObject(given.instances, reference, true, func(i *instance) cty.Value { return cty.CapsuleVal(reference, i) })
	var all []*built // in the order of the files, for messages about the first of several
	for _, b := range l.blocks["session"] {
		each, count := b.Attr("for_each") != nil, b.Attr("count") != nil
		inBlock := scope{variables: true, locals: true, agents: true, each: each, count: count, self: true}
		l.checkAll(b, inBlock, "for_each", "count", "enabled", "depends_on", "ignore_changes")
		header := inBlock
		header.self = false
		if a := b.Attr("enabled"); a != nil {
			l.check(a, header)
		}
		of := given
		of.depends = splitDepends(l, b, inBlock)
		in := given.instances[b.Labels[0]]
		if in.failed {
			readSession(l, of, b, standIn(b))
		}
		for i := range in.list {
			if s := readSession(l, of, b, &in.list[i]); s != nil {
				all = append(all, s)
			}
		}
	}
	settleDepends(l, all)
	checkCollisions(l, all)
	slices.SortFunc(all, func(a, b *built) int { return a.spec.Address.Compare(b.spec.Address) })

	m.Ranges = make(map[session.Address]session.Range, len(all))
	m.Bases = map[session.Address]session.Range{}
	m.Sessions = make([]session.Spec, 0, len(all))
	for _, s := range all {
		m.Sessions = append(m.Sessions, s.spec)
		m.Ranges[s.spec.Address] = rangeOf(s.block.Def)
		if w := s.block.Block("workspace"); w.Attr("base") != nil {
			m.Bases[s.spec.Address] = rangeOf(w.At("base"))
		}
	}
	return all
}

// isRole is no regular expression, which would take 2 ms to compile.
func isRole(s string) bool {
	n := 0
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '_' && (n == 0 || r != '.' && r != '-') {
			return false
		}
		n++
	}
	return n > 0 && n <= 64
}

// readSession returns nil if the instance is not enabled.
func readSession(l *loader, of blockInputs, b *expr.Block, in *instance) *built {
	spoiled := false
	d := l.reader(instanceContext(l, b, *in))
	d.Spoiled, d.Address = &spoiled, string(in.address)
	enabled := true
	d.Flag(b, "enabled", &enabled)
	if !enabled {
		in.off = true
		return nil
	}
	made := &built{block: b, in: in, spec: session.Spec{Address: in.address, Role: defaults().Role, Desired: defaults().Desired, Pause: defaults().Pause}}
	s := &made.spec
	identity(d, b, in, s)
	known := agentOf(d, b, of, s)
	runtimeOf(d, b, of.runtimes, s)
	s.Workspace = session.Workspace{Mode: usualMode(s.Runtime), OnDestroy: defaults().Workspace.OnDestroy}
	decode(d, b, language.SessionBlock(), s)
	if s.Profile != "" && s.Agent.Name != "" && s.Agent.Base != "codex" {
		l.Warn(b.At("profile"), "Profile without effect", "Only codex has profiles, so the profile has no effect with %s.", s.Agent.Name)
	}
	var prompt string
	if d.Text(b, "prompt", &prompt) {
		// The prompt is the same if git checks out other line endings (autocrlf).
		s.Prompt = session.PromptOf(strings.ReplaceAll(prompt, "\r\n", "\n"))
		if prompt != "" && s.Agent.PromptVia == "none" {
			l.Warn(b.At("prompt"), "Prompt that is not delivered", "The agent %q has prompt_via = \"none\", so the prompt is not delivered.", s.Agent.Name)
		}
	}
	readSecretNames(d, b, "secrets", s.Env, &s.Secrets)
	if s.Finish != session.FinishNever && s.Agent.OneShot {
		l.Warn(b.At("finish"), "Finish without effect", "The agent %q is one-shot: it is done when it exits with 0.", s.Agent.Name)
		s.Finish = session.FinishNever
	}
	secretsOfCluster(d, of.manifest, b, s)
	inherited(d, of.manifest, b, s)
	s.Telemetry = of.manifest.Telemetry.ofAgents()

	checkBackoff(d, b, s.Restart)
	readHeartbeat(d, b, &s.Health)
	readIgnoreChanges(d, b.Block("lifecycle"), s)
	readReplaceTriggeredBy(d, b.Block("lifecycle"), &s.Lifecycle)
	checkConversation(d, b.Block("conversation"), *s)
	readFallback(d, b.Block("limits"), of, s)
	workspace(d, of.manifest, b, s)
	if s.Finish == session.FinishLanded && s.Workspace.Mode == session.Plain {
		l.Warn(b.At("finish"), "Finish without effect", "%s works in a directory without git, so it has no branch to land.", s.Address)
	}
	checkVerify(d, b, *s)
	checkPR(d, b, *s)
	if b.Block("refresh") != nil && s.Workspace.Mode == session.Plain {
		l.Warn(b.Block("refresh").Def, "Refresh without effect", "%s works in a directory without git, so it has no base.", s.Address)
	}
	made.edges = dependencies(d, of)
	made.ok = known && !spoiled && !b.Broken && (s.Workspace.Repo != "" || s.Workspace.Mode == session.Plain)
	return made
}

// identity evaluates what other attributes refer to as self.
func identity(d reader, b *expr.Block, in *instance, s *session.Spec) {
	key := cty.NullVal(cty.String)
	if k, ok := in.address.Key(); ok {
		key = cty.StringVal(k)
	} else if !in.key.IsKnown() {
		key = cty.UnknownVal(cty.String)
	}
	self := map[string]cty.Value{"address": cty.StringVal(string(in.address)), "name": cty.StringVal(b.Labels[0]), "key": key}
	d.Ctx.Variables["self"] = cty.ObjectVal(self)
	if d.Word(b, "role", &s.Role) && !isRole(s.Role) {
		d.Fail(b.Attr("role"), "Invalid role", "%q is not a valid role: a role starts with a letter or digit, followed by letters, digits, dots, dashes and underscores, at most 64 in all.", s.Role)
	}
	self["role"] = cty.StringVal(s.Role)
	self["branch"] = cty.NullVal(cty.String)
	if d.Word(b, "branch", &s.Branch) {
		self["branch"] = cty.StringVal(s.Branch)
		if err := session.CheckBranch(s.Branch); err != nil {
			d.Fail(b.Attr("branch"), "Invalid branch name", "git refuses %q: %s.", s.Branch, strings.TrimPrefix(err.Error(), fmt.Sprintf("invalid branch name %q: ", s.Branch)))
		}
	} else if !d.Missing(b, "branch") {
		self["branch"] = cty.UnknownVal(cty.String) // invalid, which was reported
	}
	d.Ctx.Variables["self"] = cty.ObjectVal(self)
}

func agentOf(d reader, b *expr.Block, of blockInputs, s *session.Spec) bool {
	a := b.Attr("agent")
	if a == nil || d.Missing(b, "agent") {
		if !b.Broken {
			d.FailAt(b.Def, "Missing agent", "A session needs an agent: agent = %s.", examples(d.l.known.agents))
		}
		return false
	}
	name, ok := agentName(d, a)
	if !ok {
		return false
	}
	found, ok := agentNamed(d, a, of, name)
	if !ok {
		return false
	}
	s.Agent, s.Restart, s.Health, s.Stop = found.Spec, found.Restart, found.Health, found.Stop
	return !of.broken[name]
}

// agentName returns the name of an agent that an attribute refers to, or reports that it does not.
func agentName(d reader, a *expr.Attr) (string, bool) {
	if t, diags := hcl.AbsTraversalForExpr(a.Expr); !diags.HasErrors() && t.RootName() == "agent" && len(t) == 2 {
		step, is := t[1].(hcl.TraverseAttr)
		return step.Name, is && !a.Bad
	}
	v, ok := d.Evaluate(a)
	if !ok || !d.Plain(a, v) {
		return "", false
	}
	if v.Type().IsObjectType() && v.Type().HasAttribute("name") {
		v = v.GetAttr("name")
	}
	if v.Type() != cty.String || v.IsNull() {
		d.Fail(a, "Wrong type", `"%s" must be the name of an agent, or a reference to one: %s.`, a.Name, examples(d.l.known.agents))
		return "", false
	}
	return v.AsString(), true
}

// agentNamed returns an agent by its name, or reports that there is none.
func agentNamed(d reader, a *expr.Attr, of blockInputs, name string) (Agent, bool) {
	found, ok := of.agents[name]
	if !ok {
		hint := expr.DidYouMean(name, d.l.known.agents)
		if hint == "" {
			hint = fmt.Sprintf(" There are %s; declare others in agent blocks.", expr.Quoted(d.l.known.agents, "and"))
		}
		d.Fail(a, "Unknown agent", "There is no agent %q.%s", expr.Cut(name), hint)
	}
	return found, ok
}

func examples(agents []string) string {
	if len(agents) == 0 {
		return "agent.NAME, with a block agent \"NAME\" that declares it"
	}
	return fmt.Sprintf("%q, or agent.%s", agents[0], agents[0])
}

// addressable reports whether a name can be part of an address.
func addressable(name string) bool {
	a, err := session.ParseAddress(string(session.Single(name)))
	return err == nil && a == session.Single(name)
}
