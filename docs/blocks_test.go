package docs_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// block is one fenced block of a document.
type block struct {
	at    string // file:line
	lang  string // console, hcl, sh, text, json, …
	info  string // what stands after the language
	lines []string
}

func (b block) text() string { return strings.Join(b.lines, "\n") + "\n" }

// blocks finds a document's fenced blocks.
func blocks(t *testing.T, path, text string) []block {
	t.Helper()
	var all []block
	var open *block
	var indent string // of the open block, which may be in a list
	for i, line := range strings.Split(text, "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimLeft(line, " "), "```")
		switch {
		case isFence && open == nil:
			lang, info, _ := strings.Cut(fence, " ")
			if lang == "" {
				t.Errorf("%s:%d: a block without a language", path, i+1)
			}
			indent = line[:len(line)-len(strings.TrimLeft(line, " "))]
			open = &block{at: fmt.Sprintf("%s:%d", path, i+1), lang: lang, info: strings.TrimSpace(info)}
		case isFence:
			all, open = append(all, *open), nil
		case open != nil:
			open.lines = append(open.lines, strings.TrimPrefix(line, indent))
		}
	}
	if open != nil {
		t.Errorf("%s: this block does not end", open.at)
	}
	return all
}

// command is one line of a console block, and what is shown below it.
type command struct {
	line  string
	exit  int
	shown []string
}

var exitNote = regexp.MustCompile(`\s+# exit (\d+)$`)

func (b block) commands(t *testing.T) []command {
	t.Helper()
	var all []command
	for i := 0; i < len(b.lines); i++ {
		line, isCommand := strings.CutPrefix(b.lines[i], "$ ")
		if !isCommand {
			if len(all) == 0 {
				t.Fatalf("%s: a console block begins with a command", b.at)
			}
			if s := strings.TrimSpace(b.lines[i]); s != "" && s != "…" {
				all[len(all)-1].shown = append(all[len(all)-1].shown, s)
			}
			continue
		}
		for strings.HasSuffix(line, `\`) && i+1 < len(b.lines) {
			i++
			line = strings.TrimSuffix(line, `\`) + strings.TrimSpace(b.lines[i])
		}
		c := command{line: line}
		if m := exitNote.FindStringSubmatch(line); m != nil {
			c.exit, _ = strconv.Atoi(m[1])
			c.line = strings.TrimSuffix(line, m[0])
		}
		all = append(all, c)
	}
	return all
}

var space = regexp.MustCompile(`\s+`)

// pattern is a shown line as an expression: spaces stand for any number of
// them, … for anything.
func pattern(shown string) *regexp.Regexp {
	words := space.Split(strings.TrimSpace(shown), -1)
	for i, w := range words {
		parts := strings.Split(w, "…")
		for j := range parts {
			parts[j] = regexp.QuoteMeta(parts[j])
		}
		words[i] = strings.Join(parts, ".*")
	}
	return regexp.MustCompile(`^\s*` + strings.Join(words, `\s+`) + `\s*$`)
}

func TestCommandsOfABlock(t *testing.T) {
	const text = "text\n```console\n$ one \\\n    two # exit 2\nit says  … and\n…\n$ three\n```\n"
	want := []command{{"one two", 2, []string{"it says  … and"}}, {"three", 0, nil}}
	for _, text := range []string{text, "1. In a list:\n   " + strings.ReplaceAll(text, "\n", "\n   ")} {
		all := blocks(t, "x.md", text)
		if len(all) != 1 {
			t.Fatalf("%d blocks in %q", len(all), text)
		}
		if got := all[0].commands(t); !reflect.DeepEqual(got, want) {
			t.Errorf("commands:\ngot  %q\nwant %q", fmt.Sprint(got), fmt.Sprint(want))
		}
	}
	if !pattern("it says  … and").MatchString("  it says this, that and  ") || pattern("a …").MatchString("b c") {
		t.Error("the pattern does not say what is shown")
	}
}
