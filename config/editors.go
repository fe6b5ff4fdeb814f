package config

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/language"
	"github.com/agentform/agentform/session"
)

// NativeSchema is the language of manifests.
type NativeSchema struct {
	FormatVersion string           `json:"format_version"`
	Blocks        []language.Block `json:"blocks"`
	Functions     []string         `json:"functions"`
	References    []string         `json:"references"`
}

// Language returns the language of manifests, its blocks sorted.
func Language() NativeSchema {
	top := language.Block{Blocks: language.Sorted(language.Blocks())}
	top.Block("session").Block("lifecycle").Attribute("ignore_changes").Values = append([]string{"all"}, language.Ignorable()...)
	return NativeSchema{
		FormatVersion: "1.0",
		Blocks:        top.Blocks,
		Functions:     expr.FunctionNames(),
		References:    []string{"agent", "count", "each", "local", "path", "runtime", "self", "session", "var"},
	}
}

// Schema returns a JSON Schema (draft 7) of manifests, with the native syntax in
// "x-agentform".
func Schema() ([]byte, error) {
	native := Language()
	d := definitions{
		"expression": {"type": "string", "pattern": `\$\{|%\{`, "description": "A string template: ${ … }."},
		"text":       {"type": []string{"string", "number", "boolean", "null"}},
	}
	top := d.object("", language.Block{Blocks: native.Blocks})
	top["$schema"] = "http://json-schema.org/draft-07/schema#"
	top["title"] = "agentform manifest"
	top["description"] = "The JSON syntax of agentform's manifests: *.agentform.json."
	top["definitions"] = d
	top["x-agentform"] = native
	return json.MarshalIndent(top, "", "  ")
}

type node map[string]any

type definitions map[string]node

func (d definitions) object(path string, b language.Block) node {
	properties, required := node{}, []string{}
	for _, a := range b.Attributes {
		properties[a.Name] = attributeNode(a)
		if a.Required {
			required = append(required, a.Name)
		}
	}
	for _, inner := range b.Blocks {
		properties[inner.Type] = d.block(strings.TrimPrefix(path+"."+inner.Type, "."), inner)
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

func (d definitions) block(path string, b language.Block) node {
	var body node
	switch {
	case b.Free:
		body = d.several(path, node{"type": "object"})
	case len(b.Kinds) > 0:
		kinds := node{}
		for _, k := range b.Kinds {
			name := path + "." + k.FirstLabel
			inner := d.several(name, d.object(name, k))
			if len(b.Labels) == 1 {
				inner["description"] = plain(k.Doc)
				kinds[k.FirstLabel] = inner
				continue
			}
			kinds[k.FirstLabel] = d.several(name+"-named", node{"type": "object", "additionalProperties": inner, "description": plain(k.Doc)})
		}
		body = d.several(path, node{"type": "object", "properties": kinds, "additionalProperties": false})
	default:
		body = d.several(path, d.object(path, b))
		if len(b.Labels) > 0 {
			body = d.several(path+"-named", node{"type": "object", "additionalProperties": body})
		}
	}
	body["description"] = plain(b.Doc)
	return body
}

func attributeNode(a language.Attribute) node {
	n := node{"anyOf": append(valueNodes(a), node{"$ref": "#/definitions/expression"}, node{"type": "null"})}
	if a.Kind == language.Anything {
		n = node{}
	}
	n["description"] = plain(a.Doc)
	if a.Default != "" {
		n["default"] = json.RawMessage(a.Default)
	}
	return n
}

func valueNodes(a language.Attribute) []node {
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
	case language.Flag:
		return []node{{"type": "boolean"}}
	case language.Whole:
		return []node{{"type": "integer"}}
	case language.Number:
		return []node{{"type": "number"}}
	case language.Duration:
		return []node{{"type": "string", "pattern": `^\s*[0-9.]+[0-9.a-zµ]*\s*$`}}
	case language.Size:
		return []node{{"type": "string", "pattern": `^\s*[0-9.]+\s*([KMGT]i?)?B\s*$`}}
	case language.Addresses:
		until := node{"enum": []session.Await{session.AwaitReady, session.AwaitTurn, session.AwaitDone}}
		object := node{"type": "object", "required": []string{"session"}, "additionalProperties": false,
			"properties": node{"session": element, "until": node{"anyOf": []node{until, template}}}}
		return []node{listOf(element, object)}
	case language.Texts, language.Regexes, language.Command, language.Agents:
		return []node{listOf(element)}
	case language.TrueOrTexts:
		return []node{{"type": "boolean"}, listOf(element)}
	case language.Paths:
		return []node{{"enum": []string{"all"}}, listOf(element)}
	case language.Table:
		return []node{{"type": "object", "additionalProperties": element}}
	case language.Volumes, language.Tolerations:
		return []node{{"type": "array", "items": node{"type": "object"}}}
	case language.Mounts:
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
