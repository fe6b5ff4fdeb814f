package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentform/agentform/session"
)

// codexEvents are the hooks that are asked for, each by its name and by the one
// in its trust key. SessionStart comes with the first prompt and tells the
// conversation; none comes when a turn ends in an error.
var codexEvents = [][2]string{
	{"SessionStart", "session_start"},
	{"UserPromptSubmit", "user_prompt_submit"},
	{"PermissionRequest", "permission_request"},
	{"Interrupt", "interrupt"},
	{"Stop", "stop"},
}

// codexHookTimeout is how many seconds Codex waits for a hook before it goes on.
// To more than this it does not listen for an interruption, and then the hook's
// hash is of this.
const codexHookTimeout = 3

// codexHooks are the flags that make Codex tell what happens. Codex asks at start
// about hooks that it was not told to trust; it trusts these and no others,
// because the flags say by hash which they are. --dangerously-bypass-hook-trust
// would trust the repository's as well.
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

// codexHookHash is how Codex names a hook whose trust it keeps: the hash of its
// definition as JSON, with sorted keys and defaults filled in.
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
		return "" // texts and numbers always can be
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
}

// codexSignal is what a hook of Codex told.
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

// asked is the question whether a tool may do something, and why it should.
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

// shellJoin is a command line for a shell.
func shellJoin(argv []string) string {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}
