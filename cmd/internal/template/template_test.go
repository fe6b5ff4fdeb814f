package template

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"text/template"
)

// document returns what templates are executed with.
func document() map[string]any {
	return map[string]any{
		"name": "api", "empty": "", "n": int64(3), "zero": int64(0), "share": 0.5, "yes": true, "no": false, "null": nil,
		"list": []any{"a", "b", "c"}, "none": []any{}, "nested": []any{[]any{int64(1)}, []any{int64(2)}},
		"object":   map[string]any{"b": int64(2), "a": "one", "deep": map[string]any{"er": "x & <y>"}},
		"sessions": []any{map[string]any{"name": "api", "tokens": int64(12)}, map[string]any{"name": "web", "tokens": int64(0)}},
	}
}

// templates are those for which text/template has a result and no error.
var templates = []string{
	"", "text", "{{/* comment */}}x", "{{.name}}", "{{.}}", "{{.null}} {{.n}} {{.share}} {{.yes}} {{.list}} {{.object}}", "{{.object.deep.er}}",
	"{{$}}", "{{$.name}}", "{{- .name -}} ", "{{1}} {{0x10}} {{'a'}} {{1.5}} {{1e3}} {{true}} {{\"q\\n\"}} {{`raw`}}",
	"{{if .yes}}a{{end}}{{if .no}}b{{else}}c{{end}}{{if .empty}}d{{else if .n}}e{{else}}f{{end}}{{if .null}}g{{end}}{{if .none}}h{{end}}{{if .object}}i{{end}}{{if .share}}j{{end}}",
	"{{with .object}}{{.a}} {{$.name}}{{end}}{{with .empty}}x{{else}}y{{end}}{{with $x := .n}}{{$x}}{{.}}{{end}}{{with .no}}{{else with .name}}{{.}}{{end}}",
	"{{range .list}}{{.}},{{end}}", "{{range .none}}x{{else}}none{{end}}{{range .null}}x{{else}}null{{end}}",
	"{{range $i, $x := .list}}{{$i}}={{$x}} {{end}}", "{{range $x := .list}}{{$x}}{{end}}", "{{range $k, $v := .object}}{{$k}}={{$v}};{{end}}", "{{range .object}}{{.}};{{end}}",
	"{{range 3}}{{.}}{{end}}", "{{range $i := 3}}{{$i}}{{end}}", "{{range .n}}{{.}}{{else}}x{{end}}", "{{range .zero}}{{.}}{{else}}x{{end}}",
	"{{range .list}}{{if eq . \"b\"}}{{continue}}{{end}}{{.}}{{end}}", "{{range .list}}{{if eq . \"b\"}}{{break}}{{end}}{{.}}{{end}}",
	"{{range .nested}}{{range .}}{{if eq . 1}}{{break}}{{end}}{{.}}{{end}};{{end}}",
	"{{$x := 1}}{{range .list}}{{$x = .}}{{end}}{{$x}}", "{{$x := 1}}{{if true}}{{$x := 2}}{{$x}}{{end}}{{$x}}", "{{$x := .object}}{{$x.deep.er}}",
	"{{$i := 0}}{{$x := 0}}{{range $i, $x = .list}}{{end}}{{$i}}{{$x}}",
	"{{range .sessions}}{{.name}} {{.tokens}}{{\"\\n\"}}{{end}}", "{{(index .sessions 1).name}}", "{{(index .sessions 0).name | printf \"%5s|\"}}", "{{index .nested 1 0}}", "{{index .object \"a\"}}", "{{index .list}}",
	"{{.name | len}}", "{{len .list}}{{len .object}}{{len .name}}", "{{.name | printf \"%s-%d\" | print 1}}", "{{printf \"%q %v %d %05.2f\" .name .yes .n .share}}",
	"{{print .name .n}} {{print 1 2}} {{println 1 \"a\"}}", "{{not .yes}}{{not .null}}", "{{and .yes .name}} {{and .zero .name}} {{or .empty .name}} {{or .empty .zero}} {{.name | and .yes}} {{.name | or .no}}",
	"{{or .yes (index .list 9)}}{{and .no (index .list 9)}}", "{{eq .name \"api\"}}{{eq .n 3}}{{eq .n 1 2 3}}{{eq .yes true}}{{ne .name \"x\"}}{{ne .n 3}}{{eq .share 0.5}}",
	"{{lt 1 .n}}{{le 3 .n}}{{gt .n 3}}{{ge .n 3}}{{lt \"a\" \"b\"}}{{lt .share 0.6}}", "{{if and (eq .name \"api\") (gt .n 2)}}both{{end}}",
	"{{slice .name 1}}{{slice .name 1 2}}{{slice .list 1}}{{slice .name}}", "{{html .object.deep.er}} {{urlquery .object.deep.er}} {{html .n .name}}",
	"{{define \"T\"}}[{{.}}{{$}}]{{end}}{{template \"T\" .name}}{{template \"T\"}}", "{{block \"B\" .n}}<{{.}}>{{end}}", "{{define \"R\"}}{{range .}}{{template \"R\" .}}.{{end}}{{end}}{{template \"R\" .none}}",
	"{{len (printf \"%s\" .name)}}", "{{json .object}} {{.null | json}} {{json .list | len}}", "{{with $y := index .list 2}}{{$y}}{{end}}", "{{true | not}}", "{{print}}", "{{(.object).deep.er}}", "{{(print 1).x | or true}}",
}

