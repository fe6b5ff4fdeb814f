package agent

import (
	"encoding/json"
	"path/filepath"

	"github.com/agentform/agentform/session"
)

// geminiEvents are the hooks that are asked for: one or two a turn. Those around
// the model and each tool slow it down for all to see.
var geminiEvents = []string{"SessionStart", "BeforeAgent", "Notification", "AfterAgent"}

// geminiSettings is the name of the settings of one run.
const geminiSettings = "gemini.json"

// geminiHooks adds the settings that make Gemini tell what happens. It reads
// settings from a path of ours only if that and every folder above it are root's
// and nobody else may write to them, so only an agent that runs as root gets them;
// it warns on its screen and goes on where a folder is not so. They are the
// system's defaults, not its settings: what the person or the machine's owner has
// set still counts.
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
		return // texts always can be
	}
	start.Files = map[string]string{geminiSettings: string(text)}
	start.Env["GEMINI_CLI_SYSTEM_DEFAULTS_PATH"] = filepath.Join(in.Private, geminiSettings)
}

// namedHooks returns settings with a command for hooks, as Gemini CLI and Qwen Code read them.
func namedHooks(events, notify []string) map[string]any {
	hook := map[string]string{"type": "command", "command": shellJoin(notify), "name": "agentform"}
	hooks := map[string]any{}
	for _, event := range events {
		hooks[event] = []any{map[string]any{"matcher": "*", "hooks": []any{hook}}}
	}
	return hooks
}

// geminiSignal is what a hook of Gemini told. AfterAgent comes after errors and
// cancelled turns too.
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
