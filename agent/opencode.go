package agent

import (
	_ "embed"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// opencode is opencode, measured with 1.18.33 and described in docs/agents/opencode.md. agentform
// does not read its database: a plugin of the run writes the events to a file.
func opencode() kind {
	return kind{
		spec: session.AgentSpec{
			PromptVia: ViaPaste,
			Ready:     `ctrl\+p commands`,
			// Its first start in a home waits for npm: without a network 75 seconds, on a busy
			// machine minutes.
			ReadyTimeout:   session.Duration(5 * time.Minute),
			StatusBarLines: 3,
			// The plugin gets the conversation with the first prompt.
			Observable: AtFirstPrompt,
		},
		tested: "1.18.33",
		start:  opencodeStart,
		paths:  []string{"/opencode-ai/"},
		marks: marks{
			blocked: []string{
				`△ (Permission required|Always allow|Reject permission)`,
				`^(?:.*\s)?enter (?:submit|confirm|toggle)\s+esc dismiss$`, // a question of the model
			},
			retrying: []string{opencodeLimit + `.*\[retrying .*attempt #\d+\]`},
			question: commandQuestion,
			inLine: []inLine{
				{[]string{"Allow once", "Allow always", "Reject"}, []string{"Enter", "Right Enter", "Escape"}},
				{[]string{"Confirm", "Cancel"}, []string{"Enter", "Escape"}},
			},
			working: []string{`^[⬝■]{3,}.* esc (again to )?interrupt\b`},
			ui: []string{
				`ctrl\+p commands|esc (again to )?interrupt`,
				`△ (Permission required|Always allow|Reject permission)`,
			},
		},
		// Typed or pasted text with these starts a command, or a shell command that needs no
		// permission.
		commands: "/!",
		composed: opencodeComposer,
		// On a busy machine, its server took ten seconds after Enter to create the conversation,
		// and twelve more to accept the text.
		late: true,
		// It then puts the prompt of its command line into the composer, and waits.
		resumedVia:  ViaPaste,
		files:       opencodeFiles,
		transcript:  func() session.TranscriptReader { return &opencodeConversation{} },
		entries:     opencodeEntries,
		usage:       opencodeUsage,
		reads:       opencodeReads,
		credentials: opencodeCredentials,
	}
}

// opencodePlugin is the source of the plugin that writes opencode's events down.
//
//go:embed opencode.js
var opencodePlugin string

// opencodePluginFile is the name of the plugin of one run.
const opencodePluginFile = "opencode.js"

// opencodePermissions are its settings for a manifest's permissions. Full permissions are a flag,
// so the user's denials still apply.
var opencodePermissions = map[string]map[string]string{
	"ask":   {"bash": "ask", "edit": "ask"},
	"edits": {"bash": "ask", "edit": "allow"},
}

func opencodeStart(in session.StartInput) session.Start {
	s := in.Spec
	start := session.Start{
		Argv: join(s.Agent.Command),
		Env:  map[string]string{"OPENCODE_DISABLE_AUTOUPDATE": "1"},
	}
	if s.Agent.Permissions == "all" {
		start.Argv = append(start.Argv, "--auto")
	}
	config := map[string]any{}
	if p := opencodePermissions[s.Agent.Permissions]; p != nil {
		config["permission"] = p
	}
	if in.Private != "" {
		start.Files = map[string]string{opencodePluginFile: opencodePlugin}
		config["plugin"] = []string{"file://" + filepath.Join(in.Private, opencodePluginFile)}
	}
	if text, err := json.Marshal(config); err == nil && len(config) > 0 { // it can always be encoded
		start.Env["OPENCODE_CONFIG_CONTENT"] = string(text)
	}
	if in.Conversation != "" {
		start.Argv = append(start.Argv, "--session", in.Conversation)
		start.Conversation = in.Conversation
	}
	start.Argv = append(start.Argv, s.Args...)
	if in.Prompt != "" {
		// In one word, because the prompt may start with a dash.
		start.Argv = append(start.Argv, "--prompt="+in.Prompt)
	}
	return start
}

// opencodeHints are the starts of its empty composer, in normal and shell mode.
var opencodeHints = []string{"Ask anything… \"", "Run a command… \""}

// opencodeComposer returns the first row of the text in the composer: the rows with a bar at their
// left, above the last edge. The first row is blank, and so is the row above the names of the agent
// and, once loaded, the model. A dialog has no edge.
func opencodeComposer(screen string) (text string, shown bool) {
	const bar, edge = "┃", "╹▀"
	rows := strings.Split(screen, "\n")
	begins := func(i int, with string) bool { return strings.HasPrefix(strings.TrimLeft(rows[i], " "), with) }
	end := len(rows) - 1
	for end >= 0 && !begins(end, edge) {
		if begins(end, bar) {
			return "", false
		}
		end--
	}
	begin := end
	for begin > 0 && begins(begin-1, bar) {
		begin--
	}
	if end-begin < 4 {
		return "", false
	}
	width := len([]rune(rows[end][:strings.LastIndex(rows[end], "▀")])) + 1 // a wide terminal has another column at the right
	for _, row := range rows[begin+1 : end-2] {
		cut := []rune(row)
		text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(string(cut[:min(len(cut), width)])), bar))
		if text != "" {
			break
		}
	}
	for _, hint := range opencodeHints {
		if strings.HasPrefix(text, hint) {
			text = ""
		}
	}
	return text, true
}

// opencodeFiles returns the file that the plugin writes.
func opencodeFiles(of session.Lookup) []string {
	data := opencodeData(of)
	if data == "" {
		return nil
	}
	name := "ses_*.jsonl"
	if of.Conversation != "" {
		name = globLiteral(of.Conversation) + ".jsonl"
	}
	return []string{filepath.Join(globLiteral(data), "agentform", name)}
}

// opencodeReads returns the variables for logins and files. A provider in its configuration may
// name any other variable; a manifest must declare that.
func opencodeReads(func(string) string) []string {
	return []string{
		"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "OPENROUTER_API_KEY", "GROQ_API_KEY",
		"MISTRAL_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY", "OPENCODE_API_KEY", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR",
	}
}

// opencodeData is the directory with its data.
func opencodeData(of session.Lookup) string {
	data := ownDir(of, "XDG_DATA_HOME", ".local/share")
	if data == "" {
		return ""
	}
	return filepath.Join(data, "opencode")
}

// opencodeCredentials has the list of https://opencode.ai/docs/providers: opencode logs in to many
// providers, with keys and with auth.json in its data directory.
var opencodeCredentials = credentials{
	keys: keysOf("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "OPENROUTER_API_KEY", "GROQ_API_KEY",
		"MISTRAL_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY", "OPENCODE_API_KEY"),
	every: true,
	dir:   opencodeData,
}
