package explain

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentform/agentform/cmd/internal/help"
	"github.com/agentform/agentform/internal/language"
	"github.com/agentform/agentform/internal/plaintext"
)

// Overview lists the blocks of a manifest.
func (s Schema) Overview(width int) string {
	var rows []help.Entry
	for _, b := range s.Blocks {
		rows = append(rows, help.Entry{Name: b.Type, Text: plain(b.Doc)})
	}
	return "Blocks of a manifest:\n" + help.Table(rows, 2, width) +
		"\nReferences in expressions:\n" + help.Paragraph(strings.Join(s.References, " "), 2, width) +
		"\nFunctions in expressions:\n" + help.Paragraph(strings.Join(s.Functions, " "), 2, width) +
		"\nMore: agentform explain session.restart\n"
}

// Text describes a topic.
func (t Topic) Text(width int) string {
	if t.Attribute != nil {
		return t.attribute(width)
	}
	b := t.block()
	text := t.Path + " (block)\n\n" + help.Paragraph(plain(b.Doc), 0, width) +
		"\nExample:\n" + t.shownExample()
	var rows []help.Entry
	for _, a := range b.Attributes {
		rows = append(rows, help.Entry{Name: a.Name + " <" + typeWords(a.Kind) + ">", Text: summary(a)})
	}
	if len(rows) > 0 {
		text += "\nAttributes:\n" + help.Table(rows, 2, width)
	}
	rows = nil
	for _, c := range slices.Concat(b.Blocks, b.Kinds) {
		rows = append(rows, help.Entry{Name: cmp.Or(c.FirstLabel, c.Type), Text: plain(c.Doc)})
	}
	if len(rows) > 0 {
		title, name := "Blocks", rows[0].Name
		if len(b.Kinds) > 0 {
			title = "Kinds"
		}
		text += "\n" + title + ":\n" + help.Table(rows, 2, width) + "\nMore: agentform explain " + t.Path + "." + name + "\n"
	}
	return text
}

func (t Topic) attribute(width int) string {
	a := t.Attribute
	rows := []help.Entry{{Name: "Type:", Text: typeWords(a.Kind) + hints[a.Kind]}}
	add := func(name, text string) {
		if text != "" {
			rows = append(rows, help.Entry{Name: name, Text: text})
		}
	}
	if len(a.Meanings) == 0 {
		add("Values:", strings.Join(a.Values, ", "))
	}
	if a.Required {
		add("Required:", "yes")
	}
	add("Default:", cmp.Or(a.Default, plain(a.DefaultWords)))
	add("A change:", forces[t.forces()])
	return t.Path + "\n\n" + help.Paragraph(plain(a.Doc), 0, width) +
		"\n" + help.Table(rows, 2, width) + values(a, width) + "\nExample:\n" + t.shownExample()
}

// values returns a line for each value that has a meaning.
func values(a *language.Attribute, width int) string {
	if len(a.Meanings) == 0 {
		return ""
	}
	var rows []help.Entry
	for i, v := range a.Values {
		rows = append(rows, help.Entry{Name: v, Text: plain(a.Meanings[i])})
	}
	return "\nValues:\n" + help.Table(rows, 2, width)
}

// forces returns what a change of the attribute forces.
func (t Topic) forces() string {
	of := t.Attribute.Forces
	for _, b := range slices.Backward(t.Blocks) {
		of = cmp.Or(of, b.Forces)
	}
	return of
}

var forces = map[string]string{
	"none":    "is applied in place",
	"restart": "restarts the agent",
	"replace": "replaces the session",
}

func summary(a language.Attribute) string {
	text := plain(a.Doc)
	if len(a.Meanings) > 0 && len(a.Values) < 10 {
		text += " One of " + plaintext.List(a.Values, "or") + "."
	}
	switch {
	case a.Required:
		text += " Required."
	case a.Default != "":
		text += " Default: " + a.Default + "."
	case a.DefaultWords != "":
		text += " Default: " + plain(a.DefaultWords) + "."
	}
	return text
}

// typeWords returns the name of an attribute's type in HCL.
func typeWords(t language.Kind) string { return cmp.Or(types[t], string(t)) }

var types = map[language.Kind]string{
	"true or false": "bool", "regex": "regular expression", "list of regexes": "list of regular expressions", "map": "map of strings",
	"command": "list of strings", "sessions": "list of sessions", "agents": "list of agents",
}

var hints = map[language.Kind]string{
	"duration": `, such as "90s", "15m" or "30d"`,
	"size":     `, such as "512MiB" or "4GiB"`,
	"command":  ": a program and its arguments",
	"session":  `: session.NAME, session.NAME["KEY"] or session.NAME[0]`,
	"sessions": `: session.NAME, session.NAME["KEY"] or session.NAME[0]`,
	"agent":    ": agent.NAME, or its name as a string",
	"agents":   ": agent.NAME, or their names as strings",
	"runtime":  `: runtime.KIND.NAME, or "tmux"`,
	"mounts":   ": a list of { source, target, read_only }",
	"path":     " of a file or directory, as a string",
	"type":     ": string, number, bool, list(string), map(string), …",
}

// link matches a link of Markdown, including words that only point to it.
var link = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:[ ;]*\b[Ss]ee )?\[([^\]]*)\]\([^)]*\)`) })

// plain removes Markdown, and sentences that only point to another page.
func plain(doc string) string {
	doc = link().ReplaceAllStringFunc(doc, func(m string) string {
		before, text, _ := strings.Cut(m, "[")
		if text, _, _ = strings.Cut(text, "]"); before == "" {
			return text
		}
		return ""
	})
	return strings.ReplaceAll(strings.ReplaceAll(doc, "..", "."), "`", "")
}

func (t Topic) shownExample() string {
	var b strings.Builder
	for line := range strings.Lines(t.Example()) {
		b.WriteString("  " + line)
	}
	return b.String()
}

// Title returns the first sentence of the topic's description.
func (t Topic) Title() string {
	doc := plain(t.block().Doc)
	if t.Attribute != nil {
		doc = plain(t.Attribute.Doc)
	}
	first, _, _ := strings.Cut(doc, ". ")
	return strings.TrimSuffix(first, ".")
}
