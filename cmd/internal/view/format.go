package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"

	"github.com/agentform/agentform/internal/plaintext"
)

// YAML writes a JSON document as YAML, in the same order.
func YAML(w io.Writer, document []byte) error {
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	node, err := yamlNode(d)
	if err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(node), e.Close()); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	var text strings.Builder
	for _, r := range b.String() {
		if plaintext.Harmful(r) { // in quotes, see yamlText
			fmt.Fprintf(&text, `\u%04X`, r)
		} else {
			text.WriteRune(r)
		}
	}
	_, err = io.WriteString(w, text.String())
	return err
}

// yamlNode returns the next value of a JSON text.
func yamlNode(d *json.Decoder) (*yaml.Node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		n := &yaml.Node{Kind: yaml.MappingNode}
		if t == '[' {
			n.Kind = yaml.SequenceNode
		}
		for d.More() { // the keys of an object are tokens, too
			inner, err := yamlNode(d)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, inner)
		}
		_, err := d.Token()
		return n, err
	case string:
		return yamlText(t), nil
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: t.String()}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(t)}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}, nil
}

func yamlText(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case strings.ContainsFunc(s, plaintext.Harmful):
		n.Style = yaml.DoubleQuotedStyle
	case strings.Contains(s, "\n"):
		n.Style = yaml.LiteralStyle
	}
	return n
}

// ParseTemplate parses a Go template for Template. The function json returns a value as JSON.
func ParseTemplate(text string) (*template.Template, error) {
	return template.New("output").Option("missingkey=error").Funcs(template.FuncMap{
		"json": func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
		"eq":   equal,
		"ne":   func(a, b any) (bool, error) { same, err := equal(a, b); return !same, err },
		"lt":   ordered(func(c int) bool { return c < 0 }),
		"le":   ordered(func(c int) bool { return c <= 0 }),
		"gt":   ordered(func(c int) bool { return c > 0 }),
		"ge":   ordered(func(c int) bool { return c >= 0 }),
	}).Parse(text)
}

// compare orders strings, and numbers by value. text/template refuses to compare an integer with a
// fraction, but in JSON a cost of 2.0 is 2.
func compare(a, b any) (int, error) {
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok {
			return cmp.Compare(x, y), nil
		}
	}
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y), nil
		}
	}
	if x, ok := numeric(a); ok {
		if y, ok := numeric(b); ok {
			return cmp.Compare(x, y), nil
		}
	}
	return 0, fmt.Errorf("incompatible types for comparison: %T and %T", a, b)
}

func numeric(v any) (float64, bool) {
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return float64(r.Int()), true
	case r.CanFloat():
		return r.Float(), true
	}
	return 0, false
}

func ordered(holds func(int) bool) func(a, b any) (bool, error) {
	return func(a, b any) (bool, error) {
		c, err := compare(a, b)
		return err == nil && holds(c), err
	}
}

// equal reports whether a value equals any of the others. null equals only null.
func equal(a, b any, more ...any) (bool, error) {
	for _, b := range append([]any{b}, more...) {
		x, xIs := a.(bool)
		y, yIs := b.(bool)
		var same bool
		switch {
		case a == nil || b == nil:
			same = a == nil && b == nil
		case xIs && yIs:
			same = x == y
		default:
			c, err := compare(a, b)
			if err != nil {
				return false, err
			}
			same = c == 0
		}
		if same {
			return true, nil
		}
	}
	return false, nil
}

// Template writes a JSON document with a template, and terminates the last line.
func Template(w io.Writer, document []byte, t *template.Template) error {
	var b strings.Builder
	if err := t.Execute(&b, templateValue(decoded(document))); err != nil {
		return err
	}
	text := b.String()
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// templateValue converts numbers for comparison, and makes texts safe on a terminal.
func templateValue(v any) any {
	switch v := v.(type) {
	case string:
		return plaintext.Safe(v)
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = templateValue(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = templateValue(v[k])
		}
	}
	return v
}
