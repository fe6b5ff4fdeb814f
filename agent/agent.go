package agent

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/session"
)

// ArgumentLimit is the longest prompt, in bytes, that is passed as an argument:
// Linux limits one to 128 KiB. A longer one is pasted.
const ArgumentLimit = 100 << 10

// The ways a prompt reaches an agent: the values of AgentSpec.PromptVia.
const (
	ViaArgument = "argument"
	ViaPaste    = "paste"
	ViaNone     = "none"
)

// When an agent's session file may be searched for: the values of AgentSpec.Observable. Whatever
// the value, a missing file is no evidence until the agent's first turn has ended.
const (
	AtStart        = "at_start"
	AtFirstPrompt  = "at_first_prompt"
	AfterFirstTurn = "after_first_turn"
)

// kind is a kind of agent: its defaults, its command line and its screen.
type kind struct {
	spec   session.AgentSpec // the part that a manifest can change
	tested string            // what Tested returns
	// start is Agent.Start without Paste. The prompt in its input is empty unless it is an
	// argument. Its Env is required by the agent, and no default overrides it.
	start func(in session.StartInput) session.Start
	marks marks
	// paths are parts of the program's paths that do not end in the agent's name.
	paths []string
	// commands are the characters that make a prompt a command of the agent if it starts with one,
	// and shield is the prefix that makes such a prompt text. An empty shield is a blank.
	commands, shield string
	// composed is Composer for a composer with several rows and a frame; nil: marks.composer finds
	// it.
	composed func(screen string) (text string, shown bool)
	// late is what Late returns.
	late bool
	// resumedVia is how a prompt for a resumed conversation is delivered, whatever the spec says;
	// empty: as in the spec. An agent that loads a conversation may lose input, or not submit its
	// argument.
	resumedVia string
	// files, transcript and entries are Agent.Files, Transcript and Entries; nil: the agent has no
	// known session file.
	files      func(of session.Lookup) []string
	transcript func() session.TranscriptReader
	entries    func(line []byte) []session.Entry
	// usage reads usage from the session files; zero: they have none.
	usage usageReader
	// conversation returns the conversation of a hook's signal; nil: the agent is followed by its
	// open files.
	conversation func(signal []byte) string
	// signal returns the meaning of one hook report (JSON from the agent, session.Signal's Data).
	// ok is false if the report says nothing about the activity, such as an unknown event; then the
	// earlier reports still apply. start requests the hooks. nil: no hooks.
	signal func(data []byte) (session.Detection, bool)
	// dotfiles and refuses are DotfileFixes and Refusal; nil: none.
	dotfiles func(s session.Spec, of session.Lookup) []DotfileFix
	refuses  func(in session.StartInput) string
	// login is MissingLogin for the agent's own command; nil: nothing is missing.
	login func(s session.Spec, f LoginFacts) (lack, remedy string)
	// credentials determines the login in use; zero: not known.
	credentials credentials
	// relogin is how to log in again.
	relogin string
	// ignoresHooks is IgnoresHooks; nil: the agent runs them.
	ignoresHooks func(s session.Spec, f LoginFacts) (why, remedy string)
	// reads is session.EnvReader; nil: no variables.
	reads func(lookup func(name string) string) []string
	// trust are the signals other than the screen (From…), the most trusted first; nil: session
	// file, hooks, title.
	trust []string
}

// The names of the built-in agents, for session.AgentSpec.Name.
const (
	Claude   = "claude" // Claude Code
	Codex    = "codex"
	Copilot  = "copilot" // GitHub Copilot CLI
	Gemini   = "gemini"
	Opencode = "opencode"
	Qwen     = "qwen" // Qwen Code
)

// kinds creates the built-in agents by name.
var kinds = map[string]func() kind{Claude: claude, Codex: codex, Copilot: copilot, Gemini: gemini, Opencode: opencode, Qwen: qwen}

// Names returns the names of the built-in agents, sorted.
func Names() []string { return slices.Sorted(maps.Keys(kinds)) }

// Builtins returns new specs of the built-in agents, by name, with all defaults.
func Builtins() map[string]session.AgentSpec {
	specs := map[string]session.AgentSpec{}
	for name, kind := range kinds {
		s := kind().spec
		s.Name, s.Base = name, name
		s.Command = []string{name}
		s.ReadyTimeout = cmp.Or(s.ReadyTimeout, session.Duration(30*time.Second))
		s.UnobservedFor = session.Duration(24 * time.Hour)
		specs[name] = s
	}
	return specs
}

