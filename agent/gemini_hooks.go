package agent

import (
	"encoding/json"
	"path/filepath"

	"github.com/agentform/agentform/session"
)

// geminiEvents are the requested hooks: one or two for each turn. Hooks around the model and each
// tool would slow it down visibly.
var geminiEvents = []string{"SessionStart", "BeforeAgent", "Notification", "AfterAgent"}

// geminiSettings is the file name of a run's settings.
const geminiSettings = "gemini.json"

// geminiHooks adds the settings that make Gemini report events. Gemini reads settings from a path
// of agentform's only if that and every directory above it belong to root and are writable by no
// one else; otherwise it warns on the screen and continues. So only an agent that runs as root gets
// them. They are system defaults, so settings of the user or the machine's owner take precedence.
func geminiHooks(in session.StartInput, start *session.Start) {
	if len(in.Notify) == 0 || in.Private == "" || !in.Root {
		return
	}
	settings := map[string]any{
		"general": map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
		"hooks":   namedHooks(geminiEvents, in.Notify),
	}
	if given(in.Spec, geminiKey) { // see geminiDotfiles
		settings["security"] = map[string]any{"auth": map[string]any{"selectedType": geminiKeyLogin}}
	}
	text, err := json.MarshalIndent(settings, "", "  ")
	if err != nil {
		return // texts can always be encoded
	}
	start.Files = map[string]string{geminiSettings: string(text)}
	start.Env["GEMINI_CLI_SYSTEM_DEFAULTS_PATH"] = filepath.Join(in.Private, geminiSettings)
}

// namedHooks returns settings with a command for hooks, in the format of Gemini CLI and Qwen Code.
func namedHooks(events, notify []string) map[string]any {
	hook := map[string]string{"type": "command", "command": shellJoin(notify), "name": "agentform"}
	hooks := map[string]any{}
	for _, event := range events {
		hooks[event] = []any{map[string]any{"matcher": "*", "hooks": []any{hook}}}
	}
	return hooks
}

// geminiSignal returns the meaning of a hook's report. AfterAgent also follows errors and cancelled
// turns.
func geminiSignal(data []byte) (session.Detection, bool) {
	var told struct {
		Event   string `json:"hook_event_name"`
		Kind    string `json:"notification_type"`
		Message string `json:"message"`
		Details struct {
			Title   string `json:"title"`
			Command string `json:"command"`
			File    string `json:"fileName"`
		} `json:"details"`
	}
	if json.Unmarshal(data, &told) != nil {
		return session.Detection{}, false
	}
	switch told.Event {
	case "BeforeAgent":
		return session.Detection{Activity: session.Working}, true
	case "AfterAgent":
		return session.Detection{Activity: session.Idle}, true
	case "Notification":
		if told.Kind != "ToolPermission" {
			return session.Detection{}, false
		}
		question := told.Details.Title
		if question == "" {
			question = told.Message
		}
		if about := told.Details.Command + told.Details.File; about != "" {
			question += "\n" + about
		}
		return session.Detection{Activity: session.Blocked, Detail: question}, true
	}
	return session.Detection{}, false
}
