package expr

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// The HCL parser and evaluator recurse, and a Go program whose stack outgrows 1 GiB
// cannot report why it ends. One level takes about 5 KiB.
const (
	maxDepth     = 200      // nested brackets
	maxOperators = 50_000   // operators in one attribute
	directive    = 25       // operators that a %{…} counts as: the time for nested ones is quadratic
	harmless     = 64 << 10 // bytes in which nothing can nest too deeply
)

var (
	opening = []hclsyntax.TokenType{
		hclsyntax.TokenOBrace, hclsyntax.TokenOParen, hclsyntax.TokenOBrack, hclsyntax.TokenOQuote,
		hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl,
	}
	closing = []hclsyntax.TokenType{
		hclsyntax.TokenCBrace, hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenCQuote,
		hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd,
	}
	operator = []hclsyntax.TokenType{
		hclsyntax.TokenBang, hclsyntax.TokenMinus, hclsyntax.TokenPlus, hclsyntax.TokenStar, hclsyntax.TokenSlash,
		hclsyntax.TokenPercent, hclsyntax.TokenAnd, hclsyntax.TokenOr, hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual,
		hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq, hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq,
		hclsyntax.TokenQuestion, hclsyntax.TokenOBrack,
	}
)

// deepTokens returns an error about a source that needs too much stack. It lexes few.
func deepTokens(src []byte, name string, lex func([]byte, string, hcl.Pos) (hclsyntax.Tokens, hcl.Diagnostics)) *hcl.Diagnostic {
	if !suspicious(src, harmless) {
		return nil
	}
	tokens, _ := lex(src, name, hcl.InitialPos)
	var open []hclsyntax.TokenType
	operators := 0
	for _, t := range tokens {
		switch {
		case t.Type == hclsyntax.TokenNewline && (len(open) == 0 || open[len(open)-1] == hclsyntax.TokenOBrace):
			operators = 0
		case slices.Contains(opening, t.Type):
			open = append(open, t.Type)
		case slices.Contains(closing, t.Type) && len(open) > 0:
			open = open[:len(open)-1]
		}
		switch {
		case t.Type == hclsyntax.TokenTemplateControl:
			operators += directive
		case slices.Contains(operator, t.Type):
			operators++
		}
		if len(open) > maxDepth || operators > maxOperators {
			return tooDeep(t.Range)
		}
	}
	return nil
}

// suspicious reports whether brackets may nest deeply, or more than harmless bytes stand
// outside all brackets without a line break. Brackets in comments and strings count.
func suspicious(src []byte, harmless int) bool {
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

// deepJSON counts the brackets of JSON, valid or not, and examines strings that may be templates:
// HCL continues after what it cannot read.
func deepJSON(src []byte, name string) *hcl.Diagnostic {
	depth, line := 0, 1
	at := func(offset int) hcl.Range {
		pos := hcl.Pos{Line: line, Column: 1, Byte: offset}
		return hcl.Range{Filename: name, Start: pos, End: pos}
	}
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
			if (bytes.Contains(text, []byte("${")) || bytes.Contains(text, []byte("%{"))) && deepTokens(text, name, hclsyntax.LexTemplate) != nil {
				return tooDeep(at(start))
			}
			if i < len(src) && src[i] == '\n' {
				line++
			}
		}
		if depth > maxDepth {
			return tooDeep(at(i))
		}
	}
	return nil
}

func tooDeep(r hcl.Range) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: "Nested too deeply", Subject: &r,
		Detail: fmt.Sprintf("Brackets can be nested %d deep, and one attribute can have %d operators.", maxDepth, maxOperators),
	}
}

// deepYAML reports whether brackets or lists in YAML may nest too deeply. Brackets in
// texts count, and so does each column of indentation.
func deepYAML(text string) bool {
	if suspicious([]byte(text), len(text)) {
		return true
	}
	for line := range bytes.Lines([]byte(text)) {
		if len(line)-len(bytes.TrimLeft(line, " -?\t")) > 2*maxDepth {
			return true
		}
	}
	return false
}