// failing are templates that neither this package nor text/template executes.
var failing = []string{
	"{{.missing}}", "{{.name.x}}", "{{.null.x}}", "{{index .list 9}}", "{{index .list -1}}", "{{index .list \"a\"}}", "{{index .name 0 0}}", "{{index .object 1}}", "{{len .n}}", "{{len}}", "{{len 1 2}}", "{{lt .name 1}}", "{{eq .name 1}}", "{{eq .name}}", "{{lt 1}}", "{{ne 1}}",
	"{{eq .yes 1}}", "{{eq .list .list}}", "{{range .name}}{{end}}", "{{range .share}}{{end}}", "{{.name 1}}", "{{1 | .name}}", "{{nil}}", "{{template \"none\"}}", "{{slice .name 2 1}}", "{{slice .name 9}}", "{{slice .name \"a\"}}", "{{slice .object}}", "{{slice .name 0 1 2 3}}", "{{slice .n}}", "{{slice}}",
	"{{printf}}", "{{printf 1}}", "{{and}}", "{{or}}", "{{not}}", "{{index}}", "{{index .n 1}}", "{{define \"L\"}}{{template \"L\"}}{{end}}{{template \"L\"}}", "{{(print 1).x}}",
}

// real returns what text/template makes of a template.
func real(text string) (string, error) {
	asJSON := func(v any) (string, error) {
		b, err := json.Marshal(v)
		return string(b), err
	}
	t, err := template.New("output").Option("missingkey=error").Funcs(template.FuncMap{"json": asJSON}).Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, document())
	return b.String(), err
}

func execute(text string) (string, error) {
	t, err := Parse("output", text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, document())
	return b.String(), err
}

func TestSameAsTextTemplate(t *testing.T) {
	for _, text := range templates {
		want, err := real(text)
		if err != nil && !strings.Contains(text, "(print 1).x") {
			t.Errorf("%s: text/template: %v", text, err)
		}
		if got, gotErr := execute(text); got != want || (gotErr != nil) != (err != nil) {
			t.Errorf("%s:\n got %q, %v\nwant %q, %v", text, got, gotErr, want, err)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, text := range failing {
		if _, err := real(text); err == nil {
			t.Errorf("%s: text/template executes it", text)
		}
		if got, err := execute(text); err == nil {
			t.Errorf("%s: got %q, want an error", text, got)
		} else if !strings.HasPrefix(err.Error(), "template: output:1:") {
			t.Errorf("%s: the error does not say where: %v", text, err)
		}
	}
	for _, text := range []string{"{{", "{{.a", "{{unknown}}", "{{call 1}}", "{{js 1}}", "{{end}}", "{{break}}", "{{$x}}"} {
		if _, err := Parse("output", text); err == nil {
			t.Errorf("%s parses", text)
		}
	}
}

// Numbers of JSON are integers or not by chance.
func TestComparesNumbers(t *testing.T) {
	for text, want := range map[string]string{"{{eq 1 1.0}}{{lt .share 1}}{{ge .n 2.5}}": "truetruetrue", "{{eq .null .null}}{{eq .name .null}}{{ne .null .name}}": "truefalsetrue"} {
		if got, err := execute(text); got != want || err != nil {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	for _, text := range append(templates, failing...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "template") || strings.Contains(text, "block") || strings.ContainsAny(text, "0123456789") {
			t.Skip() // recursion and ranges over large numbers take their time
		}
		tmpl, err := Parse("output", text)
		if err != nil {
			return
		}
		before := maps.Clone(document())
		var b strings.Builder
		if tmpl.Execute(&b, before) != nil {
			return
		}
		if want, err := real(text); err == nil && want != b.String() {
			t.Errorf("%q:\n got %q\nwant %q", text, b.String(), want)
		}
	})
}
