package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

// script is a program whose questions only the manifest describes.
var script = session.AgentSpec{Name: "x", Command: []string{"x"}, Ready: "^> ", Patterns: session.Patterns{Blocked: []string{`^Overwrite`, `^Apply edits`, `^Which branch`}}}

func TestQuestion(t *testing.T) {
	codex := func(options ...string) string {
		return "  Would you like to run the following command?\n\n  $ touch made\n    rm x\n\n" + strings.Join(options, "\n") + "\n\n  Press enter to confirm or esc to cancel"
	}
	qwens := func(lines ...string) string {
		return "╭────────────────────╮\n│ ?  AskUserQuestion Ask user 1 question ← │\n│ │\n│ " + strings.Join(lines, " │\n│ ") +
			" │\n│ │\n│ ❯ 1. Red │\n│   2. Blue │\n│ │\n│ ↑/↓: Navigate | Enter: Select | Esc: Cancel │\n╰────────────────────╯\n\n  ⠏ Waiting for user confirmation..."
	}
	for name, c := range map[string]struct {
		agent  session.AgentSpec
		screen string
		want   string // empty: no question
		title  string
	}{
		"the whole command is named": {builtin("codex"), codex("› 1. Yes, proceed (y)", "  2. No (esc)"), `run "touch made rm x"? [yes] [no]`, ""},
		"two that are for later too have no word": {builtin("codex"), codex("› 1. Yes, just this once (y)", "  2. Yes, and allow this host for this session (a)", "  3. Yes, and allow this host in the future (p)", "  4. No, and block this host in the future (d)", "  5. No, and tell Codex what to do differently (esc)"),
			`run "touch made rm x"? [yes] [2 Yes, and allow this host for th…] [3 Yes, and allow this host in the…] [4 No, and block this host in the…] [no]`, ""},
		"a yes that is for ever is no yes":      {builtin("codex"), codex("› 1. Yes, always", "  2. No"), `run "touch made rm x"? [always] [no]`, ""},
		"a label in two lines":                  {builtin("codex"), codex("› 1. Yes", "  2. Yes, and", "     don't ask again", "  3. No"), `run "touch made rm x"? [yes] [2 Yes, and] [no]`, ""},
		"two that say the same have no word":    {builtin("codex"), codex("› 1. Yes", "  2. Yes, in a sandbox", "  3. No"), `run "touch made rm x"? [1 Yes] [2 Yes, in a sandbox] [no]`, ""},
		"always no is not always":               {builtin("codex"), codex("› 1. Yes", "  2. Always deny", "  3. No"), `run "touch made rm x"? [yes] [2 Always deny] [no]`, ""},
		"its no is not drawn yet":               {builtin("codex"), codex("› 1. Yes, proceed (y)", "  2. Yes, and don't ask again (p)"), "", ""},
		"its beginning is out of sight":         {builtin("codex"), "  2. Yes, and don't ask again (p)\n› 3. No (esc)\n\n  Press enter to confirm or esc to cancel", "", ""},
		"a number that begins a line":           {builtin("codex"), codex("› 1. Yes", "  2.Yes, and always touch", "    3.5 files", "  3. No"), `run "touch made rm x"? [yes] [always] [no]`, ""},
		"labels that are numbers":               {builtin("claude"), "────────────────\nHow many?\n\n❯ 1. 10\n  2. 20\n", "How many? [1 10] [2 20]", ""},
		"no cursor":                             {builtin("codex"), codex("  1. Yes, proceed (y)", "  2. No (esc)"), "", ""},
		"a dialog in the text above a composer": {builtin("codex"), codex("› 1. Yes, proceed (y)", "  2. No (esc)") + "\n\n› Ask Codex to do anything\n\n  gpt-5 default · /work", "", ""},
		"a server of a project":                 {builtin("claude"), "────────────────\nNew MCP server found in .mcp.json: x\n\n❯ 1. Use this and all future MCP servers in this project\n  2. Use this MCP server\n  3. Continue without using this MCP server\n\nEnter to confirm · Esc to reject", "New MCP server found in .mcp.json: x [always] [yes] [no]", ""},
		"a plan of Claude's":                    {builtin("claude"), "────────────────\nWould you like to proceed?\n\n❯ 1. Yes, and auto-accept edits\n  2. Yes, and manually approve edits\n  3. No, keep planning\n\n", "Would you like to proceed? [always] [yes] [no]", ""},
		"keys in a line":                        {script, "Overwrite a.go? [y/N/a] ", "Overwrite a.go? [yes] [no] [always]", ""},
		"words in a line":                       {script, "Overwrite a.go? (yes/no) ", "Overwrite a.go? [yes] [no]", ""},
		"letters in a line":                     {script, "Apply edits to a.go? (Y)es/(N)o/(D)on't ask again [Yes]: ", "Apply edits to a.go? [yes] [no] [always]", ""},
		"a key that was typed already":          {script, "Overwrite a.go? [y/N] y", "Overwrite a.go? [yes] [no]", ""},
		"a line that was answered":              {script, "Overwrite a.go? [y/N] y\nwritten\n> ", "", ""},
		"a list without a cursor":               {script, "Overwrite a.go?\n  1) Yes\n  2) No\n", "Overwrite a.go? [yes] [no]", ""},
		"a text in a box": {builtin("gemini"), "▄▄▄▄▄▄▄▄\n > ask\n▀▀▀▀▀▀▀▀\n╭────────────────────╮\n│ Answer Questions   │\n│                    │\n│ Which color is it? │\n│                    │\n│ > Enter your response │\n│                    │\n│ Enter to submit · Esc to cancel │\n╰────────────────────╯",
			"Which color is it? [TEXT]", "✋  Action Required (shop)"},
		"a question that is no sentence of Qwen's":  {builtin("qwen"), qwens("Color", "", "Pick a color."), "Pick a color. [1 Red] [2 Blue]", ""},
		"its heading is drawn":                      {builtin("qwen"), qwens("Color"), "", ""},
		"its tool is drawn":                         {builtin("qwen"), qwens(), "", ""},
		"a text":                                    {script, "Which branch? ", "Which branch? [TEXT]", ""},
		"several answers":                           {builtin("claude"), "────────────────\nWhich color?\n\n❯ 1. [ ] Red\n  2. [✔] Blue\n     Submit\n\nEnter to select · ↑/↓ to navigate · Esc to cancel", "Which color? [1 Red] [2 Blue]", ""},
		"an answer that looks like always in words": {builtin("claude"), "────────────────\nRun the tests?\n\n❯ 1. Yes\n     all of them\n  2. No\n\nEnter to select · ↑/↓ to navigate · Esc to cancel", "Run the tests? [1 Yes] [no]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if q := For(c.agent).Detect(session.Evidence{Liveness: session.Alive, Title: c.title, Screen: c.screen}).Question; q != nil {
				got = q.String()
				for _, o := range q.Options {
					if o.Word == session.Yes && strings.Contains(strings.ToLower(o.Label+o.About), "always") {
						t.Errorf("yes is %q", o.Label)
					}
				}
				if strings.Contains(got, "[yes]") && !strings.Contains(got, "[no]") {
					t.Errorf("there is a yes without a no: %s", got)
				}
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A question keeps its ID while the cursor moves and text is typed; another question has another
// ID.
func TestQuestionID(t *testing.T) {
	id := func(spec session.AgentSpec, screen string) string {
		q := For(spec).Detect(session.Evidence{Liveness: session.Alive, Screen: screen}).Question
		if q == nil {
			t.Fatalf("no question in %q", screen)
		}
		return q.ID
	}
	dialog := func(command, first, second string) string {
		return "────────────────\n Bash command\n\n   " + command + "\n\n Do you want to proceed?\n" + first + " 1. Yes\n" + second + " 2. No\n\n Esc to cancel"
	}
	claude := builtin("claude")
	was := id(claude, dialog("ls", " ❯", "  "))
	if moved := id(claude, "● more\n"+dialog("ls", "  ", " ❯")); moved != was {
		t.Error("it has another ID when its cursor is elsewhere")
	}
	trust := load(t, "testdata/claude/trust-dialog").evidence.Screen
	if given := strings.Replace(trust, "Yes, I trust this folder", "Yes, I trust this folder ✔", 1); given == trust || id(claude, trust) != id(claude, given) {
		t.Error("it has another ID when it shows which answer was given")
	}
	wrapped := load(t, "testdata/claude/approval-wrapped").evidence.Screen
	if moved := load(t, "testdata/claude/approval-wrapped-moved").evidence.Screen; id(claude, wrapped) != id(claude, moved) {
		t.Error("it has another ID when its cursor is at an answer of two lines")
	}
	if other := id(claude, dialog("rm -r x", " ❯", "  ")); other == was {
		t.Error("another command has the same ID")
	}
	if id(script, "Overwrite a.go? [y/N] ") != id(script, "Overwrite a.go? [y/N] y") {
		t.Error("it has another ID when its answer was typed")
	}
	if id(script, "Overwrite a.go? [y/N] ") == id(script, "Overwrite b.go? [y/N] ") {
		t.Error("another file has the same ID")
	}
}

// TestQuestionToldBefore checks that a hook's description of a dialog is used, even if the session
// file is newer, if the dialog shows it.
func TestQuestionToldBefore(t *testing.T) {
	at := time.Unix(1_790_000_000, 0)
	const screen = "────────────────\n Bash command\n\n   touch one\n   Run a command\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. Yes, and always allow access to shop/ from this project\n   3. No\n\n Esc to cancel · Tab to amend"
	ask := func(command string) session.Signal {
		return session.Signal{At: at, Data: []byte(`{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"` + command + `","description":"Run a command"}}`)}
	}
	done := session.Signal{At: at, Data: []byte(`{"hook_event_name":"Stop"}`)}
	for name, c := range map[string]struct {
		signals []session.Signal
		want    string
	}{
		"the hook told it":            {[]session.Signal{ask("touch one")}, `run "touch one"?`},
		"it told another one":         {[]session.Signal{ask("touch two")}, `run "touch one" (Run a command)?`},
		"it told of an end after it":  {[]session.Signal{ask("touch one"), done}, `run "touch one" (Run a command)?`},
		"it told nothing of anything": {nil, `run "touch one" (Run a command)?`},
	} {
		for _, file := range []session.Activity{session.Working, session.Blocked} { // the latter without words
			d := For(builtin("claude")).Detect(session.Evidence{Liveness: session.Alive, Screen: screen, Signals: c.signals, Now: at.Add(time.Minute), StartedAt: at.Add(-time.Minute),
				Transcript: &session.Transcript{At: at.Add(time.Second), Activity: file}})
			if d.Question == nil || d.Question.Text != c.want {
				t.Errorf("%s, the file says %s: %+v, want %s", name, file, d.Question, c.want)
			}
		}
	}
}

// A question is answered if its program continues below it, whoever answered.
func TestQuestionAboveAPromptIsAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		screen string
		want   session.Activity
		asks   string
	}{
		"asked":                        {"Overwrite a.go? [y/N] ", session.Blocked, "Overwrite a.go? [y/N]"},
		"answered, and ready":          {"Overwrite a.go? [y/N] y\nwritten\n> ", session.Idle, ""},
		"answered, and told more":      {"Overwrite a.go? [y/N] y\n> go on\nwriting", session.Idle, ""},
		"answered, and never ready":    {"Overwrite a.go? [y/N] y\nwritten\n$", session.NoActivity, ""},
		"answered on a line below":     {"Overwrite a.go? [y/N]\ny\nwritten", session.NoActivity, ""},
		"a hint below it":              {"Overwrite a.go? [y/N]\n? for help", session.Blocked, "Overwrite a.go? [y/N]\n? for help"},
		"an answer that nobody read":   {"Overwrite a.go? [y/N]\ny", session.Blocked, "Overwrite a.go? [y/N]\ny"},
		"with a prompt for its answer": {"Overwrite a.go?\n> ", session.Blocked, "Overwrite a.go?\n>"},
		"answered at a prompt":         {"Overwrite a.go?\n> sure\nwritten\n> ", session.Idle, ""},
		"asked again":                  {"Overwrite a.go?\n> hm\nOverwrite a.go?\n> ", session.Blocked, "Overwrite a.go?\n>"},
		"a second one":                 {"Overwrite a.go? [y/N] y\nwritten\n> go on\nOverwrite b.go? [y/N] ", session.Blocked, "Overwrite b.go? [y/N]"},
		"with answers that look ready": {"Overwrite a.go?\n> 1. Yes\n  2. No\n", session.Blocked, "Overwrite a.go?\n> 1. Yes\n2. No"},
	} {
		t.Run(name, func(t *testing.T) {
			got := For(script).Detect(session.Evidence{Liveness: session.Alive, Screen: c.screen})
			if got.Activity != c.want || c.asks != "" && got.Detail != c.asks {
				t.Errorf("%s: %q, want %s: %q", got.Activity, got.Detail, c.want, c.asks)
			}
		})
	}
}
