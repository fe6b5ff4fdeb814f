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

// When an agent's own session file may be looked for: the values of
// AgentSpec.Observable. Whatever the value, a file that is not there says
// nothing about the agent's life until its first turn has ended.
const (
	AtStart        = "at_start"
	AtFirstPrompt  = "at_first_prompt"
	AfterFirstTurn = "after_first_turn"
)

// kind is a kind of agent: its defaults, its command line and its marks.
type kind struct {
	spec   session.AgentSpec // what a manifest can change
	tested string            // what Tested returns
	// start is Agent.Start without Paste. Its prompt is empty unless it is an
	// argument. Its Env is what the agent must have, and may be overridden by no
	// default.
	start func(in session.StartInput) session.Start
	marks marks
	// paths are parts of the paths of its program that do not end in its name.
	paths []string
	// commands are the characters that, at the beginning of a prompt, would make it
	// a command of the agent's own, and that shield before them makes text. An empty
	// shield is a blank.
	commands, shield string
	// composed is Composer where the composer has rows and a frame; nil: marks.composer is it.
	composed func(screen string) (text string, shown bool)
	// late is what Late returns.
	late bool
	// resumedVia is how a prompt that comes with an earlier conversation is delivered,
	// whatever the spec says; empty: as the spec says. An agent may lose what is typed while
	// it loads one, or not submit its argument then.
	resumedVia string
	// files, transcript and entries are Agent.Files, Transcript and Entries; nil: the
	// agent has no session file that is known.
	files      func(of session.Lookup) []string
	transcript func() session.TranscriptReader
	entries    func(line []byte) []session.Entry
	// usage is what its session files say about usage; zero: nothing.
	usage usageReader
	// conversation returns the conversation that a signal of a hook is from; nil: the agent is
	// followed by its open files.
	conversation func(signal []byte) string
	// signal is what one thing that a hook told means (JSON as the agent gave it,
	// session.Signal's Data). False: nothing about what the agent does, such as an
	// event that is not known; then what was told before it still holds. The hook
	// that tells it is among those that start asks for. nil: no hooks.
	signal func(data []byte) (session.Detection, bool)
	// dotfiles and refuses are what DotfileFixes and Refusal say; nil: nothing.
	dotfiles func(s session.Spec, of session.Lookup) []DotfileFix
	refuses  func(in session.StartInput) string
	// login is what MissingLogin returns of the agent's own command; nil: nothing.
	login func(s session.Spec, f LoginFacts) (lack, remedy string)
	// credentials says which login is used; zero: it is not known.
	credentials credentials
	// ignoresHooks is what IgnoresHooks returns; nil: nothing.
	ignoresHooks func(s session.Spec, f LoginFacts) (why, remedy string)
	// reads is what session.EnvReader returns; nil: no variable.
	reads func(lookup func(name string) string) []string
	// trust are the signals that a detection is taken from besides the screen (From…),
	// the one to be believed first first; nil: session file, hooks, title.
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

// kinds makes the built-in agents, by name.
var kinds = map[string]func() kind{Claude: claude, Codex: codex, Copilot: copilot, Gemini: gemini, Opencode: opencode, Qwen: qwen}

// Names returns the names of the built-in agents, sorted.
func Names() []string { return slices.Sorted(maps.Keys(kinds)) }

// Builtins returns new specs of the agents that need no agent block, by name, with
// every default.
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

// Program returns the name of the program at a path, as a manifest's command has it:
// claude for /usr/bin/claude, and also where a package manager has laid it out otherwise.
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

// For returns the adapter of a spec: that of the built-in agent it is based on, or
// a custom one. Patterns are compiled on first use, so callers keep the adapter. An
// invalid pattern, which config refuses, matches nothing.
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

// Tested returns the version of an agent's program that agentform is tested with. It is empty
// for a custom agent.
func Tested(s session.AgentSpec) string {
	if built, ok := kinds[s.Base]; ok {
		return built().tested
	}
	return ""
}

// kindOf returns the kind of agent that a spec means.
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

// program is an agent as a manifest declares it.
type program struct {
	kind
	spec     session.AgentSpec
	detector func() *detector // compiled on the first call: most agents are only started
	composer func() composer
}

// Ready reports whether a screen is that of an agent that takes a prompt.
func (p *program) Ready(screen string) bool { return p.detector().screen.Ready(screen) }

// Detect returns what the agent does, by all signals.
func (p *program) Detect(e session.Evidence) session.Detection { return p.detector().Detect(e) }

// Start returns how a run is started: the command line with permissions, trust,
// arguments and a prompt that is not pasted, and the environment.
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

// Reads returns the variables of its caller's environment that the agent reads.
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

// Entries returns what a line of the session file says, for people.
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

// Composer returns what was typed into the composer that a screen shows: the last
// line that looks like one. False: none shows, or its form is not known.
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

// Late reports whether the agent may submit a text seconds after Enter, and show it nowhere
// for seconds more.
func (p *program) Late() bool { return p.late }

// Typed returns a text as it has to be typed: a blank, or what the agent needs instead,
// goes before what would make it a command of the agent.
func (p *program) Typed(text string) string {
	if text != "" && strings.IndexByte(p.commands, text[0]) >= 0 {
		return cmp.Or(p.shield, " ") + text
	}
	return text
}
