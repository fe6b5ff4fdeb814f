package view

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

const nothing = "(none)"

// writeField writes a field on one line, or if that is too long one element a line.
func writeField(p *page, indent string, f plan.Field, c plan.Change, full bool) {
	forces := ""
	if f.Forces == plan.ForcesRestart || f.Forces == plan.ForcesReplace {
		forces = p.paint(red, " # forces "+string(f.Forces))
	}
	switch {
	case f.Sensitive:
		p.line(indent, p.paint(yellow, "~"), " ", p.paint(noInk, f.Path), ": (sensitive value)", forces)
	case f.Path == "prompt":
		before, after := session.Prompt{}, session.Prompt{}
		before.Digest, _ = f.Before.(string)
		after.Digest, _ = f.After.(string)
		if c.Before != nil && c.Before.Spec.Prompt.Digest == before.Digest {
			before = c.Before.Spec.Prompt
		}
		if c.After != nil && c.After.Prompt.Digest == after.Digest {
			after = c.After.Prompt
		}
		writePrompt(p, indent, f, before, after, forces, full)
	case f.Path == "lifecycle.replace_triggered_by": // digests
		before, _ := f.Before.(string)
		after, _ := f.After.(string)
		writeFieldLine(p, indent, f.Path, promptWords(session.Prompt{Digest: before}), promptWords(session.Prompt{Digest: after}), forces)
	default:
		if words := safetyWords(f.Path, f.After); words != "" {
			forces = ", " + words + forces
		}
		writeValues(p, indent, f.Path, tidy(f.Path, plainValue(f.Before)), tidy(f.Path, plainValue(f.After)), forces)
	}
}

// writeValues compares maps by key and long lists by element.
func writeValues(p *page, indent, name string, before, after any, forces string) {
	bm, isMapB := before.(map[string]any)
	am, isMapA := after.(map[string]any)
	if (isMapB || before == nil) && (isMapA || after == nil) && (isMapB || isMapA) {
		p.line(indent, p.paint(yellow, "~"), " ", p.paint(noInk, name), ":", forces)
		writeMap(p, indent+"    ", bm, am)
		return
	}
	b, a := shownAt(name, before), shownAt(name, after)
	bl, isListB := before.([]any)
	al, isListA := after.([]any)
	if (isListB || isListA) && len(b)+len(a) > 80 {
		p.line(indent, p.paint(yellow, "~"), " ", p.paint(noInk, name), ":", forces)
		writeList(p, indent+"    ", bl, al)
		return
	}
	writeFieldLine(p, indent, name, b, a, forces)
}

func writeFieldLine(p *page, indent, name, before, after, forces string) {
	switch {
	case before == nothing:
		p.prose(len(indent)+4, indent, p.paint(green, "+"), " ", p.paint(noInk, name), ": ", p.paint(noInk, after), forces)
	case after == nothing:
		p.prose(len(indent)+4, indent, p.paint(red, "-"), " ", p.paint(noInk, name), ": ", p.paint(noInk, before), forces)
	default:
		p.prose(len(indent)+4, indent, p.paint(yellow, "~"), " ", p.paint(noInk, name), ": ", p.paint(noInk, before), p.paint(dim, " -> "), p.paint(noInk, after), forces)
	}
}

func writeMap(p *page, indent string, before, after map[string]any) {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(keys)
	same := 0
	for _, k := range slices.Compact(keys) {
		if reflect.DeepEqual(before[k], after[k]) {
			same++
			continue
		}
		writeValues(p, indent, k, before[k], after[k], "")
	}
	writeUnchanged(p, indent, same)
}

func writeList(p *page, indent string, before, after []any) {
	b, a := shownAll(before), shownAll(after)
	same := 0
	for _, op := range difflib.NewMatcher(b, a).GetOpCodes() {
		if op.Tag == 'e' {
			same += op.I2 - op.I1
			continue
		}
		for _, v := range b[op.I1:op.I2] {
			p.line(indent, p.paint(red, "-"), " ", p.paint(noInk, v))
		}
		for _, v := range a[op.J1:op.J2] {
			p.line(indent, p.paint(green, "+"), " ", p.paint(noInk, v))
		}
	}
	writeUnchanged(p, indent, same)
}

func writeUnchanged(p *page, indent string, n int) {
	if n > 0 {
		p.line(indent, p.paint(dim, fmt.Sprintf("# %d unchanged", n)))
	}
}

// plainValue makes a plan read the same before and after saving.
func plainValue(v any) any {
	b, _ := json.Marshal(v) // a spec's fields can always be encoded
	return decoded(b)
}

// decoded returns the value of a JSON text, with numbers as written.
func decoded(b []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	_ = d.Decode(&v)
	return v
}

// tidy shortens durations: 15m, not 15m0s. Other fields have the user's own words.
func tidy(path string, v any) any {
	root, _, _ := strings.Cut(path, ".")
	if !slices.Contains([]string{"timeout", "restart", "health", "stop"}, root) &&
		path != "agent.ready_timeout" && path != "agent.unobserved_for" {
		return v
	}
	switch v := v.(type) {
	case string:
		if d, err := time.ParseDuration(v); err == nil && d != 0 && d.String() == v {
			return session.Duration(d).Short()
		}
	case map[string]any:
		for k := range v {
			v[k] = tidy(path, v[k])
		}
	}
	return v
}

// shownAt shortens a value unless it is a path.
func shownAt(path string, v any) string {
	if s, ok := v.(string); ok && s != "" && (path == "workspace.path" || path == "workspace.repo") {
		return strconv.Quote(s)
	}
	return shown(v)
}

func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return nothing
	case string:
		return quote(v)
	case []any:
		if len(v) == 0 {
			return nothing
		}
		return "[" + strings.Join(shownAll(v), ", ") + "]"
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, k+" = "+shown(v[k]))
		}
		if len(parts) == 0 {
			return nothing
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	return fmt.Sprint(v)
}

func shownAll(list []any) (texts []string) {
	for _, v := range list {
		texts = append(texts, shown(v))
	}
	return texts
}

const longText = 200

// quote returns the size and sha256 of a long text.
func quote(s string) string {
	if s == "" {
		return nothing
	}
	lines := strings.Count(strings.TrimSuffix(s, "\n"), "\n") + 1
	if lines == 1 && len(s) <= longText {
		return strconv.Quote(s)
	}
	sum := sha256.Sum256([]byte(s))
	return fmt.Sprintf("(%s, %s, %x)", plaintext.Count(lines, "line"), plaintext.Bytes(int64(len(s))), sum[:4])
}
