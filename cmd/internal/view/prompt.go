package view

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

const (
	// firstLine is how many characters of a prompt's first line are shown.
	firstLine = 56
	// diffLines is how many lines of a prompt's difference are shown without --detail full.
	diffLines = 24
	leftOut   = "…"
)

// promptWords returns the first line and the size of a prompt, or the digest if its text is not
// known.
func promptWords(p session.Prompt) string {
	text := strings.TrimSpace(p.Text)
	switch {
	case p.Digest == "":
		return nothing
	case p.Text == "":
		return status.ShortHash(p.Digest)
	case text == "":
		return fmt.Sprintf("%s (%s)", strconv.Quote(""), plaintext.Bytes(int64(len(p.Text))))
	}
	first, _, more := strings.Cut(text, "\n")
	r, size := []rune(strings.TrimSpace(first)), ""
	if len(r) > firstLine {
		r, size = append(r[:firstLine-1], '…'), plaintext.Bytes(int64(len(p.Text)))
	}
	if more {
		size = plaintext.Count(strings.Count(text, "\n")+1, "line") + ", " + plaintext.Bytes(int64(len(p.Text)))
	}
	if size != "" {
		size = " (" + size + ")"
	}
	return strconv.Quote(string(r)) + size
}

// writePrompt writes a changed prompt, as a diff if that shows more than its beginning.
func writePrompt(p *page, indent string, f plan.Field, before, after session.Prompt, forces string, full bool) {
	b, a := promptWords(before), promptWords(after)
	if before.Text == "" || after.Text == "" || len([]rune(b))+len([]rune(a)) <= firstLine && !strings.HasSuffix(b, ")") && !strings.HasSuffix(a, ")") {
		writeFieldLine(p, indent, f.Path, b, a, forces)
		return
	}
	p.line(indent, p.paint(yellow, "~"), " ", p.paint(noInk, f.Path), ":", forces)
	lines := diffOf(before.Text, after.Text)
	left := 0
	if !full && len(lines) > diffLines {
		lines, left = lines[:diffLines], len(lines)-diffLines
	}
	inks := map[byte]ink{'-': red, '+': green}
	for _, l := range lines {
		more := ""
		if r := []rune(l); !full && len(r) > longText {
			l, more = string(r[:longText])+"…", " # "+plaintext.Count(len(r)-longText, "more character")
		}
		p.line(indent, "    ", p.paint(inks[l[0]], strings.TrimRight(l, " ")), p.paint(dim, more))
	}
	if left > 0 {
		p.line(indent, "    ", p.paint(dim, fmt.Sprintf("# %s; --detail full shows them", plaintext.Count(left, "more line"))))
	}
}

// diffOf returns the lines that differ after "- " and "+ ", with one line of context after two
// spaces, and leftOut for omitted lines.
func diffOf(before, after string) []string {
	b, a := strings.Split(strings.TrimRight(before, "\n"), "\n"), strings.Split(strings.TrimRight(after, "\n"), "\n")
	var lines []string
	add := func(mark string, texts []string) {
		for _, t := range texts {
			lines = append(lines, mark+plaintext.OneLine(t))
		}
	}
	ends := 0 // the number of old lines already written
	for _, group := range difflib.NewMatcher(b, a).GetGroupedOpCodes(1) {
		if group[0].I1 > ends {
			lines = append(lines, leftOut)
		}
		for _, op := range group {
			if op.Tag == 'e' {
				add("  ", b[op.I1:op.I2])
				continue
			}
			add("- ", b[op.I1:op.I2])
			add("+ ", a[op.J1:op.J2])
		}
		ends = group[len(group)-1].I2
	}
	if ends < len(b) {
		lines = append(lines, leftOut)
	}
	return lines
}

// permissionWords describe the values of permissions.
var permissionWords = map[string]string{
	"":      "the agent's own settings decide what it asks",
	"ask":   "asks before it edits files or runs commands",
	"edits": "edits files without asking",
	"all":   "edits files and runs commands without asking",
}

var trustWords = map[bool]string{
	true:  "starts without asking whether to trust the folder",
	false: "asks whether to trust a folder that is new to it",
}

// safetyWords returns the meaning of a value of permissions or trust, or "".
func safetyWords(path string, value any) string {
	switch v := value.(type) {
	case string:
		if path == "agent.permissions" {
			return permissionWords[v]
		}
	case bool:
		if path == "agent.trust" {
			return trustWords[v]
		}
	}
	return ""
}

// safety returns the attributes that decide what a built-in agent does without asking.
func safety(s session.AgentSpec) []attribute {
	if s.Base == "" {
		return nil
	}
	value := "(not set)"
	if s.Permissions != "" {
		value = strconv.Quote(s.Permissions)
	}
	return []attribute{
		{"permissions", value + ", " + permissionWords[s.Permissions], s.Permissions == "all"},
		{"trust", strconv.FormatBool(s.Trust) + ", " + trustWords[s.Trust], s.Trust},
	}
}
