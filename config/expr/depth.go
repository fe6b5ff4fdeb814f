package expr

import (
	"bytes"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// The HCL parser and evaluator recurse, and a Go program whose stack outgrows
// 1 GiB dies without a chance to say why. One level takes some 5 KiB, so these
// bounds keep far away from that and from anything a person writes.
const (
	maxDepth     = 200      // brackets within brackets
	maxOperators = 50_000   // operators in one attribute
	directive    = 25       // what a %{…} counts for: HCL's time for nested ones grows with their square
	harmless     = 64 << 10 // bytes in which nothing can nest too deeply
	maxTokens    = 1 << 20  // words and signs in a file, whose tokens and tree take some 300 bytes each
	maxRun       = 64 << 10 // digits in a row; the time for reading a number grows with their square
)

// tooDeep refuses a source that would need too much stack. A first look at the
// bytes lets every ordinary source pass; only what seems suspicious is taken
// apart into tokens.
func tooDeep(src []byte, name string, json bool) *hcl.Diagnostic {
	if i := tooMany(src); i >= 0 {
		return &hcl.Diagnostic{
			Severity: hcl.DiagError, Summary: "File too large",
			Detail:  fmt.Sprintf("A file can hold up to %d words and signs, and up to %d digits in a row. Many sessions of one kind are written with for_each.", maxTokens, maxRun),
			Subject: at(name, 1+bytes.Count(src[:i], []byte("\n")), i).Ptr(),
		}
	}
	if json {
		return deepJSON(src, name)
	}
	if !suspicious(src) {
		return nil
	}
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos)
	return deepTokens(tokens)
}

// tooMany is where a source has more than maxTokens words and signs, or a number
// that takes long to read; -1: nowhere.
func tooMany(src []byte) int {
	n, digits, inWord := 0, 0, false
	for i, c := range src {
		digit := c >= '0' && c <= '9'
		word := digit || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
		if !word && c != ' ' && c != '\t' && c != '\r' || word && !inWord {
			n++
		}
		if digits++; !digit {
			digits = 0
		}
		if n > maxTokens || digits > maxRun {
			return i
		}
		inWord = word
	}
	return -1
}

// deepTemplate is tooDeep for the text of a template.
func deepTemplate(src []byte, name string) *hcl.Diagnostic {
	if !suspicious(src) {
		return nil
	}
	tokens, _ := hclsyntax.LexTemplate(src, name, hcl.InitialPos)
	return deepTokens(tokens)
}

// suspicious reports whether brackets nest deeply or a stretch outside all
// brackets is long, taking brackets in comments and strings for real ones.
func suspicious(src []byte) bool {
	depth, start := 0, 0
	for i, c := range src {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(depth-1, 0)
		}
		if depth == 0 && (c == '\n' || c == '}') {
			start = i
		}
		if depth > maxDepth || i-start > harmless {
			return true
		}
	}
	return false
}

// deepTokens counts what really nests.
func deepTokens(tokens hclsyntax.Tokens) *hcl.Diagnostic {
	var open []hclsyntax.TokenType
	operators := 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenNewline:
			if len(open) == 0 || open[len(open)-1] == hclsyntax.TokenOBrace {
				operators = 0
			}
		case hclsyntax.TokenOBrace, hclsyntax.TokenOParen, hclsyntax.TokenOBrack, hclsyntax.TokenOQuote,
			hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			open = append(open, t.Type)
		case hclsyntax.TokenCBrace, hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenCQuote,
			hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
		switch t.Type {
		case hclsyntax.TokenBang, hclsyntax.TokenMinus, hclsyntax.TokenPlus, hclsyntax.TokenStar, hclsyntax.TokenSlash,
			hclsyntax.TokenPercent, hclsyntax.TokenAnd, hclsyntax.TokenOr, hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual,
			hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq, hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq,
			hclsyntax.TokenQuestion, hclsyntax.TokenOBrack:
			operators++
		case hclsyntax.TokenTemplateControl:
			operators += directive
		}
		if len(open) > maxDepth || operators > maxOperators {
			return tooDeepAt(t.Range)
		}
	}
	return nil
}

// deepJSON counts the brackets of JSON, and looks into long strings, which may
// be templates.
func deepJSON(src []byte, name string) *hcl.Diagnostic {
	depth, line := 0, 1
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '\n':
			line++
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '"':
			start := i + 1
			for i++; i < len(src) && src[i] != '"' && src[i] != '\n'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
			text := src[start:min(i, len(src))]
			if bytes.Contains(text, []byte("${")) || bytes.Contains(text, []byte("%{")) {
				if d := deepTemplate(text, name); d != nil {
					return tooDeepAt(at(name, line, start))
				}
			}
			if i < len(src) && src[i] == '\n' {
				line++
			}
		}
		if depth > maxDepth {
			return tooDeepAt(at(name, line, i))
		}
	}
	return nil
}

// at is a place known by line and offset only.
func at(name string, line, offset int) hcl.Range {
	pos := hcl.Pos{Line: line, Column: 1, Byte: offset}
	return hcl.Range{Filename: name, Start: pos, End: pos}
}

func tooDeepAt(r hcl.Range) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Nested too deeply",
		Detail:   fmt.Sprintf("Brackets can stand in each other up to %d deep, and one attribute can hold up to %d operators.", maxDepth, maxOperators),
		Subject:  &r,
	}
}

// deepYAML reports whether brackets or lists in a text of YAML may nest too deeply. It
// takes brackets in texts for real ones, and the indentation of a line for as many
// levels as it could hold.
func deepYAML(text string) bool {
	depth, indented := 0, 0
	for _, c := range []byte(text) {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(depth-1, 0)
		}
		switch c {
		case '\n':
			indented = 0
		case ' ', '-', '?', '\t':
			if indented >= 0 {
				indented++
			}
		default:
			if indented > 2*maxDepth {
				return true
			}
			indented = -1
		}
		if depth > maxDepth {
			return true
		}
	}
	return false
}
