package server

import (
	"cmp"
	"encoding"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/api"
)

type object = map[string]any

// OpenAPI returns the OpenAPI 3.1 document of the API.
func OpenAPI() map[string]any {
	s := &schemas{types: map[string]reflect.Type{}, found: object{}}
	paths := object{}
	for _, r := range append(routes(), loginRoutes(Listener{})...) {
		for _, path := range r.paths() {
			item, _ := paths[path].(object)
			if item == nil {
				item = object{}
			}
			item[strings.ToLower(r.method)] = r.operation(path, s)
			if strings.Contains(path, "{id}") {
				about := "the id, the address or the short name of a session, escaped: worker%5B%22web%22%5D"
				if strings.HasPrefix(path, "/v1/logins/") {
					about = "the id of a login"
				}
				item["parameters"] = []any{object{"name": "id", "in": "path", "required": true, "schema": object{"type": "string", "maxLength": maxID},
					"description": about}}
			}
			paths[path] = item
		}
	}
	fail := s.of(reflect.TypeFor[api.Failure]())
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "agentform hub", "version": api.FormatVersion,
			"description": "The sessions of one project, as the hub sees them. Fields may be added: ignore those that you do not know.",
		},
		"servers":  []any{object{"url": "http://localhost", "description": "on the hub's unix socket, or at the address of agentform serve --listen"}},
		"security": []any{object{}, object{"token": []any{}}},
		"paths":    paths,
		"components": object{
			"schemas": s.found,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer",
				"description": "required on TCP; not on the unix socket, to which only you can connect"}},
			"responses": object{"error": object{"description": "error", "content": object{"application/json": object{"schema": fail}}}},
		},
	}
}

func (r route) operation(path string, s *schemas) object {
	o := object{"operationId": r.id, "summary": r.summary}
	if path != r.path {
		o["operationId"] = r.id + strings.NewReplacer("/", "_", "{", "", "}", "", "-", "_").Replace(path)
		o["description"] = "The same as " + r.path + "."
	} else if r.about != "" {
		o["description"] = r.about
	}
	if r.open {
		o["security"] = []any{object{}}
	}
	var query []any
	for _, p := range r.query {
		query = append(query, p.described())
	}
	if query != nil {
		o["parameters"] = query
	}
	if r.in != nil {
		properties, _ := s.fields(reflect.TypeOf(r.in))
		schema := object{"type": "object", "properties": properties, "additionalProperties": false}
		o["requestBody"] = object{"content": object{"application/json": object{"schema": schema}}}
	}
	media, schema := "application/json", object{"type": "object"}
	switch {
	case r.media != "":
		media, schema = r.media, object{"type": "string"}
	case reflect.TypeOf(r.out).Kind() != reflect.Map:
		schema = s.of(reflect.TypeOf(r.out))
	}
	answers := object{"200": object{"description": "done", "content": object{media: object{"schema": schema}}}}
	fails := slices.Concat([]int{http.StatusBadRequest, http.StatusForbidden}, r.fails)
	if !r.open {
		fails = append(fails, http.StatusUnauthorized)
	}
	for _, status := range fails {
		answers[strconv.Itoa(status)] = object{"$ref": "#/components/responses/error"}
	}
	if r.also != 0 {
		answers[strconv.Itoa(r.also)] = answers["200"]
	}
	if r.method == http.MethodGet && r.media == "" {
		answers[strconv.Itoa(http.StatusNotModified)] = object{"description": "the document is the one whose ETag If-None-Match has"}
	}
	o["responses"] = answers
	return o
}

func (p param) described() object {
	schema := object{"type": p.kind}
	switch p.kind {
	case "integer":
		schema["minimum"], schema["maximum"] = 1, p.most
	case "string":
		schema["maxLength"] = p.most
	}
	if p.many {
		schema = object{"type": "array", "items": schema}
	}
	return object{"name": p.name, "in": "query", "description": p.about, "schema": schema}
}

// schemas are JSON Schemas of Go types.
type schemas struct {
	types map[string]reflect.Type // by the name in the document
	found object
}

// of returns the schema of a type as encoding/json writes it. A struct is described once.
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
	case reflect.Interface:
		return object{}
	}
	return object{"type": cmp.Or(kinds[t.Kind()], "integer")}
}

var kinds = map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Float64: "number"}

// writesText reports whether a type has its own encoding, which is a string here.
func writesText(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || t.Implements(reflect.TypeFor[json.Marshaler]())
}

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
	properties, required := s.fields(t)
	s.found[name] = object{"type": "object", "properties": properties}
	if len(required) > 0 {
		s.found[name].(object)["required"] = required
	}
	return ref
}

func (s *schemas) fields(t reflect.Type) (properties object, required []string) {
	properties = object{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" || !f.IsExported() || name == "-" {
			continue
		}
		name = cmp.Or(name, f.Name)
		properties[name] = s.of(f.Type)
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	return properties, required
}
