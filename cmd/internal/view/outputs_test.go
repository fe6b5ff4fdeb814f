package view

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/plaintext"
)

func sampleOutputs() []config.Output {
	return []config.Output{
		{Name: "branches", Value: json.RawMessage(`{"web":"agents/web","the api":"agents/api","none":null}`), Sensitive: false, Description: "who works where"},
		{Name: "count", Value: json.RawMessage(`12345678901234567890`), Sensitive: false, Description: ""},
		{Name: "empty", Value: json.RawMessage(`{"list":[],"map":{}}`), Sensitive: false, Description: ""},
		{Name: "list", Value: json.RawMessage(`["a\nb",{"x":true},1.5]`), Sensitive: false, Description: ""},
		{Name: "token", Value: json.RawMessage(`"s3cret"`), Sensitive: true, Description: "for the gate"},
		{Name: "url", Value: json.RawMessage(`"https://x.example/?a=1&b=<2>"`), Sensitive: false, Description: ""},
	}
}

func TestOutputs(t *testing.T) {
	styles(t, "outputs", false, func(w io.Writer, s Style) error { return Outputs(w, s, sampleOutputs()) })
	golden(t, "outputs.json", func(w io.Writer) error { return OutputsJSON(w, sampleOutputs()) })
	golden(t, "output.json", func(w io.Writer) error { return OutputJSON(w, sampleOutputs()[4]) })
	for i, want := range map[int]string{1: "12345678901234567890\n", 4: "s3cret\n", 5: "https://x.example/?a=1&b=<2>\n", 2: "{\n  list = []\n  map = {}\n}\n"} {
		var b bytes.Buffer
		if err := OutputValue(&b, sampleOutputs()[i]); err != nil || b.String() != want {
			t.Errorf("%s: %q, want %q (%v)", sampleOutputs()[i].Name, b.String(), want, err)
		}
	}
}

func TestHostileOutputs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := hostile().Draw(t, "text")
		value, err := json.Marshal(map[string]any{x: []any{x}, "text": x})
		if err != nil {
			t.Fatal(err)
		}
		word, _ := json.Marshal(x)
		var text, documents bytes.Buffer
		all := []config.Output{{Name: x, Value: value, Sensitive: false, Description: x}, {Name: "secret", Value: value, Sensitive: true, Description: ""}}
		for _, err := range []error{
			Outputs(&text, Style{Color: true}, all), OutputValue(&text, all[0]), OutputValue(&text, config.Output{Name: x, Value: word}),
			OutputsJSON(&documents, all), OutputJSON(&documents, all[0]),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, out := range []string{ours.ReplaceAllString(text.String(), ""), documents.String()} {
			if i := strings.IndexFunc(out, plaintext.Harmful); i >= 0 {
				t.Fatalf("not safe for a terminal: %q", out[i:])
			}
		}
	})
}

func TestOutputErrors(t *testing.T) {
	if OutputValue(broken{}, sampleOutputs()[1]) == nil {
		t.Error("full disk: no error")
	}
}
