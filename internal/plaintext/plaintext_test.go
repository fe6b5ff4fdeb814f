package plaintext

import (
	"testing"
	"time"
)

func TestSafe(t *testing.T) {
	for in, want := range map[string]string{
		"plain, größe, 日本, ✓":                      "plain, größe, 日本, ✓",
		"a\tb\nc":                                  "a\tb\nc",
		"\x1b[31mred\x1b[0m":                       "red",
		"\x1b]0;title\x07text":                     "text",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1b]52;c;cm0gLXJm":                       "52;c;cm0gLXJm", // never ended: nothing is swallowed
		"\x1bP+q544e\x1b\\x":                       "x",
		"\x1b(Bx\x1b7y\x1bcz":                      "xyz",
		"\u009b2Jx":                                "x",
		"one\r\ntwo\rthree":                        "one\ntwo\nthree",
		"bell\x07 del\x7f nul\x00 nel\u0085":       "bell^G del^? nul^@ nel<U+0085>",
		"abc\u202edcba":                            "abc<U+202E>dcba",
		"\xff\x9b2J":                               "\ufffd2J",
		"\x1b\x1b[[31m":                            "^[31m",
	} {
		if got := Safe(in); got != want {
			t.Errorf("Safe(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestList(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a and b": {"a", "b"}, "a, b and c": {"a", "b", "c"}} {
		if got := List(words, "and"); got != want {
			t.Errorf("List(%q) = %q, want %q", words, got, want)
		}
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{"": "''", "a/b.c": "a/b.c", "=x": "'=x'", "it's": `'it'\''s'`, "$(x)": "'$(x)'"} {
		if got := ShellWord(in); got != want {
			t.Errorf("ShellWord(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 59 * time.Second: "59s", 3*time.Minute + 50*time.Second: "3m", 2 * time.Hour: "2h",
		2*time.Hour + 5*time.Minute: "2h5m", 75 * time.Hour: "3d3h", 240 * time.Hour: "10d",
	} {
		if got := Age(d); got != want {
			t.Errorf("Age(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestFileName(t *testing.T) {
	for name, want := range map[string]string{
		"a.go": "a.go", "ä ö.txt": "ä ö.txt", "x\n\nRun: rm -rf ~": `"x\n\nRun: rm -rf ~"`, "a\u202eb": `"a\u202eb"`, `with"quote`: `"with\"quote"`,
	} {
		if got := FileName(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{{"größe", 7, "größe"}, {"größe", 6, "größ…"}, {"größe", 3, "gr…"}, {"größe", 0, "…"}, {"", 0, ""}} {
		if got := Cut(c.in, c.limit, "…"); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}
