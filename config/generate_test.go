package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
	"github.com/google/go-cmp/cmp"
)

// specsOf returns a manifest's sessions as the state would have them, with their prompts.
func specsOf(t *testing.T, sessions []session.Spec) map[session.Address]string {
	t.Helper()
	all := map[session.Address]string{}
	for _, s := range sessions {
		b, err := json.MarshalIndent(s, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		all[s.Address] = string(b) + "\n" + s.Prompt.Text
	}
	return all
}

func writeFile(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "agentform.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func withoutManifests(t *testing.T, o Options) {
	t.Helper()
	for _, f := range []string{"agentform.hcl", "*.agentform.hcl", "*.agentform.json"} {
		found, err := filepath.Glob(filepath.Join(o.Dir, f))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What is generated from the sessions of a manifest loads as the same sessions.
func TestGenerate(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join("testdata", "right", "*"))
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, from := range cases {
		t.Run(filepath.Base(from), func(t *testing.T) {
			o := project(t, from)
			m, problems := Load(o)
			if session.HasErrors(problems) || len(m.Sessions) == 0 || len(o.Files) > 0 {
				return
			}
			tried++
			withoutManifests(t, o)
			bare, _ := Load(Options{Dir: o.Dir, Builtins: o.Builtins, Version: o.Version, Environ: o.Environ})
			bare.DataDir = m.DataDir
			var drafts []Draft
			for _, s := range m.Sessions {
				s.Lifecycle.ReplaceTrigger = ""
				drafts = append(drafts, Draft{Spec: s})
			}
			made := bare.Generate(drafts, o.Builtins)
			if formatted, err := Format(made.Text); err != nil || string(formatted) != string(made.Text) {
				t.Fatalf("it is not formatted: %v\n%s", err, cmp.Diff(string(made.Text), string(formatted)))
			}
			writeFile(t, o.Dir, string(made.Text))
			again, problems := Load(Options{Dir: o.Dir, Builtins: o.Builtins, Version: o.Version, Environ: o.Environ, DataDir: m.DataDir})
			if session.HasErrors(problems) {
				t.Fatalf("%v\n%s", problems, made.Text)
			}
			for i := range m.Sessions {
				m.Sessions[i].Lifecycle.ReplaceTrigger = ""
			}
			want, got := specsOf(t, m.Sessions), specsOf(t, again.Sessions)
			for _, note := range made.Notes { // what is left out is said
				address, _, _ := strings.Cut(note, ":")
				for a := range want {
					if a.Within(session.Address(address)) {
						delete(want, a)
						delete(got, a)
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("notes %q, -want +got:\n%s\n%s", made.Notes, diff, made.Text)
			}
		})
	}
	if tried < 8 {
		t.Errorf("only %d manifests were tried", tried)
	}
}

func TestGenerateText(t *testing.T) {
	for _, s := range []string{
		"", "one line", "one\n", "two\nlines", "two\nlines\n", "three\n\nlines\n\n", "  indented\n\tmore\n", "a ${b} and %{c}\nd", "$${x}\ny",
		"say \"hi\" \\ there\nnow", "EOT\nEOT\n", "tab\tand \x1b[0m\nbell", "ü\n日本", "\n", "\n\nfirst", "cr\rlf\nx", "#{x}\n`y`",
	} {
		dir := t.TempDir()
		src := "session \"a\" {\n agent = \"claude\"\n prompt = " + text(s) + "\n workspace {\n mode = \"plain\"\n }\n}\n"
		writeFile(t, dir, src)
		m, problems := Load(Options{Dir: dir, Builtins: builtins(), Version: "0.1.0-dev"})
		if session.HasErrors(problems) || len(m.Sessions) != 1 {
			t.Errorf("%q: %v\n%s", s, problems, src)
			continue
		}
		if got := m.Sessions[0].Prompt.Text; got != s {
			t.Errorf("%q is loaded as %q from\n%s", s, got, src)
		}
	}
}

// A path next to the project is written relative to it, one further away as it is.
func TestGeneratePaths(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(dir, "shop")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	load := func(text string) *Manifest {
		t.Helper()
		writeFile(t, project, text)
		m, problems := Load(Options{Dir: project, Builtins: builtins(), Version: "0.1.0-dev"})
		if session.HasErrors(problems) {
			t.Fatalf("%v\n%s", problems, text)
		}
		return m
	}
	for path, want := range map[string]string{
		filepath.Join(project, "notes"): "notes",
		filepath.Join(dir, "notes"):     "../notes",
		filepath.Dir(dir) + "/x/notes":  filepath.Dir(dir) + "/x/notes",
	} {
		m := load("session \"a\" {\n agent = \"claude\"\n workspace {\n mode = \"plain\"\n path = " + Quote(path) + "\n }\n}\n")
		made := m.Generate([]Draft{{Spec: m.Sessions[0]}}, builtins())
		if line := "path = " + Quote(want); !strings.Contains(string(made.Text), line) {
			t.Errorf("%s: no %s in\n%s", path, line, made.Text)
		}
		if again := load(string(made.Text)); again.Sessions[0].Workspace.Path != path {
			t.Errorf("%s is loaded as %s from\n%s", path, again.Sessions[0].Workspace.Path, made.Text)
		}
	}
}