// Program returns the program's name for a path, as in a manifest's command: claude for
// /usr/bin/claude, and for the layouts of package managers.
func Program(file string) string {
	for _, name := range Names() {
		if slices.ContainsFunc(kinds[name]().paths, func(part string) bool { return strings.Contains(file, part) }) {
			return name
		}
	}
	name := path.Base(file)
	for _, end := range []string{".js", ".mjs", ".cjs"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}

// For returns the adapter of a spec: that of the built-in agent it is based on, or a custom one.
// Patterns are compiled on first use, so callers should keep the adapter. An invalid pattern, which
// config refuses, matches nothing.
func For(s session.AgentSpec) session.Agent {
	k := kindOf(s)
	if len(s.Command) == 0 {
		s.Command = []string{s.Name}
	}
	return &program{
		kind: k, spec: s,
		detector: sync.OnceValue(func() *detector { return newDetector(k, s) }),
		composer: sync.OnceValue(func() composer { return composerOf(k.marks) }),
	}
}

// Tested returns the version of an agent's program that agentform is tested with, or "" for a
// custom agent.
func Tested(s session.AgentSpec) string {
	if built, ok := kinds[s.Base]; ok {
		return built().tested
	}
	return ""
}

// kindOf returns the kind of agent of a spec.
func kindOf(s session.AgentSpec) kind {
	name := s.Base
	if name == "" && len(s.Command) == 0 {
		name = s.Name
	}
	if builtin, ok := kinds[name]; ok {
		return builtin()
	}
	return custom()
}

// program is an agent declared by a manifest.
type program struct {
	kind
	spec     session.AgentSpec
	detector func() *detector // compiled on the first call: most agents are only started
	composer func() composer
}

// Ready reports whether a screen shows an agent that accepts a prompt.
func (p *program) Ready(screen string) bool { return p.detector().screen.Ready(screen) }

// Detect returns the agent's activity from all signals.
func (p *program) Detect(e session.Evidence) session.Detection { return p.detector().Detect(e) }

// Start returns the start of a run: the command line with permissions, trust, arguments and a
// prompt that is not pasted, and the environment.
func (p *program) Start(in session.StartInput) session.Start {
	in.Spec.Agent = p.spec
	in.Prompt = p.Typed(in.Prompt)
	paste, via := "", p.spec.PromptVia
	if in.Conversation != "" && p.resumedVia != "" && via != ViaNone {
		via = p.resumedVia
	}
	switch {
	case in.Prompt == "":
	case via == ViaNone:
		in.Prompt = ""
	case via == ViaPaste || len(in.Prompt) > ArgumentLimit || strings.ContainsRune(in.Prompt, 0):
		paste, in.Prompt = in.Prompt, ""
	}
	start := p.start(in)
	start.Paste = paste
	return start
}

// Reads returns the variables that the agent reads from its caller's environment.
func (p *program) Reads(lookup func(name string) string) []string {
	if p.reads == nil {
		return nil
	}
	return p.reads(lookup)
}

// Files returns the patterns of the agent's session files.
func (p *program) Files(of session.Lookup) []string {
	if p.files == nil {
		return nil
	}
	return p.files(of)
}

// Reader returns a reader of the agent's session files.
func (p *program) Reader() session.TranscriptReader {
	switch {
	case p.transcript == nil:
		return session.Fileless{}.Reader()
	case p.usage.totals:
		return p.transcript()
	}
	return &counter{TranscriptReader: p.transcript(), usage: p.usage, counted: map[string]bool{}}
}

// Entries returns the readable entries in a line of the session file.
func (p *program) Entries(line []byte) []session.Entry {
	if p.entries == nil {
		return nil
	}
	return p.entries(line)
}

// HookConversation implements session.ConversationReporter.
func (p *program) HookConversation(signal []byte) string {
	if p.conversation == nil {
		return ""
	}
	return p.conversation(signal)
}

// Composer returns the text in the composer of a screen, the last line that looks like one. shown
// is false without a composer, or if its form is not known.
func (p *program) Composer(screen string) (text string, shown bool) {
	if p.composed != nil {
		return p.composed(screen)
	}
	c := p.composer()
	if c.line == nil {
		return "", false
	}
	all := lines(screen)
	for _, line := range slices.Backward(all[max(0, len(all)-markLines):]) {
		if c.line.MatchString(line) {
			return c.text(line), true
		}
	}
	return "", false
}

// Late reports whether the agent may submit a text seconds after Enter without showing it
// meanwhile.
func (p *program) Late() bool { return p.late }

// Typed returns a text as it must be typed: with a blank, or what the agent needs instead, before a
// text that would be a command of the agent.
func (p *program) Typed(text string) string {
	if text != "" && strings.IndexByte(p.commands, text[0]) >= 0 {
		return cmp.Or(p.shield, " ") + text
	}
	return text
}
