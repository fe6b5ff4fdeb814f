package ci

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// markdownLimit is the limit of a comment on GitHub, in characters.
const markdownLimit = 65536

// Markdown writes a comment for a pull request, or the summary of a step. The first line is a
// marker for finding and replacing the comment. Rows beyond the limit are only counted.
func Markdown(w io.Writer, r Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- agentform:%s:%s -->\n### agentform %[1]s: %[3]s\n\n%[4]s\n",
		r.Command, marker(r.Project), markdownText(r.Project), markdownText(r.Verdict))
	if len(r.Items) > 0 {
		fmt.Fprintf(&b, "\n| session | %s | detail |\n| --- | --- | --- |\n", r.Column)
	}
	const more = "\n… and %d more; `agentform %s` lists all of them.\n"
	room := markdownLimit - len(more) - 20 // digits of the number, and the command
	for n, i := range r.Items {
		row := fmt.Sprintf("| %s | %s | %s |\n", markdownText(string(i.Address)), markdownText(i.What), markdownText(i.Detail))
		if b.Len()+len(row) > room {
			fmt.Fprintf(&b, more, len(r.Items)-n, r.Command)
			break
		}
		b.WriteString(row)
	}
	for n, d := range r.Problems {
		line := fmt.Sprintf("- **%s** %s\n", markdownText(d.Summary), markdownText(d.Detail))
		if n == 0 {
			line = "\n" + line
		}
		if b.Len()+len(line) > room {
			break
		}
		b.WriteString(line)
	}
	if text := details(r); b.Len()+len(text) <= markdownLimit {
		b.WriteString(text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// details returns the report as folded text. Its fence is longer than any in the text.
func details(r Report) string {
	if r.Text == "" || len(r.Items) == 0 {
		return ""
	}
	fence := "```"
	for strings.Contains(r.Text, fence) {
		fence += "`"
	}
	return "\n<details><summary>agentform " + r.Command + "</summary>\n\n" + fence + "text\n" + r.Text + fence + "\n\n</details>\n"
}

const longestCell = 1000

// markdownText escapes links and mentions. GitHub searches the rendered text for @ada and #1, where
// escapes do not help: an invisible comment separates the sign from the rest.
func markdownText(s string) string {
	s = plaintext.Cut(plaintext.OneLine(s), longestCell, "…")
	const part = "<!-- -->"
	var b strings.Builder
	for i, r := range s {
		c := string(r)
		switch {
		case strings.Contains("&<>", c):
			b.WriteString(html.EscapeString(c))
		case strings.Contains("@%$", c), r == ':' && strings.HasPrefix(s[i:], "://"):
			b.WriteString(c + part)
		case strings.Contains("#!~", c):
			b.WriteString(`\` + c + part)
		case strings.Contains("|\\`*_[]{}^", c):
			b.WriteString(`\` + c)
		case r == '.' && i >= 3 && strings.EqualFold(s[i-3:i], "www"):
			b.WriteString(part + c)
		default:
			b.WriteString(c)
		}
	}
	return b.String()
}

// marker removes double dashes, which would end an HTML comment.
func marker(project string) string {
	slug := session.Slug(project)
	if slug == project {
		return slug
	}
	sum := sha256.Sum256([]byte(project))
	return slug + "-" + hex.EncodeToString(sum[:3])
}
