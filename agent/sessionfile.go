package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentform/agentform/internal/plaintext"
)

// globLiteral returns a pattern of path/filepath.Match that matches only the text.
func globLiteral(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// conversationPattern returns a pattern of the files of a conversation, by its id, or of all.
func conversationPattern(id string) string {
	if id == "" {
		return "*"
	}
	return globLiteral(id)
}

// entryLimit bounds a text of an entry, in bytes: output may be megabytes.
const entryLimit = 2 << 10

// clip cuts a text at entryLimit, between characters.
func clip(s string) string { return plaintext.Cut(s, entryLimit, " …") }

// toolText returns a tool call in one line: its command, path or text, or else its arguments.
func toolText(name, arguments string) string {
	var a map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &a) == nil {
		for _, key := range []string{"cmd", "command", "file_path", "path", "pattern", "url", "query", "prompt"} {
			var text string
			if json.Unmarshal(a[key], &text) == nil && text != "" {
				arguments = text
				break
			}
		}
	}
	return clip(strings.TrimSpace(name + " " + arguments))
}

// tokens returns the usage of a model as readable text.
func tokens(in, out, total int64) string {
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("%d tokens (%d in, %d out)", total, in, out)
}
