package land

import (
	"slices"
	"strings"
)

// Message is what a new commit or a pull request says.
type Message struct {
	Text   string
	Author string // Ann <ann@example.org>; empty: the user
}

// MessageOf returns the message for the work of a session: what was asked for, that of its
// only commit, or the subject of its first commit above a list of all.
func MessageOf(f Facts, q Request) Message {
	if q.Method == Merge {
		return Message{Text: mergeText(f, q)}
	}
	commits := f.Commits
	if len(commits) == 0 { // those that are not committed yet
		return Message{Text: orText(q.Message, q.Commit)}
	}
	body, trailers := splitTrailers(commits[0].Message)
	if len(commits) > 1 {
		body = firstLine(body) + "\n"
	}
	author := commits[0].Author
	for i, c := range commits {
		text, more := splitTrailers(c.Message)
		trailers = append(trailers, more...)
		if c.Author != author {
			trailers = append(trailers, "Co-authored-by: "+c.Author)
		}
		if len(commits) > 1 && i < maxListed {
			body += "\n* " + firstLine(text)
		}
	}
	if len(commits) > maxListed {
		body += "\n* …"
	}
	text := strings.TrimSpace(orText(q.Message, body))
	if trailers = unique(trailers, author); len(trailers) > 0 {
		text += "\n\n" + strings.Join(trailers, "\n")
	}
	return Message{Text: text + "\n", Author: author}
}

// maxListed bounds the list of commits in a message.
const maxListed = 100

// Title returns the first line.
func (m Message) Title() string { return firstLine(m.Text) }

// Body returns what follows the first line.
func (m Message) Body() string {
	_, body, _ := strings.Cut(strings.TrimSpace(m.Text), "\n")
	return strings.TrimSpace(body)
}

func mergeText(f Facts, q Request) string {
	text := "Merge branch '" + f.Branch + "'"
	if f.Base != "main" && f.Base != "master" {
		text += " into " + f.Base
	}
	return orText(q.Message, text)
}

func orText(text, instead string) string {
	if strings.TrimSpace(text) != "" {
		return text
	}
	return instead
}

// kept are the trailers that a squash keeps.
var kept = []string{"co-authored-by:", "signed-off-by:"}

// splitTrailers returns a message without the trailers that a squash keeps, and those.
func splitTrailers(message string) (body string, trailers []string) {
	var lines []string
	for line := range strings.Lines(message) {
		line = strings.TrimRight(line, "\r\n")
		if slices.ContainsFunc(kept, func(t string) bool { return strings.HasPrefix(strings.ToLower(line), t) }) {
			trailers = append(trailers, line)
		} else {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n")), trailers
}

// unique returns trailers once each, and none that names the author as a co-author.
func unique(trailers []string, author string) (all []string) {
	seen := map[string]bool{"co-authored-by: " + strings.ToLower(author): true}
	for _, t := range trailers {
		if !seen[strings.ToLower(t)] {
			seen[strings.ToLower(t)] = true
			all = append(all, t)
		}
	}
	return all
}
