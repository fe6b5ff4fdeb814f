package view

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentform/agentform/internal/plaintext"
)

func sampleOutputs() []Output {
	return []Output{
		{"branches", json.RawMessage(`{"web":"agents/web","the api":"agents/api","none":null}`), false, "who works where"},
		{"count", json.RawMessage(`12345678901234567890`), false, ""},
		{"empty", json.RawMessage(`{"list":[],"map":{}}`), false, ""},
		{"list", json.RawMessage(`["a\nb",{"x":true},1.5]`), false, ""},
		{"token", json.RawMessage(`"s3cret"`), true, "for the gate"},
		{"url", json.RawMessage(`"https://x.example/?a=1&b=<2>"`), false, ""},
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
		all := []Output{{x, value, false, x}, {"secret", value, true, ""}}
		for _, err := range []error{
			Outputs(&text, Style{Color: true}, all), OutputValue(&text, all[0]), OutputValue(&text, Output{Name: x, Value: word}),
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
	bad := Output{Name: "x", Value: json.RawMessage(`{`)}
	for name, err := range map[string]error{
		"Outputs": Outputs(io.Discard, Style{}, []Output{bad}), "OutputValue": OutputValue(io.Discard, bad),
		"OutputsJSON": OutputsJSON(io.Discard, []Output{bad}), "OutputJSON": OutputJSON(io.Discard, bad),
		"full disk": OutputValue(broken{}, sampleOutputs()[1]),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
