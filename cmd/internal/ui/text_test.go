package ui

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	for sent, want := range map[string][]any{
		"aé日 ":                      {Key{"a", "a"}, Key{"é", "é"}, Key{"日", "日"}, Key{"space", " "}},
		"\r\t\x7f\x03\b":            {Key{Name: "enter"}, Key{Name: "tab"}, Key{Name: "backspace"}, Key{Name: "ctrl+c"}, Key{Name: "backspace"}},
		"\x1b[A\x1bOB\x1b[5~\x1b[Z": {Key{Name: "up"}, Key{Name: "down"}, Key{Name: "pgup"}, Key{Name: "shift+tab"}},
		"\x1b[1;2A\x1b[1;5C":        {Key{Name: "shift+up"}, Key{Name: "ctrl+right"}},
		"\x1b[200~q\ny\x1b[201~z":   {Paste("q\ny"), Key{"z", "z"}},
		"\x1bx\x1b[?1;2c\x1b[99~j":  {Key{"j", "j"}}, // Alt, a terminal's answer, an unknown key
		"\x1b":                      {Key{Name: "esc"}},
		"\x1b\x1b[A":                {Key{Name: "esc"}, Key{Name: "up"}},
		"\xff\u009bk":               {Key{"k", "k"}},
		"\x1b[":                     nil,
	} {
		var got []any
		for b := []byte(sent); len(b) > 0; {
			message, n := decode(b, true)
			if n == 0 {
				t.Fatalf("%q: stays at %q", sent, b)
			}
			if message != nil {
				got = append(got, message)
			}
			b = b[n:]
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %#v, want %#v", sent, got, want)
		}
	}
	for _, part := range []string{"\x1b", "\x1b[", "\x1b[1;", "\x1bO", "\x1b[200~some", "\xe6\x97"} {
		if message, n := decode([]byte(part), false); message != nil || n != 0 {
			t.Errorf("%q is not complete: %v, %d", part, message, n)
		}
	}
}

func TestText(t *testing.T) {
	const red, off = "\x1b[31m", "\x1b[0m"
	for _, x := range []struct{ got, want string }{
		{cut("abc", 1, 1), "b"},
		{cut(red+"日本"+off, 1, 3), red + "本" + off},
		{shorten("abc", 3), "abc"},
		{shorten("abcd", 3), "ab…"},
		{shorten(red+"abcd"+off, 3), red + "ab…" + off},
		{shorten("abc", 0), ""},
		{fit("日", 4), "日  "},
	} {
		if x.got != x.want {
			t.Errorf("%q, want %q", x.got, x.want)
		}
	}
	for text, want := range map[string][]string{
		"one two three": {"one two", "three"}, "abcdefghij": {"abcdefgh", "ij"}, "": {""}, "日本日本日": {"日本日本", "日"},
	} {
		if got := wrap(text, 8); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := splitWords(`a "b c" d\ e ''`); !slices.Equal(got, []string{"a", "b c", "d e", ""}) {
		t.Errorf("%q", got)
	}
}

func TestWrapColors(t *testing.T) {
	for text, want := range map[string][]string{
		"\x1b[31mone two three\x1b[0m":     {"\x1b[31mone two\x1b[0m", "\x1b[31mthree\x1b[0m"},
		"one \x1b[31mtwo\x1b[0m three":     {"one \x1b[31mtwo\x1b[0m", "three"},
		"\x1b[31mabcdefgh\x1b[0m ij":       {"\x1b[31mabcdefgh\x1b[0m", "ij"},
		"\x1b[1m\x1b[31mabcdefghij\x1b[0m": {"\x1b[1m\x1b[31mabcdefgh\x1b[0m", "\x1b[1m\x1b[31mij\x1b[0m"},
	} {
		if got := wrap(text, 8); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestLongLines(t *testing.T) {
	const size = 1 << 20
	long := "\x1b[32m" + strings.Repeat("x", size) + "\x1b[0m"
	words := "\x1b[32m" + strings.Repeat("word ", size/5) + "\x1b[0m"
	cut(long, 0, 40)
	cut(long, size/2, 40)
	if n := len(wrap(long, 40)) + len(wrap(words, 40)); n < 2*size/40 {
		t.Errorf("%d lines", n)
	}
}
