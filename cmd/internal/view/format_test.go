package view

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
)

// YAML has the same content as JSON, and no control character reaches the terminal.
func TestYAML(t *testing.T) {
	golden(t, "status.yaml", func(w io.Writer) error {
		var document bytes.Buffer
		if err := wire.Write(&document, status.DocumentOf(sampleSessions()[:1], api.Places{Running: 1, MaxRunning: 8}, api.HubDown)); err != nil {
			return err
		}
		return YAML(w, document.Bytes())
	})
	for _, document := range []string{
		`{"a": "yes", "b": "1", "c": "null", "d": "", "e": "x: y", "f": "- z", "g": "#", "h": " s ", "i": "2026-03-14", "j": "~"}`,
		`{"n": 12345678901234, "f": 0.5, "t": true, "z": null, "e": [], "o": {}, "l": [[1], {"k": [2]}]}`,
		`{"text": "two\nlines\n", "bare": "two\nlines", "tail": "x \n y\n\n", "tab": "a\tb", "emoji": "🙂", "key: x": 1}`,
		`{"hostile": "\u001b[31m\u202e\u009b2J\r\n\u0007", "\u202e": 1}`,
		`[]`,
	} {
		var text bytes.Buffer
		if err := YAML(&text, []byte(document)); err != nil {
			t.Fatal(err)
		}
		if i := strings.IndexFunc(text.String(), plaintext.Harmful); i >= 0 {
			t.Errorf("%q reaches the terminal", text.String())
		}
		var got, want any
		if err := yaml.Unmarshal(text.Bytes(), &got); err != nil {
			t.Fatalf("%v in\n%s", err, text.String())
		}
		_ = json.Unmarshal([]byte(document), &want)
		b, _ := json.Marshal(got)
		_ = json.Unmarshal(b, &got)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s became\n%s", document, text.String())
		}
	}
	if err := YAML(io.Discard, []byte(`{"a":`)); err == nil {
		t.Error("half a document is no error")
	}
}

func TestTemplate(t *testing.T) {
	const document = `{"sessions": [{"name": "api", "restarts": 3, "pid": 4194303, "cost": 0.5, "detail": "\u001b[31mred", "alive": null}], "none": []}`
	for text, want := range map[string]string{
		`{{range .sessions}}{{.name}} {{.pid}} {{.cost}}{{end}}`:                     "api 4194303 0.5\n",
		`{{range .sessions}}{{if gt .restarts 2}}{{.name}}{{"\n"}}{{end}}{{end}}`:    "api\n",
		`{{with index .sessions 0}}{{.detail}}{{end}}`:                               "red\n",
		`{{json (index .sessions 0).name}} {{len .none}}`:                            "\"api\" 0\n",
		`{{range .none}}x{{end}}`:                                                    "",
		`{{range .sessions}}{{if .alive}}lives{{else}}not known{{end}}{{end}}`:       "not known\n",
		`{{range .sessions}}{{printf "%-6s|%5d" .name .restarts}}{{println}}{{end}}`: "api   |    3\n",
	} {
		parsed, err := ParseTemplate(text)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := Template(&b, []byte(document), parsed); err != nil || b.String() != want {
			t.Errorf("%s gives %q, %v; want %q", text, b.String(), err, want)
		}
	}
	for text, want := range map[string]string{
		"{{.nothing}}":       `<.nothing>: map has no entry for key "nothing"`,
		"{{lt .none 1}}":     "incompatible types for comparison",
		"{{eq true 1}}":      "incompatible types for comparison",
		"{{eq .none .none}}": "incompatible types for comparison",
	} {
		parsed, err := ParseTemplate(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := Template(io.Discard, []byte(document), parsed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// In JSON a number has a fraction or not depending on its value.
func TestTemplateCompares(t *testing.T) {
	const document = `{"name": "api", "n": 3, "cost": 0.5, "whole": 2, "yes": true, "null": null}`
	for _, holds := range []string{
		"lt .cost 1", "lt .cost 0.6", "gt .whole 1.5", "ge .n 3.0", "le .n 3", "eq .whole 2.0", "eq .n 1 2 3", "ne .cost 1", "ge 'd' 100",
		`eq .name "api"`, `ne .name "web"`, `lt .name "web"`, "eq .yes true", "ne .yes false", "eq .null .null", "ne .name .null", "ne .null .yes",
	} {
		parsed, err := ParseTemplate("{{" + holds + "}} {{not (" + holds + ")}}")
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := Template(&b, []byte(document), parsed); err != nil || b.String() != "true false\n" {
			t.Errorf("%s gives %q, %v", holds, b.String(), err)
		}
	}
}

// Totals count the words of the STATUS column, each session once.
func TestTallied(t *testing.T) {
	for _, text := range []string{Tallied(sampleSessions()), strings.ReplaceAll(short(t, sampleSessions()), " · ", ", ")} {
		left := map[string]int{}
		for _, x := range sampleSessions() {
			left[status.Word(x)]++
		}
		for part := range strings.SplitSeq(text, ", ") {
			n, word, _ := strings.Cut(part, " ")
			if strconv.Itoa(left[word]) != n {
				t.Errorf("%q in %q, want %d", part, text, left[word])
			}
			delete(left, word)
		}
		if len(left) > 0 {
			t.Errorf("%q lacks %v", text, left)
		}
	}
	if got := short(t, nil); got != "" {
		t.Errorf("%q of no session", got)
	}
}

func short(t *testing.T, sessions []api.Session) string {
	t.Helper()
	var b strings.Builder
	if err := Short(&b, sessions); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
