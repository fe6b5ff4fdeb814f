package agent

import (
	"encoding/json"

	"github.com/agentform/agentform/session"
)

// claudeTold is the input of a Claude Code hook.
type claudeTold struct {
	Event        string          `json:"hook_event_name"`
	Tool         string          `json:"tool_name"`
	Input        json.RawMessage `json:"tool_input"`
	Error        string          `json:"error"` // StopFailure
	Details      string          `json:"error_details"`
	LastMessage  string          `json:"last_assistant_message"`
	Notification string          `json:"notification_type"`
	Message      string          `json:"message"`
	Reason       string          `json:"reason"` // SessionEnd
}

// claudeSignal returns the meaning of a hook's report. No hook reports an interrupted turn or a
// retry.
func claudeSignal(data []byte) (session.Detection, bool) {
	var told claudeTold
	if json.Unmarshal(data, &told) != nil {
		return session.Detection{}, false
	}
	switch told.Event {
	case "SessionStart", "Stop":
		return session.Detection{Activity: session.Idle}, true
	case "UserPromptSubmit", "PostToolUse":
		return session.Detection{Activity: session.Working}, true
	case "PermissionRequest":
		return session.Detection{Activity: session.Blocked, Detail: claudeAsks(told.Tool, told.Input)}, true
	case "Notification":
		return told.notification()
	case "StopFailure":
		detail := told.LastMessage
		if detail == "" {
			detail = told.Details
		}
		return claudeFailure(told.Error, detail), true
	case "SessionEnd":
		// /clear and /resume end a session and start the next.
		if told.Reason == "clear" || told.Reason == "resume" {
			return session.Detection{}, false
		}
		return session.Detection{Activity: session.Exited, Detail: told.Reason}, true
	}
	return session.Detection{}, false
}

// notification reads a message to the user. A permission's message comes six seconds after its
// request, perhaps after the answer.
func (t claudeTold) notification() (session.Detection, bool) {
	switch t.Notification {
	case "elicitation_dialog", "worker_permission_prompt":
		return session.Detection{Activity: session.Blocked, Detail: t.Message}, true
	case "idle_prompt":
		return session.Detection{Activity: session.Idle}, true
	}
	return session.Detection{}, false
}

// claudeFailure returns how a turn failed, from the word for it.
func claudeFailure(word, detail string) session.Detection {
	if detail == "" {
		detail = word
	}
	r := session.Detection{Activity: session.Failed, Detail: detail}
	switch word {
	case "rate_limit", "billing_error":
		r.Activity = session.BlockedAPI
	case "authentication_failed": // 401, and a login that it has not
		r.Refused = true
	}
	return r
}
