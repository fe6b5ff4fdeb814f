package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentform/agentform/session"
)

// codexEvents are the requested hooks, each with its name and the name in its trust key.
// SessionStart comes with the first prompt and reports the conversation. No hook reports a turn
// that ends in an error.
var codexEvents = [][2]string{
	{"SessionStart", "session_start"},
	{"UserPromptSubmit", "user_prompt_submit"},
	{"PermissionRequest", "permission_request"},
	{"Interrupt", "interrupt"},
	{"Stop", "stop"},
}

// codexHookTimeout is how many seconds Codex waits for a hook. With a larger timeout Codex accepts
// no interruption meanwhile, and the hook's hash differs.
const codexHookTimeout = 3

// codexHooks returns the flags that make Codex report events. At start Codex asks about hooks that
// it was not told to trust. These flags trust, by hash, only agentform's hooks;
// --dangerously-bypass-hook-trust would trust the repository's as well.
func codexHooks(notify []string) []string {
	if len(notify) == 0 {
		return nil
	}
	command := shellJoin(notify)
	var argv, trust []string
	for _, e := range codexEvents {
		argv = append(argv, "-c", fmt.Sprintf(`hooks.%s=[{hooks=[{type="command",command=%s,timeout=%d}]}]`, e[0], tomlString(command), codexHookTimeout))
		trust = append(trust, fmt.Sprintf(`"/<session-flags>/config.toml:%s:0:0"={trusted_hash=%q}`, e[1], codexHookHash(e[1], command)))
	}
	return append(argv, "-c", "hooks.state={"+strings.Join(trust, ",")+"}")
}

// codexHookHash returns the hash under which Codex stores the trust of a hook: that of its
// definition as JSON, with sorted keys and defaults.
func codexHookHash(event, command string) string {
	definition := map[string]any{
		"event_name": event,
		"hooks": []map[string]any{{
			"type": "command", "command": command, "timeout": codexHookTimeout, "async": false,
		}},
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(definition); err != nil {
		return "" // texts and numbers can always be encoded
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
}

// codexSignal returns the meaning of a hook's report.
func codexSignal(data []byte) (session.Detection, bool) {
	var told struct {
		Event string `json:"hook_event_name"`
		Tool  string `json:"tool_name"`
		Input struct {
			Command     string `json:"command"`
			Description string `json:"description"`
		} `json:"tool_input"`
	}
	if json.Unmarshal(data, &told) != nil {
		return session.Detection{}, false
	}
	switch told.Event {
	case "UserPromptSubmit":
		return session.Detection{Activity: session.Working}, true
	case "PermissionRequest":
		return session.Detection{Activity: session.Blocked, Detail: asked(told.Tool, told.Input.Command, told.Input.Description)}, true
	case "Stop", "Interrupt":
		return session.Detection{Activity: session.Idle}, true
	}
	return session.Detection{}, false
}

// asked returns the question whether a tool may do something, and the reason.
func asked(tool, what, why string) string {
	question := "use " + tool + "?"
	if tool == "Bash" && what != "" {
		question, what = `run "`+strings.Join(strings.Fields(what), " ")+`"?`, ""
	}
	for _, more := range []string{what, why} {
		if more != "" {
			question += "\n" + more
		}
	}
	return question
}

// shellJoin returns a command line for a shell.
func shellJoin(argv []string) string {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}
