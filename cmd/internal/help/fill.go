package help

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// Entry is a row of a table.
type Entry struct{ Name, Text string }

// maxName is the part of the width for a table's names before texts get their own lines.
func maxName(width int) int { return width * 9 / 20 }

// Table aligns the texts of entries, and wraps them.
func Table(rows []Entry, indent, width int) string {
	column := 0
	for _, r := range rows {
		if n := indent + utf8.RuneCountInString(r.Name) + 2; n <= maxName(width) {
			column = max(column, n)
		}
	}
	if column == 0 { // every name is long
		column = indent + 8
	}
	var b strings.Builder
	for _, r := range rows {
		head := strings.Repeat(" ", indent) + r.Name
		pad := column - utf8.RuneCountInString(head)
		if r.Text == "" {
			b.WriteString(head + "\n")
		} else if pad < 2 {
			b.WriteString(head + "\n" + Paragraph(r.Text, column, width))
		} else {
			b.WriteString(head + strings.Repeat(" ", pad) + strings.TrimLeft(Paragraph(r.Text, column, width), " "))
		}
	}
	return b.String()
}

// Paragraph wraps a text. A word wider than the width gets its own line.
func Paragraph(text string, indent, width int) string {
	margin := strings.Repeat(" ", indent)
	words := strings.Fields(text)
	if len(words) == 0 {
		return ""
	}
	return margin + fill(words, indent, width, "\n"+margin, indent) + "\n"
}

// fill joins words, of which the first begins in the column used. Before a word that does not fit
// into the width it writes the break, which ends in the column indent.
func fill(words []string, used, width int, lineBreak string, indent int) string {
	var b strings.Builder
	for i, word := range words {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+n > width:
			b.WriteString(lineBreak)
			used = indent
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}

// hanging wraps a text whose later lines are indented.
func hanging(text string, indent, width int) string {
	first, rest, _ := strings.Cut(strings.TrimSuffix(Paragraph(text, 0, width), "\n"), "\n")
	return first + "\n" + Paragraph(rest, indent, width)
}

// row is an indented line of a table: a name, two spaces or more, a text.
var row = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(  +)(\S+(?: \S+)*)  +(\S.*)$`) })

// Fill wraps a text of paragraphs. Indented lines are tables or command lines.
func Fill(text string, width int) string {
	var b strings.Builder
	var words []string
	var rows []Entry
	flush := func() {
		b.WriteString(Paragraph(strings.Join(words, " "), 0, width))
		b.WriteString(Table(rows, 2, width))
		words, rows = nil, nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		m := row().FindStringSubmatch(line)
		switch {
		case line == "":
			flush()
			b.WriteByte('\n')
		case !strings.HasPrefix(line, "  "):
			if rows != nil {
				flush()
			}
			words = append(words, line)
		case len(rows) > 0 && strings.HasPrefix(line, "     "):
			rows[len(rows)-1].Text += " " + strings.TrimSpace(line)
		case m != nil:
			if words != nil {
				flush()
			}
			rows = append(rows, Entry{m[2], m[3]})
		default:
			flush()
			b.WriteString(shellLines(line, width))
		}
	}
	flush()
	return b.String()
}

// shellLines breaks command lines at spaces outside quotes and parentheses, with backslashes for
// the shell.
func shellLines(lines string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		line = strings.TrimRight(line, "\n")
		margin := line[:len(line)-len(strings.TrimLeft(line, " "))]
		words := shellWords(strings.TrimSpace(line))
		b.WriteString(margin + fill(words, len(margin), width-len(` \`), " \\\n"+margin+"    ", len(margin)+4) + "\n")
	}
	return b.String()
}

func shellWords(line string) (words []string) {
	start, quote, depth := 0, rune(0), 0
	for i, r := range line {
		switch {
		case r == quote:
			quote = 0
		case quote != 0:
		case r == '\'' || r == '"':
			quote = r
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ' ' && depth == 0:
			words = append(words, line[start:i])
			start = i + 1
		}
	}
	return append(words, line[start:])
}
