package ci

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// markdownLimit is the limit of a comment on GitHub, in characters.
const markdownLimit = 65536

// Markdown writes a comment for a pull request, or the summary of a step. Its first line is a marker
// by which the comment can be found and replaced. Rows beyond the limit are counted.
func Markdown(w io.Writer, r view.DriftReport) error {
	r = r.Near()
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- agentform:drift:%s -->\n### agentform drift: %s\n\n%s\n",
		marker(r.Project), markdownText(r.Project), markdownText(r.Verdict()))
	if len(r.Items) > 0 {
		b.WriteString("\n| session | drift | detail |\n| --- | --- | --- |\n")
	}
	const more = "\n… and %d more: `agentform drift` tells them all.\n"
	room := markdownLimit - len(more) - 10 // digits of the number
	for n, i := range r.Items {
		row := fmt.Sprintf("| %s | %s | %s |\n", markdownText(string(i.Address)), markdownText(view.KindWords(i.Kind)), markdownText(i.Detail))
		if b.Len()+len(row) > room {
			fmt.Fprintf(&b, more, len(r.Items)-n)
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
	_, err := io.WriteString(w, b.String())
	return err
}

const longestCell = 1000

// markdownText links to nothing and mentions nobody. GitHub looks for @ada and #1 in the rendered
// text, where escapes do not help: an invisible comment separates the sign from what follows.
func markdownText(s string) string {
	s = plaintext.OneLine(s)
	if len(s) > longestCell {
		s = strings.ToValidUTF8(s[:longestCell], "") + "…"
	}
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

// marker keeps two dashes out of an HTML comment, which they would end.
func marker(project string) string {
	slug := session.Slug(project)
	if slug == project {
		return slug
	}
	sum := sha256.Sum256([]byte(project))
	return slug + "-" + hex.EncodeToString(sum[:3])
}
