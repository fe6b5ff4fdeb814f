package config

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
)

// Schema returns a JSON Schema (draft 7) of manifests, with the native syntax in
// "x-agentform".
func Schema() ([]byte, error) {
	all := language()
	lifecycle := all["session"].blocks["lifecycle"]
	lifecycle.attr("ignore_changes").Values = append([]string{"all"}, ignorable()...)
	d := definitions{
		"expression": {"type": "string", "pattern": `\$\{|%\{`, "description": "A string template: ${ … }."},
		"text":       {"type": []string{"string", "number", "boolean", "null"}},
	}
	top := d.object("", nil, all)
	top["$schema"] = "http://json-schema.org/draft-07/schema#"
	top["title"] = "agentform manifest"
	top["description"] = "The JSON syntax of agentform's manifests: *.agentform.json."
	top["definitions"] = d
	native := nativeSchema{
		FormatVersion: "1.0",
		Blocks:        nativeBlocks(all),
		Functions:     expr.FunctionNames(),
		References:    []string{"agent", "count", "each", "local", "path", "runtime", "self", "session", "var"},
	}
	top["x-agentform"] = native
	return json.MarshalIndent(top, "", "  ")
}

type nativeSchema struct {
	FormatVersion string        `json:"format_version"`
	Blocks        []nativeBlock `json:"blocks"`
	Functions     []string      `json:"functions"`
	References    []string      `json:"references"`
}

type nativeBlock struct {
	Type        string        `json:"type"`
	Labels      []string      `json:"labels,omitempty"`      // their names
	FirstLabel  string        `json:"first_label,omitempty"` // of a block in Kinds
	Repeatable  bool          `json:"repeatable"`            // in its parent
	Description string        `json:"description"`
	Forces      string        `json:"forces,omitempty"`         // of the block as a whole
	Free        bool          `json:"any_attribute,omitempty"`  // locals
	Kinds       []nativeBlock `json:"by_first_label,omitempty"` // if its content depends on the first label
	Attributes  []attribute   `json:"attributes"`
	Blocks      []nativeBlock `json:"blocks"`
}

func nativeBlocks(all map[string]shape) []nativeBlock {
	list := []nativeBlock{}
	for _, typ := range slices.Sorted(maps.Keys(all)) {
		s := all[typ]
		b := nativeOf(typ, s)
		b.Repeatable = s.many || len(s.labels) > 0 && !(len(s.labels) == 1 && s.kinds != nil) || s.free || slices.ContainsFunc(s.attrs, func(a attribute) bool { return a.Kind == anAddress })
		for _, first := range slices.Sorted(maps.Keys(s.kinds)) {
			k := nativeOf(typ, s.kinds[first])
			k.Labels, k.FirstLabel, k.Repeatable = s.labels, first, len(s.labels) > 1
			b.Kinds = append(b.Kinds, k)
		}
		list = append(list, b)
	}
	return list
}

func nativeOf(typ string, s shape) nativeBlock {
	return nativeBlock{
		Type: typ, Labels: s.labels, Description: s.doc, Forces: s.forces, Free: s.free,
		Attributes: append([]attribute{}, s.attrs...), Blocks: nativeBlocks(s.blocks),
	}
}

type node map[string]any

type definitions map[string]node

