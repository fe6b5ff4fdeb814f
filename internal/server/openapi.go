package server

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/agentform/agentform/api"
)

// object is a JSON object.
type object = map[string]any

// OpenAPI returns the OpenAPI 3.1 document of the API, generated from the routes and the
// types of their bodies.
func OpenAPI() map[string]any {
	s := &schemas{types: map[string]reflect.Type{}, found: object{}}
	paths := object{}
	for path, methods := range byPath(routes()) {
		item := object{}
		for method, r := range methods {
			item[strings.ToLower(method)] = r.operation(path, s)
		}
		if strings.Contains(path, "{id}") {
			item["parameters"] = []any{object{"name": "id", "in": "path", "required": true, "schema": object{"type": "string", "maxLength": maxID},
				"description": "the id, the address or the short name of a session, escaped: worker%5B%22web%22%5D"}}
		}
		paths[path] = item
	}
	fail := s.of(reflect.TypeFor[api.Failure]())
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "agentform hub", "version": api.FormatVersion,
			"description": "The sessions of one project, as the hub sees them. Fields may be added: read on past those that you do not know.",
		},
		"servers":  []any{object{"url": "http://localhost", "description": "on the hub's unix socket, or where agentform serve --listen says"}},
		"security": []any{object{}, object{"token": []any{}}},
		"paths":    paths,
		"components": object{
			"schemas": s.found,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer",
				"description": "needed on TCP; on the unix socket whoever can connect may"}},
			"responses": object{"error": object{"description": "why it was not done", "content": object{"application/json": object{"schema": fail}}}},
		},
	}
}

// operation describes a route under one of its paths.
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
		o["requestBody"] = object{"content": object{"application/json": object{"schema": s.strict(reflect.Indirect(reflect.ValueOf(r.in)).Type())}}}
	}
	var content object
	switch {
	case r.media != "":
		content = object{r.media: object{"schema": object{"type": "string"}}}
	case reflect.TypeOf(r.out).Kind() == reflect.Map:
		content = object{"application/json": object{"schema": object{"type": "object"}}}
	default:
		content = object{"application/json": object{"schema": s.of(reflect.TypeOf(r.out))}}
	}
	answers := object{"200": object{"description": "done", "content": content}}
	for _, status := range slices.Concat([]int{400, 403}, r.fails) {
		answers[strconv.Itoa(status)] = object{"$ref": "#/components/responses/error"}
	}
	if !r.open {
		answers[strconv.Itoa(http.StatusUnauthorized)] = object{"$ref": "#/components/responses/error"}
	}
	if r.also != 0 {
		answers[strconv.Itoa(r.also)] = answers["200"]
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
