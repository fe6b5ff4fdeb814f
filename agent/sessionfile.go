package agent

import (
	"encoding/json"
	"fmt"
	"strings"
)

// globLiteral is a text as a pattern of path/filepath.Match that matches it.
func globLiteral(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// entryLimit is the most of one text that an entry for people has, in bytes: what
// a tool read or printed may be megabytes.
const entryLimit = 2 << 10

// clip cuts a text at entryLimit, between characters.
func clip(s string) string {
	if len(s) <= entryLimit {
		return s
	}
	return strings.ToValidUTF8(s[:entryLimit], "") + " …"
}

// toolText is a tool call in one line: the command, the path or the text that it
// is about, where it has one, or else its arguments as they are.
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

// tokens is the use of a model for people.
func tokens(in, out, total int64) string {
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("%d tokens (%d in, %d out)", total, in, out)
}
