package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/config/expr"
)

const small = `
session "%s" {
  agent  = "claude"
  branch = "%[1]s"
}
`

func TestFilesGiven(t *testing.T) {
	one, two := fmt.Sprintf(small, "one"), fmt.Sprintf(small, "two")
	o := write(t, map[string]string{
		"agentform.hcl":         fmt.Sprintf(small, "unread"),
		"other/x.agentform.hcl": one,
		"other/.agentform.hcl":  "hidden",
		"other/main.hcl":        "not ours",
		"anything.txt":          two,
		"dir.agentform.hcl/x":   "a folder",
	})
	o.Files = []string{"other", "anything.txt", "./anything.txt"}
	m := good(t, o)
	if len(m.Sessions) != 2 || m.Root != o.Dir || len(m.Files) != 2 {
		t.Fatalf("%+v", m)
	}
	if got := m.Ranges["session.one"].Filename; got != "other/x.agentform.hcl" {
		t.Errorf("the file is called %q", got)
	}
}

func TestDataDir(t *testing.T) {
	o := write(t, map[string]string{"agentform.hcl": "agentform {\n  data_dir = \"/else/where\"\n}\n"})
	if got := good(t, o).DataDir; got != "/else/where" {
		t.Errorf("data_dir: %s", got)
	}
	o.DataDir = "mine"
	if got := good(t, o).DataDir; got != filepath.Join(o.Dir, "mine") {
		t.Errorf("overridden: %s", got)
	}
	o.Dir = filepath.Join(o.Dir, "nowhere")
	if m, ds := Load(o); m == nil || len(ds) != 1 || ds[0].Summary != "No such project directory" {
		t.Errorf("%v, %v", m, ds)
	}
}

func TestTooLarge(t *testing.T) {
	o := write(t, map[string]string{"agentform.hcl": strings.Repeat("# comment\n", expr.MaxFile/10+1)})
	if text := bad(t, o); !strings.Contains(text, "larger than 4 MiB") {
		t.Error(text)
	}
}

// TestDeep gives the parser what would otherwise end the program.
func TestDeep(t *testing.T) {
	const n = 1 << 17 // past maxOperators, and past what is harmless
	for name, text := range map[string]string{
		"not":        "locals {\n x = " + strings.Repeat("!", n) + "true\n}\n",
		"parens":     "locals {\n x = " + strings.Repeat("(", n),
		"sum":        "locals {\n x = (" + strings.Repeat("1+\n", n) + "1)\n}\n",
		"if":         "locals {\n x = " + strings.Repeat("true?1:", n) + "1\n}\n",
		"template":   "locals {\n x = \"" + strings.Repeat("${\"", n),
		"directives": "locals {\n x = \"" + strings.Repeat("%{if true}", n/8),
		"index":      "locals {\n x = a" + strings.Repeat("[0]", n) + "\n}\n",
		"blocks":     strings.Repeat("a {\n", n),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if text := bad(t, write(t, map[string]string{"agentform.hcl": text})); !strings.Contains(text, "Nested too deeply") {
				t.Errorf("%.300s", text)
			}
		})
	}
	for name, text := range map[string]string{
		"arrays":   `{"locals": {"x": ` + strings.Repeat("[", n),
		"invalid":  `{"locals": {"x": [bad, ` + strings.Repeat("[", n),
		"template": `{"locals": {"x": "${` + strings.Repeat("!", n) + `true}"}}`,
	} {
		if text := bad(t, write(t, map[string]string{"a.agentform.json": text})); !strings.Contains(text, "Nested too deeply") {
			t.Errorf("json %s: %.300s", name, text)
		}
	}
	// what only looks deep is none of it
	prose := "locals {\n  x = <<EOT\n" + strings.Repeat(strings.Repeat(":( [ { ", 20)+"\n", 2000) + "EOT\n}\n"
	good(t, write(t, map[string]string{"agentform.hcl": prose}))
}

