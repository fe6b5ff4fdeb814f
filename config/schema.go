package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// shape is what may stand in a block.
type shape struct {
	labels []string // what each label is
	attrs  []string
	blocks map[string]shape
	many   bool // the block may stand in its parent more than once
	free   bool // any attribute: locals
	later  bool // not carried out by this release: only its header is looked at
}

// language is every top-level block.
func language() map[string]shape {
	restart := shape{
		attrs:  []string{"policy", "attempts", "window", "escalate_after", "resume"},
		blocks: map[string]shape{"backoff": {attrs: []string{"initial", "factor", "max", "jitter", "reset_after"}}},
	}
	health := shape{
		attrs:  []string{"interval", "timeout", "start_period", "failures", "hung_after", "on_unhealthy"},
		blocks: map[string]shape{"heartbeat": {attrs: []string{"command", "key"}}},
	}
	stop := shape{attrs: []string{"signal", "grace", "after_turn"}}
	named := []string{"name"}
	return map[string]shape{
		"agentform": {attrs: []string{"required_version", "project", "data_dir", "outputs_dir", "history_keep", "parallelism", "max_running"}},
		"variable": {
			labels: named,
			attrs:  []string{"type", "default", "description", "sensitive", "nullable"},
			blocks: map[string]shape{"validation": {attrs: []string{"condition", "error_message"}, many: true}},
		},
		"locals": {free: true},
		"agent": {
			labels: named,
			attrs: []string{"base", "command", "permissions", "trust", "prompt_via", "ready", "ready_timeout", "status_bar_lines",
				"observable", "unobserved_for", "one_shot", "env"},
			blocks: map[string]shape{
				"patterns": {attrs: []string{"done", "blocked", "blocked_api", "failed", "working", "ui", "shell_prompt"}},
				"restart":  restart, "health": health, "stop": stop,
			},
		},
		"session": {
			labels: named,
			attrs: []string{"for_each", "count", "enabled", "role", "priority", "agent", "profile", "branch", "prompt", "args",
				"runtime", "env", "secrets", "desired", "timeout", "labels", "depends_on"},
			blocks: map[string]shape{
				"workspace":    {attrs: []string{"repo", "mode", "path", "base", "setup", "on_destroy", "trust_git"}},
				"conversation": {attrs: []string{"resume", "id"}},
				"pause":        {attrs: []string{"mode"}},
				"lifecycle":    {attrs: []string{"prevent_destroy", "ignore_changes", "replace_triggered_by"}},
				"restart":      restart, "health": health, "stop": stop,
			},
		},
		"runtime": {labels: []string{"kind", "name"}, later: true},
		"secret":  {labels: named, later: true},
		"notify":  {labels: named, later: true},
		"import":  {later: true},
		"moved":   {later: true},
		"removed": {later: true},
		"output":  {labels: named, later: true},
		"check":   {labels: named, later: true},
	}
}

// block is a block as read, before anything in it is evaluated. A nil block is
// an empty one.
type block struct {
	typ         string
	labels      []string
	labelRanges []hcl.Range
	def         hcl.Range // its header
	attrs       map[string]*attr
	blocks      map[string][]*block
	depends     []*attr // the elements of depends_on
	edges       *[]edge // what they lead to, once evaluated, if that is the same for each instance
	broken      bool    // something in it was not understood: nothing may be called missing
}

// attr is an attribute's expression.
type attr struct {
	name        string
	expr        hcl.Expression
	rng         hcl.Range
	bad         bool       // refers to something that is not there, and that is told
	perInstance bool       // refers to each, count or self
	value       *evaluated // once evaluated, unless perInstance
}

// block is the nested block of that type, or nil.
func (b *block) block(typ string) *block {
	if b == nil || len(b.blocks[typ]) == 0 {
		return nil
	}
	return b.blocks[typ][0]
}

// attr is the attribute of that name, or nil.
func (b *block) attr(name string) *attr {
	if b == nil {
		return nil
	}
	return b.attrs[name]
}

