package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the golden files want from what is got")

// builtins are agents as the agent package would give them, kept small so that
// the golden files do not change with it.
func builtins() map[string]session.AgentSpec {
	agents := map[string]session.AgentSpec{}
	for _, name := range []string{"claude", "codex", "gemini"} {
		agents[name] = session.AgentSpec{
			Name: name, Base: name, Command: []string{name}, PromptVia: "argument",
			ReadyTimeout: seconds(30), Observable: "at_start", UnobservedFor: session.Duration(day),
			Env:      map[string]string{"FROM": "base"},
			Patterns: session.Patterns{Done: []string{"all done"}},
		}
	}
	return agents
}

// project copies a case's directory to where it is a project of its own, in a git
// repository unless it has a file no-git. Two lines of the manifests do not
// depend on the machine: the directory's name is always "project".
func project(t *testing.T, from string) Options {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "project")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "no-git")); err != nil {
		repository(t, dir)
	}
	o := Options{Dir: dir, Builtins: builtins(), Version: "0.1.0-dev", Environ: []string{"HOME=/home/me", "LANG=C", "API_TOKEN=hunter22"}}
	flags, err := os.ReadFile(filepath.Join(dir, "flags.txt"))
	if err != nil {
		return o
	}
	for line := range strings.Lines(string(flags)) {
		kind, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch kind {
		case "--var":
			name, v, _ := strings.Cut(value, "=")
			o.Vars = append(o.Vars, Var{Name: name, Value: v})
		case "--var-file":
			o.Vars = append(o.Vars, Var{File: value})
		case "--file":
			o.Files = append(o.Files, value)
		case "env":
			o.Environ = append(o.Environ, value)
		default:
			t.Fatalf("flags.txt: unknown line %q", line)
		}
	}
	return o
}

// repository makes a directory the top of a git repository, as far as finding it
// goes.
func repository(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// same compares with a golden file, or writes it.
func same(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", path, d)
	}
}

// shown is problems as a person would see them.
func shown(ds []session.Diagnostic) string {
	var b strings.Builder
	for i, d := range ds {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s: %s\n", d.Severity, d.Summary)
		if d.Range != nil {
			fmt.Fprintf(&b, "  on %s line %d", d.Range.Filename, d.Range.Start.Line)
			if d.Snippet != nil && d.Snippet.Context != "" {
				fmt.Fprintf(&b, ", in %s", d.Snippet.Context)
			}
			if d.Address != "" {
				fmt.Fprintf(&b, " (%s)", d.Address)
			}
			b.WriteString(":\n")
		}
		if s := d.Snippet; s != nil {
			offset := 0
			for n, line := range strings.Split(s.Code, "\n") {
				fmt.Fprintf(&b, "  %3d: %s\n", s.Line+n, line)
				from, to := max(s.From-offset, 0), min(s.To-offset, len(line))
				if from < to || from == to && s.From == s.To && from <= len(line) && s.From >= offset {
					lead := strings.Map(func(r rune) rune {
						if r == '\t' {
							return r
						}
						return ' '
					}, line[:from])
					fmt.Fprintf(&b, "       %s%s\n", lead, strings.Repeat("^", max(len([]rune(line[from:to])), 1)))
				}
				offset += len(line) + 1
			}
			for _, v := range s.Values {
				fmt.Fprintf(&b, "       %s %s\n", v.Traversal, v.Statement)
			}
		}
		if d.Detail != "" {
			fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(d.Detail, "\n", "\n  "))
		}
	}
	return b.String()
}

// cases are the directories below testdata/KIND.
func cases(t *testing.T, kind string, least int) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("testdata", kind, "*", "want.*"))
	if err != nil || len(found) < least {
		t.Fatalf("testdata/%s has %d cases, %v", kind, len(found), err)
	}
	for i, f := range found {
		found[i] = filepath.Dir(f)
	}
	return found
}

func TestWrong(t *testing.T) {
	for _, dir := range cases(t, "wrong", 30) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			o := project(t, dir)
			m, ds := Load(o)
			text := strings.ReplaceAll(shown(ds), filepath.Dir(o.Dir), "/home/me")
			same(t, filepath.Join(dir, "want.txt"), text)
			if session.HasErrors(ds) && m.Sessions != nil {
				t.Error("there are sessions in spite of errors")
			}
			if _, again := Load(o); !cmp.Equal(ds, again) {
				t.Error("a second load tells something else")
			}
			for _, d := range ds {
				checkSnippet(t, o.Dir, d)
			}
		})
	}
}

// checkSnippet holds a snippet against the file that it is from.
func checkSnippet(t *testing.T, dir string, d session.Diagnostic) {
	t.Helper()
	if d.Snippet == nil {
		return
	}
	src, err := os.ReadFile(filepath.Join(dir, d.Range.Filename))
	if err != nil {
		t.Fatal(err)
	}
	code := d.Snippet.Code[d.Snippet.From:d.Snippet.To]
	if want := src[d.Range.Start.Byte:d.Range.End.Byte]; !bytes.HasPrefix(want, []byte(code)) {
		t.Errorf("%s: %q is highlighted, the range is %q", d.Summary, code, want)
	}
}

func TestRight(t *testing.T) {
	for _, dir := range cases(t, "right", 5) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			o := project(t, dir)
			m, ds := Load(o)
			if session.HasErrors(ds) {
				t.Fatal(shown(ds))
			}
			text, err := json.MarshalIndent(m, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(string(text), filepath.Dir(o.Dir), "/home/me")
			same(t, filepath.Join(dir, "want.json"), got+"\n")
			if text := shown(ds); text != "" {
				same(t, filepath.Join(dir, "warnings.txt"), text)
			}
			if again, _ := Load(o); !cmp.Equal(m, again) {
				t.Error("a second load gives something else")
			}
		})
	}
}