func TestFilesAreConfined(t *testing.T) {
	o := write(t, map[string]string{"inside.md": "inside", "sub/deep.md": "deep"})
	outside := filepath.Join(filepath.Dir(o.Dir), "outside.md")
	if err := os.WriteFile(outside, []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"out.md": outside, "in.md": "inside.md", "dir": filepath.Dir(o.Dir)} {
		if err := os.Symlink(to, filepath.Join(o.Dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for expr, want := range map[string]string{
		`file("inside.md")`:                 "",
		`file("in.md")`:                     "",
		`file("${path.repo}/sub/deep.md")`:  "",
		`file("sub/../inside.md")`:          "",
		`file("out.md")`:                    "is outside",
		`file("dir/outside.md")`:            "is outside",
		`file("../outside.md")`:             "is outside",
		`file("/etc/passwd")`:               "is outside",
		`file("sub")`:                       "not a regular file",
		`templatefile("out.md", {})`:        "is outside",
		`join("", fileset("..", "*"))`:      "is outside",
		`join("", fileset("dir", "*"))`:     "is outside",
		`join("", fileset(".", "../*"))`:    "and inside it",
		`join("", fileset(".", "dir/*"))`:   "",
		`join(",", fileset(".", "**.md"))`:  "",
		`join(",", fileset("sub", "*.md"))`: "",
	} {
		manifest := "locals {\n  x = " + expr + "\n}\n" + fmt.Sprintf(small, "a")
		if err := os.WriteFile(filepath.Join(o.Dir, "agentform.hcl"), []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
		_, ds := Load(o)
		if want == "" && len(ds) > 0 || want != "" && !strings.Contains(shown(ds), want) {
			t.Errorf("%s: want %q, got\n%s", expr, want, shown(ds))
		}
	}
}

// TestWorktreesShareBranches declares one branch for two checkouts of one
// repository, the second of which is a linked worktree.
func TestWorktreesShareBranches(t *testing.T) {
	o := write(t, map[string]string{
		".git/worktrees/linked/commondir": "../..\n",
		"linked/.git":                     "gitdir: ../.git/worktrees/linked\n",
		"own/.git/HEAD":                   "ref: refs/heads/main\n",
		"agentform.hcl": `
session "a" {
  agent  = "claude"
  branch = "same"
}
session "b" {
  agent  = "claude"
  branch = "same"
  workspace { repo = "own" }
}
session "c" {
  agent  = "claude"
  branch = "same"
  workspace { repo = "linked" }
}
`})
	_, ds := Load(o)
	if len(ds) != 1 || ds[0].Summary != "Branch used twice" || ds[0].Address != "session.c" {
		t.Errorf("%s", shown(ds))
	}
}

func TestDevelopmentBuildSatisfiesEveryVersion(t *testing.T) {
	o := write(t, map[string]string{"agentform.hcl": "agentform {\n  required_version = \"> 99\"\n}\n"})
	o.Version = "dev"
	good(t, o)
}

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "90s": 90 * time.Second, "4h": 4 * time.Hour, "30d": 30 * day, "1d12h": 36 * time.Hour,
		"0.5d": 12 * time.Hour, "1h30m": 90 * time.Minute, "250ms": 250 * time.Millisecond,
	} {
		if got, err := expr.ParseDuration(s); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", s, got, err, want)
		}
	}
	for _, s := range []string{"", "10", "1.5", "d", "4 hours", "-1s", "1d-1h", "1d2d", "soon", "9999999999h", "200000d", "1e3s"} {
		if got, err := expr.ParseDuration(s); err == nil {
			t.Errorf("%q: %s, want an error", s, got)
		}
	}
}

func TestFormat(t *testing.T) {
	got, err := Format([]byte("session \"a\" {\nagent=\"claude\"\n  branch   = \"b\" # why\n}"))
	want := "session \"a\" {\n  agent  = \"claude\"\n  branch = \"b\" # why\n}"
	if err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
	if again, err := Format(got); err != nil || string(again) != want {
		t.Errorf("again: %q, %v", again, err)
	}
	if _, err := Format([]byte("a {\n b = \n}\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("broken: %v", err)
	}
}