func (d definitions) object(path string, attrs []attribute, blocks map[string]shape) node {
	properties, required := node{}, []string{}
	for _, a := range attrs {
		properties[a.Name] = attributeNode(a)
		if a.Required {
			required = append(required, a.Name)
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(blocks)) {
		properties[typ] = d.block(strings.TrimPrefix(path+"."+typ, "."), blocks[typ])
	}
	n := node{"type": "object", "properties": properties, "patternProperties": node{"^//$": node{}}, "additionalProperties": false}
	if len(required) > 0 {
		n["required"] = required
	}
	return n
}

// several defines a schema by name. Without the name it would double at each level.
func (d definitions) several(name string, n node) node {
	d[name] = n
	ref := node{"$ref": "#/definitions/" + name}
	return node{"anyOf": []node{ref, {"type": "array", "items": ref}}}
}

func (d definitions) block(path string, s shape) node {
	var body node
	switch {
	case s.free:
		body = d.several(path, node{"type": "object"})
	case s.kinds != nil:
		kinds := node{}
		for _, first := range slices.Sorted(maps.Keys(s.kinds)) {
			k, name := s.kinds[first], path+"."+first
			inner := d.several(name, d.object(name, k.attrs, k.blocks))
			if len(s.labels) == 1 {
				inner["description"] = plain(k.doc)
				kinds[first] = inner
				continue
			}
			kinds[first] = d.several(name+"-named", node{"type": "object", "additionalProperties": inner, "description": plain(k.doc)})
		}
		body = d.several(path, node{"type": "object", "properties": kinds, "additionalProperties": false})
	default:
		body = d.several(path, d.object(path, s.attrs, s.blocks))
		if len(s.labels) > 0 {
			body = d.several(path+"-named", node{"type": "object", "additionalProperties": body})
		}
	}
	body["description"] = plain(s.doc)
	return body
}

func attributeNode(a attribute) node {
	n := node{"anyOf": append(valueNodes(a), node{"$ref": "#/definitions/expression"}, node{"type": "null"})}
	if a.Kind == anything {
		n = node{}
	}
	n["description"] = plain(a.Doc)
	if a.Default != "" {
		n["default"] = json.RawMessage(a.Default)
	}
	return n
}

func valueNodes(a attribute) []node {
	element := node{"$ref": "#/definitions/text"}
	if len(a.Values) > 0 {
		element = node{"enum": a.Values}
		if len(a.Meanings) > 0 {
			element["enumDescriptions"] = plained(a.Meanings)
		}
	}
	template := node{"$ref": "#/definitions/expression"}
	listOf := func(elements ...node) node {
		return node{"type": "array", "items": node{"anyOf": append(elements, template)}}
	}
	switch a.Kind {
	case aFlag:
		return []node{{"type": "boolean"}}
	case aWhole:
		return []node{{"type": "integer"}}
	case aNumber:
		return []node{{"type": "number"}}
	case aDuration:
		return []node{{"type": "string", "pattern": `^\s*[0-9.]+[0-9.a-zµ]*\s*$`}}
	case aSize:
		return []node{{"type": "string", "pattern": `^\s*[0-9.]+\s*([KMGT]i?)?B\s*$`}}
	case someAddresses:
		until := node{"enum": []session.Await{session.AwaitReady, session.AwaitTurn, session.AwaitDone}}
		object := node{"type": "object", "required": []string{"session"}, "additionalProperties": false,
			"properties": node{"session": element, "until": node{"anyOf": []node{until, template}}}}
		return []node{listOf(element, object)}
	case someTexts, someRegexes, aCommand:
		return []node{listOf(element)}
	case trueOrTexts:
		return []node{{"type": "boolean"}, listOf(element)}
	case someFields:
		return []node{{"enum": []string{"all"}}, listOf(element)}
	case aTable:
		return []node{{"type": "object", "additionalProperties": element}}
	case someVolumes, someTaints:
		return []node{{"type": "array", "items": node{"type": "object"}}}
	case someMounts:
		flag := node{"anyOf": []node{{"type": "boolean"}, template, {"type": "null"}}}
		return []node{{"type": "array", "items": node{
			"type": "object", "required": []string{"source", "target"}, "additionalProperties": false,
			"properties": node{"source": element, "target": element, "read_only": flag},
		}}}
	}
	return []node{element}
}

var link = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`) })

// plain removes Markdown.
func plained(docs []string) []string {
	list := make([]string, len(docs))
	for i, doc := range docs {
		list[i] = plain(doc)
	}
	return list
}

func plain(doc string) string {
	return strings.ReplaceAll(link().ReplaceAllString(doc, "$1"), "`", "")
}
