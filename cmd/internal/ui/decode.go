package ui

import (
	"strings"
	"unicode/utf8"
)

// decode returns the first key, or pasted text, of a terminal's input, and its length in bytes: 0
// if more must follow. At the end of the input, a lone Esc is the key.
func decode(b []byte, end bool) (message any, n int) {
	const paste, pasted = "\x1b[200~", "\x1b[201~"
	text := string(b)
	switch {
	case text == "":
		return nil, 0
	case strings.HasPrefix(text, paste):
		at := strings.Index(text, pasted)
		if at < 0 {
			return nil, 0
		}
		return Paste(text[len(paste):at]), at + len(pasted)
	case text[0] == '\x1b':
		return escape(text, end)
	case text[0] < 0x20 || text[0] == 0x7f:
		return Key{Name: control(text[0])}, 1
	case !utf8.FullRuneInString(text) && !end:
		return nil, 0
	}
	r, size := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError || r >= 0x80 && r < 0xa0 {
		return nil, size
	}
	if r == ' ' {
		return Key{"space", " "}, size
	}
	return Key{string(r), string(r)}, size
}

func control(c byte) string {
	switch c {
	case '\r', '\n':
		return "enter"
	case '\t':
		return "tab"
	case 0x7f, '\b':
		return "backspace"
	case 0:
		return "ctrl+space"
	case 0x1b:
		return "esc"
	}
	return "ctrl+" + string('a'+rune(c)-1)
}

// names maps the ends of control sequences, and the numbers before ~, to keys.
var names = map[string]string{
	"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end", "Z": "shift+tab", "M": "enter",
	"1": "home", "3": "delete", "4": "end", "5": "pgup", "6": "pgdown", "7": "home", "8": "end",
}

// escape decodes input that starts with Esc. An unknown sequence is not a key.
func escape(text string, end bool) (any, int) {
	if len(text) == 1 {
		if end {
			return Key{Name: "esc"}, 1
		}
		return nil, 0
	}
	switch text[1] {
	case 'O':
		if len(text) < 3 {
			return unfinished(text, end)
		}
		return named(names[text[2:3]], ""), 3
	case '[':
		last := 2
		for last < len(text) && (text[last] < 0x40 || text[last] > 0x7e) {
			last++
		}
		if last >= len(text) {
			return unfinished(text, end)
		}
		parameters, modifier, _ := strings.Cut(text[2:last], ";")
		name := names[text[last:last+1]]
		if text[last] == '~' {
			name = names[parameters]
		}
		return named(name, modifier), last + 1
	case '\x1b':
		return Key{Name: "esc"}, 1
	}
	_, size := utf8.DecodeRuneInString(text[1:])
	return nil, 1 + size // Alt and a key
}

func unfinished(text string, end bool) (any, int) {
	if end {
		return nil, len(text)
	}
	return nil, 0
}

func named(name, modifier string) any {
	switch {
	case name == "":
		return nil
	case modifier == "2" && !strings.HasPrefix(name, "shift+"):
		return Key{Name: "shift+" + name}
	case modifier == "5":
		return Key{Name: "ctrl+" + name}
	}
	return Key{Name: name}
}