// at is where to point at when the attribute is meant: itself if it is there,
// else the block's header.
func (b *block) at(name string) hcl.Range {
	if a := b.attr(name); a != nil {
		return a.rng
	}
	return b.def
}

// title is how a person would call the block: session "api".
func (b *block) title() string {
	if len(b.labels) == 0 {
		return b.typ
	}
	return b.typ + ` "` + strings.Join(b.labels, `" "`) + `"`
}

// sorted is the block's attributes by name, so that problems come in one order.
func (b *block) sorted() []*attr {
	var list []*attr
	for _, name := range slices.Sorted(maps.Keys(b.attrs)) {
		list = append(list, b.attrs[name])
	}
	return list
}

// read takes the bodies apart by the language's shapes.
func (l *loader) read(bodies []hcl.Body) {
	lang := language()
	top := shape{blocks: lang}
	for _, body := range bodies {
		b := &block{}
		l.fill(b, body, top, shape{})
		for _, typ := range slices.Sorted(maps.Keys(b.blocks)) {
			for _, child := range b.blocks[typ] {
				if lang[typ].later {
					l.notYet(child.def, later(child))
				}
			}
			l.blocks[typ] = append(l.blocks[typ], b.blocks[typ]...)
		}
	}
}

// later is a block's key in the table of what is not supported yet.
func later(b *block) string {
	if b.typ == "runtime" {
		return "runtime " + b.labels[0]
	}
	return b.typ
}

// fill reads a body into b.
func (l *loader) fill(b *block, body hcl.Body, s, parent shape) {
	b.attrs, b.blocks = map[string]*attr{}, map[string][]*block{}
	var attrs hcl.Attributes
	var blocks hcl.Blocks
	var diags hcl.Diagnostics
	if s.free {
		attrs, diags = body.JustAttributes()
	} else {
		var content *hcl.BodyContent
		content, diags = body.Content(s.schema())
		attrs, blocks = content.Attributes, content.Blocks
	}
	for name, a := range attrs {
		b.attrs[name] = &attr{name: name, expr: a.Expr, rng: a.Range}
	}
	b.broken = diags.HasErrors()
	l.reword(diags, b, s, parent)
	l.diags = append(l.diags, diags...)
	for _, child := range blocks {
		cs := s.blocks[child.Type]
		if first := b.blocks[child.Type]; len(first) > 0 && b.typ != "" && !cs.many {
			l.fail(child.DefRange, "Duplicate "+child.Type+" block", "There can be one %s block in %s, and it stands at %s.", child.Type, b.title(), place(first[0].def))
			continue
		}
		c := &block{typ: child.Type, labels: child.Labels, labelRanges: child.LabelRanges, def: header(child)}
		b.blocks[child.Type] = append(b.blocks[child.Type], c)
		if !cs.later {
			l.fill(c, child.Body, cs, s)
			b.broken = b.broken || c.broken && b.typ != ""
		}
	}
}

// header is the range of a block's type and labels. In JSON a block's own range
// is only its brace.
func header(b *hcl.Block) hcl.Range {
	if _, native := b.Body.(*hclsyntax.Body); !native && len(b.LabelRanges) > 0 {
		return b.LabelRanges[len(b.LabelRanges)-1]
	}
	return b.DefRange
}

// schema is the shape as HCL wants it.
func (s shape) schema() *hcl.BodySchema {
	out := &hcl.BodySchema{}
	for _, name := range s.attrs {
		out.Attributes = append(out.Attributes, hcl.AttributeSchema{Name: name})
	}
	for _, typ := range slices.Sorted(maps.Keys(s.blocks)) {
		out.Blocks = append(out.Blocks, hcl.BlockHeaderSchema{Type: typ, LabelNames: s.blocks[typ].labels})
	}
	return out
}

// identifier reports whether a name can be written in a reference and in an
// address.
func identifier(name string) bool {
	return hclsyntax.ValidIdentifier(name) && addressable(name)
}
