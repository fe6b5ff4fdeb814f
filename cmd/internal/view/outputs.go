package view

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
)

// Outputs writes outputs in the manifest's language. It withholds sensitive values.
func Outputs(w io.Writer, s Style, outputs []config.Output) error {
	p := page{Style: s}
	for _, o := range outputs {
		text := p.paint(dim, "(sensitive)")
		if !o.Sensitive {
			text = plaintext.Safe(written(decoded(o.Value), "")) // unchanged, as its paths may be needed whole
		}
		p.line(p.paint(bold, o.Name)+" = ", text)
	}
	return p.flush(w)
}

// OutputValue writes one output, even if it is sensitive. A string is unquoted, for shells.
func OutputValue(w io.Writer, o config.Output) error {
	v := decoded(o.Value)
	text, is := v.(string)
	if !is {
		text = written(v, "")
	}
	_, err := io.WriteString(w, plaintext.Safe(text)+"\n")
	return err
}

// OutputsJSON writes an object by name, as Terraform does. Sensitive values are null.
func OutputsJSON(w io.Writer, outputs []config.Output) error {
	records := make(map[string]wire.Object, len(outputs))
	for _, o := range outputs {
		if o.Sensitive {
			o.Value = nil
		}
		records[o.Name] = outputRecord(o)
	}
	return document(w, "outputs", records)
}

// OutputJSON writes one output as one document, even if it is sensitive.
func OutputJSON(w io.Writer, o config.Output) error { return document(w, outputRecord(o)...) }

func outputRecord(o config.Output) wire.Object {
	return wire.Object{"name", o.Name, "value", decoded(o.Value), "sensitive", o.Sensitive, "description", o.Description}
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
