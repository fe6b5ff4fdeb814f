package ui

import (
	"slices"
	"strings"

	"github.com/agentform/agentform/internal/plaintext"
)

// line is a line being typed.
type line struct {
	text []rune
	at   int // where the next character goes
}

func (l *line) set(text string) { l.text, l.at = []rune(text), len([]rune(text)) }

func (l line) String() string { return string(l.text) }

// insert inserts a text without control characters.
func (l *line) insert(text string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	r := []rune(strings.Map(func(c rune) rune {
		if plaintext.Harmful(c) {
			return -1
		}
		return c
	}, text))
	l.text = slices.Insert(slices.Clone(l.text), l.at, r...)
	l.at += len(r)
}

// key edits the line as readline does, and reports whether the key has a function.
func (l *line) key(k Key) bool {
	cut := func(from, to int) {
		l.text, l.at = slices.Delete(slices.Clone(l.text), from, to), from
	}
	switch k.Name {
	case "left", "ctrl+b":
		l.at = max(l.at-1, 0)
	case "right", "ctrl+f":
		l.at = min(l.at+1, len(l.text))
	case "home", "ctrl+a":
		l.at = 0
	case "end", "ctrl+e":
		l.at = len(l.text)
	case "backspace", "ctrl+h":
		cut(max(l.at-1, 0), l.at)
	case "delete":
		cut(l.at, min(l.at+1, len(l.text)))
	case "ctrl+u":
		cut(0, l.at)
	case "ctrl+k":
		cut(l.at, len(l.text))
	case "ctrl+w":
		from := l.at
		for from > 0 && l.text[from-1] == ' ' {
			from--
		}
		for from > 0 && l.text[from-1] != ' ' {
			from--
		}
		cut(from, l.at)
	default:
		if k.Text == "" {
			return false
		}
		l.insert(k.Text)
	}
	return true
}

// splitWords splits a command line as a shell does, with quotes and backslashes.
func splitWords(text string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	begun, escaped := false, false
	for _, c := range text {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			begun, escaped = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			begun, quote = true, c
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if begun {
				words = append(words, word.String())
			}
			begun = false
			word.Reset()
		default:
			begun = true
			word.WriteRune(c)
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}
