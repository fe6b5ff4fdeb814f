package config

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/config/expr"
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
	return Agent{Spec: spec, Restart: defaultRestart(), Health: defaultHealth(), Stop: defaultStop()}
}

const day = 24 * time.Hour

func seconds(n int) session.Duration { return session.Duration(time.Duration(n) * time.Second) }

// The defaults of sessions are part of the manifest language.
func defaultRestart() session.Restart {
	return session.Restart{
		Policy: "on-failure", Attempts: 5, Window: seconds(15 * 60), EscalateAfter: 3, Resume: true,
		Backoff: session.Backoff{Initial: seconds(5), Factor: 2, Max: seconds(5 * 60), Jitter: 0.25, ResetAfter: seconds(10 * 60)},
	}
}

func defaultHealth() session.Health {
	return session.Health{
		Interval: seconds(10), Timeout: seconds(5), StartPeriod: seconds(30), Failures: 3,
		HungAfter: seconds(15 * 60), OnUnhealthy: "restart",
	}
}

func defaultStop() session.Stop {
	return session.Stop{Signal: "SIGTERM", Grace: seconds(10)}
}

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

	d.Command(b, "command", &s.Command)
	if custom && d.Missing(b, "base") && d.Missing(b, "command") {
		d.FailAt(b.Def, "Missing command", `The agent %q has no base, so it needs a command: command = ["my-agent", "--flag"].`, name)
	}
	d.OneOf(b, "permissions", &s.Permissions)
	if custom && s.Permissions != "" {
		l.Warn(b.At("permissions"), "Permissions without effect", "Only built-in agents have flags for permissions. Put those of %q into its command, or set a base.", name)
	}
	d.Flag(b, "trust", &s.Trust)
	d.OneOf(b, "prompt_via", &s.PromptVia)
	d.Regex(b, "ready", &s.Ready)
	readDuration(d, b, "ready_timeout", 1, &s.ReadyTimeout)
	d.Whole(b, "status_bar_lines", 0, &s.StatusBarLines)
	d.OneOf(b, "observable", &s.Observable)
	readDuration(d, b, "unobserved_for", 1, &s.UnobservedFor)
	d.Flag(b, "one_shot", &s.OneShot)
	var env map[string]string
	if readEnvironment(d, b, "env", &env) {
		if s.Env == nil {
			s.Env = map[string]string{}
		}
		maps.Copy(s.Env, env)
	}
	readInherit(d, b, &s.InheritEnv)
	p := b.Block("patterns")
	for name, into := range map[string]*[]string{
		"done": &s.Patterns.Done, "blocked": &s.Patterns.Blocked, "blocked_api": &s.Patterns.BlockedAPI, "failed": &s.Patterns.Failed,
		"working": &s.Patterns.Working, "ui": &s.Patterns.UI, "shell_prompt": &s.Patterns.ShellPrompt,
	} {
		d.Regexes(p, name, into)
	}
	out := agentWith(s)
	readRestart(d, b.Block("restart"), &out.Restart)
	readHealth(d, b.Block("health"), &out.Health)
	readStop(d, b.Block("stop"), &out.Stop)
	return out, spoiled || b.Broken
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
