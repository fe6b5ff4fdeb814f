package config

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/language"
	"github.com/agentform/agentform/session"
)

// Agent is an agent with the defaults of its sessions.
type Agent struct {
	Spec    session.AgentSpec
	Restart session.Restart
	Health  session.Health
	Stop    session.Stop
}

func agentWith(spec session.AgentSpec) Agent {
	return Agent{Spec: spec, Restart: defaults().Restart, Health: defaults().Health, Stop: defaults().Stop}
}

const day = 24 * time.Hour

func seconds(n int) session.Duration { return session.Duration(time.Duration(n) * time.Second) }

// readAgents returns all agents by name, and which have problems.
func readAgents(l *loader) (all map[string]Agent, broken map[string]bool) {
	all, broken = builtinAgents(l.opts), map[string]bool{}
	for _, b := range l.blocks["agent"] {
		name := b.Labels[0]
		all[name], broken[name] = readAgent(l, b)
	}
	return all, broken
}

func builtinAgents(o Options) map[string]Agent {
	all := map[string]Agent{}
	for name, spec := range o.Builtins {
		all[name] = agentWith(spec)
	}
	return all
}

func readAgent(l *loader, b *expr.Block) (_ Agent, broken bool) {
	l.checkAll(b, inProject)
	spoiled := false
	d := l.reader(l.ctx)
	d.Spoiled = &spoiled
	name := b.Labels[0]
	builtins := slices.Sorted(maps.Keys(l.opts.Builtins))
	_, builtin := l.opts.Builtins[name]
	var base string
	switch set := d.Word(b, "base", &base); {
	case set && builtin && base != name:
		d.Fail(b.Attr("base"), "Invalid base", "%q is a built-in agent and cannot inherit from %q; give the block another name.", name, base)
	case set && !slices.Contains(builtins, base):
		d.Fail(b.Attr("base"), "Unknown base", "%q is not a built-in agent; these are %s.%s", base, expr.Quoted(builtins, "and"), expr.DidYouMean(base, builtins))
	case !set && builtin:
		base = name
	}
	custom := base == ""
	s := cloneAgent(l.opts.Builtins[base])
	if custom {
		s = customAgent()
	}
	s.Name = name

	out := session.Spec{Agent: s, Restart: defaults().Restart, Health: defaults().Health, Stop: defaults().Stop}
	decode(d, b, language.AgentBlock(), &out)
	if custom && d.Missing(b, "base") && d.Missing(b, "command") {
		d.FailAt(b.Def, "Missing command", `The agent %q has no base, so it needs a command: command = ["my-agent", "--flag"].`, name)
	}
	if custom && out.Agent.Permissions != "" {
		l.Warn(b.At("permissions"), "Permissions without effect", "Only built-in agents have flags for permissions. Put those of %q into its command, or set a base.", name)
	}
	readInherit(d, b, &out.Agent.InheritEnv)
	checkBackoff(d, b, out.Restart)
	readHeartbeat(d, b, &out.Health)
	return Agent{Spec: out.Agent, Restart: out.Restart, Health: out.Health, Stop: out.Stop}, spoiled || b.Broken
}

func cloneAgent(s session.AgentSpec) session.AgentSpec {
	s.Command, s.Env, s.InheritEnv = slices.Clone(s.Command), maps.Clone(s.Env), slices.Clone(s.InheritEnv)
	return s
}

// readEnvironment refuses variables that agentform sets or hides itself.
func readEnvironment(d reader, b *expr.Block, name string, into *map[string]string) bool {
	var env map[string]string
	if !d.Table(b, name, &env) {
		return false
	}
	right := true
	for _, key := range slices.Sorted(maps.Keys(env)) {
		switch {
		case key == "" || strings.Contains(key, "="):
			d.Fail(b.Attr(name), "Invalid environment variable", "%q is not a name of an environment variable.", key)
			right = false
		case key == "TMUX" || key == "TMUX_PANE" || strings.HasPrefix(key, "AGENTFORM_"):
			d.Fail(b.Attr(name), "Reserved environment variable", "%s cannot be set, because agentform removes it from the environment of agents.", key)
			right = false
		}
	}
	*into = env
	return right
}

func readSecretNames(d reader, b *expr.Block, name string, env map[string]string, into *[]string) {
	var list []string
	if !d.Words(b, name, &list) {
		return
	}
	slices.Sort(list)
	for _, s := range list {
		switch _, both := env[s]; {
		case !variableName(s):
			d.Fail(b.Attr(name), "Invalid secret", "%q is not a name of an environment variable. Secrets are given by name, never by value.", expr.Cut(s))
		case both:
			d.Fail(b.Attr(name), "Secret and plain", "%s is in both secrets and env; use one of them.", s)
		}
	}
	*into = slices.Compact(list)
}

// variableName reports whether every shell accepts a name of a variable.
func variableName(s string) bool {
	return session.IsVariablePattern(s) && !strings.Contains(s, "*")
}
