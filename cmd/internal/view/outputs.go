package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
)

// Output is an output of a manifest.
type Output struct {
	Name        string
	Value       json.RawMessage
	Sensitive   bool // not shown among others
	Description string
}

// value keeps numbers as written.
func (o Output) value() (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(o.Value))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("output %s: %w", o.Name, err)
	}
	return v, nil
}

// Outputs writes outputs in the manifest's language. It withholds sensitive values.
func Outputs(w io.Writer, s Style, outputs []Output) error {
	p := page{Style: s}
	for _, o := range outputs {
		text := p.paint(dim, "(sensitive)")
		if !o.Sensitive {
			v, err := o.value()
			if err != nil {
				return err
			}
			text = plaintext.Safe(written(v, "")) // as it is: who set it may want its paths whole
		}
		p.line(p.paint(bold, o.Name)+" = ", text)
	}
	return p.flush(w)
}

// OutputValue writes the value of one output, even if it is sensitive: a string
// unquoted, for shells, and other values as Outputs does.
func OutputValue(w io.Writer, o Output) error {
	v, err := o.value()
	if err != nil {
		return err
	}
	text, is := v.(string)
	if !is {
		text = written(v, "")
	}
	_, err = io.WriteString(w, plaintext.Safe(text)+"\n")
	return err
}

// OutputsJSON writes outputs as one document, an object by name as in Terraform.
// Sensitive values are null.
func OutputsJSON(w io.Writer, outputs []Output) error {
	records := make(map[string]wire.Object, len(outputs))
	for _, o := range outputs {
		if o.Sensitive {
			o.Value = json.RawMessage("null")
		}
		v, err := o.value()
		if err != nil {
			return err
		}
		records[o.Name] = o.record(v)
	}
	return document(w, "outputs", records)
}

// OutputJSON writes one output as one document, even if it is sensitive.
func OutputJSON(w io.Writer, o Output) error {
	v, err := o.value()
	if err != nil {
		return err
	}
	return document(w, o.record(v)...)
}

func (o Output) record(v any) wire.Object {
	return wire.Object{"name", o.Name, "value", v, "sensitive", o.Sensitive, "description", o.Description}
}

var bareKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\pL_][\pL\pN_-]*$`)
})

func written(v any, indent string) string {
	deeper := indent + "  "
	var b strings.Builder
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(v)
	case []any:
		if len(v) == 0 {
			return "[]"
		}
		b.WriteString("[\n")
		for _, e := range v {
			b.WriteString(deeper + written(e, deeper) + ",\n")
		}
		return b.String() + indent + "]"
	case map[string]any:
		if len(v) == 0 {
			return "{}"
		}
		b.WriteString("{\n")
		for _, k := range slices.Sorted(maps.Keys(v)) {
			key := k
			if !bareKey().MatchString(k) {
				key = strconv.Quote(k)
			}
			b.WriteString(deeper + key + " = " + written(v[k], deeper) + "\n")
		}
		return b.String() + indent + "}"
	}
	return fmt.Sprint(v)
}
