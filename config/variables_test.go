package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/language"
	"github.com/agentform/agentform/session"
)

// write makes files in a new directory and returns options to load them.
func write(t testing.TB, files map[string]string) Options {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "project")
	if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Options{Dir: dir, Builtins: builtins(), Environ: []string{"HOME=/home/me"}}
}

// good loads what has no errors.
func good(t testing.TB, o Options) *Manifest {
	t.Helper()
	m, ds := Load(o)
	if session.HasErrors(ds) {
		t.Fatal(shown(ds))
	}
	return m
}

// bad loads what has errors and returns what a person would see of them.
func bad(t testing.TB, o Options) string {
	t.Helper()
	_, ds := Load(o)
	if !session.HasErrors(ds) {
		t.Fatal("no error")
	}
	return shown(ds)
}

const oneVariable = `
variable "x" {
  default = "default"
}

session "api" {
  agent  = "claude"
  branch = "b"
  prompt = var.x
}
`

func TestPrecedence(t *testing.T) {
	// each step adds a source that is stronger than all before it
	steps := []struct {
		want string
		add  func(files map[string]string, o *Options)
	}{
		{"default", func(map[string]string, *Options) {}},
		{"environ", func(_ map[string]string, o *Options) { o.Environ = append(o.Environ, "AGENTFORM_VAR_x=environ") }},
		{"vars", func(f map[string]string, _ *Options) { f["agentform.vars.hcl"] = `x = "vars"` }},
		{"auto a", func(f map[string]string, _ *Options) { f["a.auto.vars.hcl"] = `x = "auto a"` }},
		{"auto b", func(f map[string]string, _ *Options) { f["b.auto.vars.hcl"] = `x = "auto b"` }},
		{"flag", func(_ map[string]string, o *Options) { o.Vars = append(o.Vars, Var{Name: "x", Value: "flag"}) }},
		{"file", func(f map[string]string, o *Options) {
			f["mine.hcl"] = `x = "file"`
			o.Vars = append(o.Vars, Var{File: "mine.hcl"})
		}},
		{"json", func(f map[string]string, o *Options) {
			f["mine.json"] = `{"x": "json"}`
			o.Vars = append(o.Vars, Var{File: "mine.json"})
		}},
		{"later flag", func(_ map[string]string, o *Options) { o.Vars = append(o.Vars, Var{Name: "x", Value: "later flag"}) }},
	}
	files := map[string]string{"agentform.hcl": oneVariable}
	var given Options
	for _, s := range steps {
		s.add(files, &given)
		o := write(t, files)
		o.Environ, o.Vars = append(o.Environ, given.Environ...), given.Vars
		if got := good(t, o).Sessions[0].Prompt.Text; got != s.want {
			t.Errorf("with %q added: %q", s.want, got)
		}
	}
}

func TestTypedValues(t *testing.T) {
	tests := []struct{ typ, flag, want string }{
		{"string", "a, b", "a, b"},
		{"string", `"quoted"`, `"quoted"`},
		{"number", "12", "12"},
		{"bool", "true", "true"},
		{"any", "text", "text"},
		{"list(string)", `["a", "b"]`, "a+b"},
		{"list(number)", `[1, "2"]`, "1+2"},
		{"set(string)", `["b", "a", "b"]`, "a+b"},
		{"map(string)", `{ k = "v" }`, "v"},
		{"object({ a = string, b = optional(string, \"x\") })", `{ a = "v" }`, "v+x"},
		{"tuple([string, number])", `["a", 1]`, "a+1"},
	}
	for _, tt := range tests {
		o := write(t, map[string]string{"agentform.hcl": `
variable "x" { type = ` + tt.typ + ` }
session "api" {
  agent  = "claude"
  branch = "b"
  prompt = try(join("+", values(var.x)), join("+", [for e in var.x: tostring(e)]), tostring(var.x))
}`})
		o.Vars = []Var{{Name: "x", Value: tt.flag}}
		if got := good(t, o).Sessions[0].Prompt.Text; got != tt.want {
			t.Errorf("%s from %s: %q, want %q", tt.typ, tt.flag, got, tt.want)
		}
	}
}

func TestNullable(t *testing.T) {
	o := write(t, map[string]string{
		"agentform.hcl": `
variable "x" {
  default  = "default"
  nullable = false
}
session "api" {
  agent  = "claude"
  branch = "b"
  prompt = var.x
}`,
		"agentform.vars.hcl": "x = null",
	})
	if got := good(t, o).Sessions[0].Prompt.Text; got != "default" {
		t.Errorf("null for what cannot be null gives %q, not its default", got)
	}
}

// TestSensitiveStaysHidden puts a sensitive value into every attribute and looks
// for it in every message.
func TestSensitiveStaysHidden(t *testing.T) {
	const value = "swordfish-9"
	lang := language.Block{Blocks: language.Blocks()}
	var body strings.Builder
	for _, a := range lang.Block("session").Names() {
		if a != "for_each" && a != "count" && a != "depends_on" {
			body.WriteString("  " + a + " = var.token\n")
		}
	}
	for _, inner := range lang.Block("session").Blocks {
		body.WriteString("  " + inner.Type + " {\n")
		for _, a := range inner.Names() {
			body.WriteString("    " + a + " = var.token\n")
		}
		body.WriteString("  }\n")
	}
	var settings strings.Builder
	for _, a := range lang.Block("agentform").Names() {
		settings.WriteString("  " + a + " = var.token\n")
	}
	manifest := `
variable "token" {
  sensitive = true
}
locals {
  a = parseint(var.token, 10)
  b = jsondecode(var.token)
  c = { x = 1 }[var.token]
  d = regex("(${var.token}", "x")
  e = templatefile(var.token, {})
  f = env(var.token)
  g = fileset(var.token, "*")
  h = formatdate(var.token, "no date")
}
agentform {
` + settings.String() + `}
session "api" {
` + body.String() + `}
session "each" {
  for_each = { (var.token) = 1 }
  agent    = "claude"
  branch   = "x"
}
`
	for _, o := range []Options{
		write(t, map[string]string{"agentform.hcl": manifest, "agentform.vars.hcl": "token = \"" + value + "\"\n"}),
		write(t, map[string]string{"agentform.hcl": manifest}),
	} {
		o.Vars = []Var{{Name: "token", Value: value}}
		text := bad(t, o)
		if strings.Contains(text, value) {
			t.Errorf("the value is told:\n%s", text)
		}
		for _, a := range append(lang.Block("session").Names(), lang.Block("agentform").Names()...) {
			if a != "for_each" && a != "count" && a != "depends_on" && !strings.Contains(text, `Sensitive values are not allowed in "`+a+`"`) {
				t.Errorf("%s takes a sensitive value", a)
			}
		}
	}
}
