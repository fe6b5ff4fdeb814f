package server

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// schemas are JSON Schemas of Go types.
type schemas struct {
	types map[string]reflect.Type // by the name in the document
	found object
}

// of returns the schema of a type as encoding/json writes it. Structs are described once,
// and referred to. A pointer may be null.
func (s *schemas) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t.Kind() != reflect.Pointer && writesText(t):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return object{"anyOf": []any{s.of(t.Elem()), object{"type": "null"}}}
	case reflect.Struct:
		return s.refer(t)
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Interface:
		return object{}
	}
	return object{"type": "integer"}
}

// writesText reports whether a type has its own encoding, which is a string here.
func writesText(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || t.Implements(reflect.TypeFor[json.Marshaler]())
}

// refer describes a struct once, and returns a reference.
func (s *schemas) refer(t reflect.Type) object {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if other := s.types[name]; other != nil && other != t { // of another package
		name = strings.ReplaceAll(t.String(), ".", "")
	}
	ref := object{"$ref": "#/components/schemas/" + name}
	if s.types[name] == t {
		return ref
	}
	s.types[name] = t
	properties, required := object{}, []string{}
	s.fields(t, properties, &required)
	schema := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	s.found[name] = schema
	return ref
}

// strict returns the schema of a request body, which has no unknown fields.
func (s *schemas) strict(t reflect.Type) object {
	properties, required := object{}, []string{}
	s.fields(t, properties, &required)
	return object{"type": "object", "properties": properties, "additionalProperties": false}
}

// fields adds the fields of a struct, and of those that it embeds.
func (s *schemas) fields(t reflect.Type, properties object, required *[]string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			s.fields(f.Type, properties, required)
			continue
		case !f.IsExported() || name == "-":
			continue
		case name == "":
			name = f.Name
		}
		properties[name] = s.of(f.Type)
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}
