package echo_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentform/agentform/internal/echo"
	_ "github.com/agentform/agentform/internal/test/seed"
	"github.com/agentform/agentform/session"
)

func TestWithout(t *testing.T) {
	const fix = "Fix the fatal error in main.c"
	long := "Write the text for when a user says goodbye,\nand then the one for a fatal error."
	for name, c := range map[string]struct{ typed, screen, want string }{
		"as it was typed":              {fix, "> " + fix + "\nworking", "> …\nworking"},
		"twice":                        {fix, fix + "\n> " + fix + "\n", "…\n> …\n"},
		"broken anywhere":              {fix, "> Fix the fa\n  tal error in\n  main.c\nok", "> …\n  …\n  …\nok"},
		"in a frame":                   {fix, "│ > Fix the fatal │\n│   error in main.c │", "│ > … │\n│   … │"},
		"many lines":                   {long, "> Write the text for when a user says goodbye,\n  and then the one for a fatal error.\n", "> …\n  …\n"},
		"a sign before each":           {long, "> Write the text for when a user says goodbye,\n> and then the one for a fatal error.\n", "> …\n> …\n"},
		"a line of it that is said":    {"When you are through, print\nall tasks completed", "all tasks completed\n", "all tasks completed\n"},
		"a short text":                 {"goodbye", "> goodbye\nno goodbye yet\ngoodbye now", "> …\nno goodbye yet\ngoodbye now"},
		"its last lines, of many":      {strings.Repeat("a line of the log\n", 300) + fix, "a line of the log\n> " + fix + "\nok", "…\n> …\nok"},
		"the end of a long line":       {strings.Repeat("word by word, ", 20) + fix, "rd, word by word, word by word, word by word, word by word, " + fix + "\nok", "…\nok"},
		"its first line for the whole": {fix + "\nand print\nall tasks completed", "> " + fix + " (+2 lines)\nall tasks completed", "> … (+2 lines)\nall tasks completed"},
		"an end that is said":          {strings.Repeat("word ", 20) + fix, strings.Repeat("other ", 20) + strings.Repeat("word ", 10) + fix, strings.Repeat("other ", 20) + strings.Repeat("word ", 10) + fix},
		"a text that is not there":     {fix, "Fix a fatal error in main.c", "Fix a fatal error in main.c"},
		"too short":                    {"y", "y\n", "y\n"},
		"nothing":                      {"", "screen", "screen"},
		"what it asks, which is short": {"npm test", "$ npm tests", "$ npm tests"},
	} {
		if got, _ := echo.Without(c.screen, []echo.Text{echo.Of(c.typed, 77)}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The lines of a text are those that show nothing else.
func TestSpans(t *testing.T) {
	const fix, next = "Fix the fatal error in main.c", "Now write a test for the parser"
	for name, c := range map[string]struct {
		screen string
		want   []session.Span
	}{
		"as it was typed":      {"> " + fix + "\nok", []session.Span{{First: 0, Last: 0}}},
		"broken, in a frame":   {"hello\n\n│ > Fix the fatal │\n│   error in main.c │\nok", []session.Span{{First: 2, Last: 3}}},
		"many lines":           {"> one line of the text\n  and then another one\nok", []session.Span{{First: 0, Last: 1}}},
		"many lines in one":    {"> one line of the text and then another one\nok", []session.Span{{First: 0, Last: 0}}},
		"two texts":            {"> " + next + "\nok\n> " + fix + "\nok", []session.Span{{First: 0, Last: 0}, {First: 2, Last: 2}}},
		"words before it":      {"error in: " + fix + "\nok", nil},
		"words behind it":      {fix + " (failed)\nok", nil},
		"words behind, broken": {"> Fix the fatal\nerror in main.c failed", nil},
		"a text not there":     {"ok", nil},
	} {
		texts := []echo.Text{echo.Of(fix, 7), echo.Of(next, 8), echo.Of("one line of the text\nand then another one", 9)}
		if _, got := echo.Without(c.screen, texts); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// However a text is broken and indented, nothing of it is left, and all else is.
func TestWithoutIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typed := rapid.StringMatching(`[A-Za-z][a-z ,.é]{20,200}[a-z]`).Draw(t, "typed")
		width := rapid.IntRange(5, 80).Draw(t, "width")
		var rows []string
		for rest := []rune(typed); len(rest) > 0; {
			n := min(width, len(rest))
			rows = append(rows, "  "+string(rest[:n]))
			rest = rest[n:]
		}
		above, below := rapid.StringMatching(`[0-9]{0,30}`).Draw(t, "above"), rapid.StringMatching(`[0-9]{1,30}`).Draw(t, "below")
		got, _ := echo.Without(above+"\n"+strings.Join(rows, "\n")+"\n"+below, []echo.Text{echo.Of(typed, rapid.Uint64().Draw(t, "salt"))})
		if strings.ContainsFunc(got, func(r rune) bool { return r >= 'a' && r <= 'z' }) || !strings.HasPrefix(got, above+"\n") || !strings.HasSuffix(got, "\n"+below) {
			t.Fatalf("%q is left", got)
		}
	})
}

// TestIn checks how often a text is found in what an agent says that it was told.
func TestEnds(t *testing.T) {
	long := strings.Repeat("word by word, ", 20) + "to the end"
	for name, c := range map[string]struct {
		typed, screen string
		want          bool
	}{
		"as it was typed":   {"fix it", "hello\nready> fix it  \n\n", true},
		"in a frame":        {"fix it", "╭───╮\n│ > fix │\n│   it  │\n╰───╯", true},
		"words follow":      {"fix it", "> fix it\non it", false},
		"of a longer one":   {"fix it", "> prefix it", true}, // the sign before it may be any
		"its end alone":     {"fix it", "> it", false},
		"of several lines":  {"fix it\nand this", "> fix it\n  and this", true},
		"its last line":     {"fix it\nand this", "and this", false},
		"begins above":      {long, long[100:], true},
		"the end of others": {long, "the end", false},
		"too short":         {"y", "> y", false},
		"nothing":           {"", "> ", false},
	} {
		if got := echo.Of(c.typed, 77).Ends(c.screen); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestIn(t *testing.T) {
	many := strings.Repeat("a line that is one of many\n", 300)
	for name, c := range map[string]struct {
		typed, told string
		want        int
	}{
		"as it was typed":         {"go on", "go on", 1},
		"after a blank":           {"/help me", " /help me", 1},
		"joined with another one": {"go on", "look first\n\ngo on", 1},
		"joined with itself":      {"go on", "go on\n\ngo on", 2},
		"one character":           {"y", "y", 1},
		"of many lines":           {many, many, 1},
		"half of it":              {many, many[:len(many)/2], 0},
		"another text":            {"go on", "go off", 0},
		"nothing":                 {" ", "go on", 0},
	} {
		typed := echo.Of(c.typed, 77)
		if got := typed.In(c.told); got != c.want {
			t.Errorf("%s: %d times, want %d", name, got, c.want)
		}
		if got := typed.Is(c.told); got != (c.want == 1 && name != "joined with another one") {
			t.Errorf("%s: the same %v", name, got)
		}
	}
}
