package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/cli"
	"github.com/agentform/agentform/cmd/internal/help"
)

// The reference is between these lines.
const (
	beginList = "<!-- commands: made by `make reference` -->\n"
	endList   = "<!-- end of the commands -->\n"
	begin     = "<!-- reference: made by `make reference` from the commands; change them, not this -->\n"
	end       = "<!-- end of the reference -->\n"
)

func withReference(text string) (string, error) {
	root := cli.Commands()
	prepare(root)
	var list, b strings.Builder
	for _, g := range root.Groups() {
		commandList(&list, root, g)
	}
	section(&b, root)
	text, err := replace(text, beginList, endList, list.String())
	if err != nil {
		return "", err
	}
	return replace(text, begin, end, b.String())
}

// replace replaces what is between two lines.
func replace(text, begin, end, by string) (string, error) {
	before, rest, found := strings.Cut(text, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", fmt.Errorf("no place for the reference: it has no lines %q and %q", begin, end)
	}
	return before + begin + "\n" + by + end + after, nil
}

// commandList writes a table of the commands in a group.
func commandList(b *strings.Builder, root *cobra.Command, g *cobra.Group) {
	fmt.Fprintf(b, "| %s | |\n|---|---|\n", strings.TrimSuffix(g.Title, ":"))
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.GroupID == g.ID {
			fmt.Fprintf(b, "| [`%s`](#%s) | %s |\n", c.CommandPath(), strings.ReplaceAll(c.CommandPath(), " ", "-"), plain.Replace(c.Short))
		}
	}
	b.WriteByte('\n')
}

func section(b *strings.Builder, c *cobra.Command) {
	b.WriteString("### " + c.CommandPath() + "\n\n")
	if c.Runnable() && c.HasParent() {
		block(b, c.UseLine())
	}
	b.WriteString(c.Long + "\n\n")
	if len(c.Aliases) > 0 {
		b.WriteString("Also: `" + strings.Join(c.Aliases, "`, `") + "`.\n\n")
	}
	if c.HasExample() {
		b.WriteString("Examples:\n\n")
		block(b, c.Example)
	}
	flags := help.Flags(c.LocalFlags(), 100)
	if c.Name() == "options" {
		flags = help.Flags(c.Root().PersistentFlags(), 100)
	} else if !c.HasParent() {
		flags = ""
	}
	if flags != "" {
		b.WriteString("Flags:\n\n")
		block(b, flags)
	}
	if c.Name() == "completion" {
		return // has the same text for each shell
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			section(b, sub)
		}
	}
}

// block writes lines as a text block. The docs' tests do not run it, unlike console blocks.
func block(b *strings.Builder, text string) {
	lines := strings.Split(strings.TrimRight(text, "\n "), "\n")
	indent := indentOf(lines)
	b.WriteString("```text\n")
	for _, l := range lines {
		b.WriteString(strings.TrimRight(l[min(indent, len(l)):], " ") + "\n")
	}
	b.WriteString("```\n\n")
}

func indentOf(lines []string) int {
	least := -1
	for _, l := range lines {
		if n := len(l) - len(strings.TrimLeft(l, " ")); strings.TrimSpace(l) != "" && (least < 0 || n < least) {
			least = n
		}
	}
	return max(least, 0)
}

// markdown returns help as Markdown. Indented lines become a block, all else is literal.
func markdown(help string) string {
	var b strings.Builder
	var kept []string
	flush := func() {
		if len(kept) > 0 {
			block(&b, strings.Join(kept, "\n"))
			kept = nil
		}
	}
	for line := range strings.Lines(help) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "  "), line == "" && len(kept) > 0:
			kept = append(kept, line)
		default:
			flush()
			b.WriteString(plain.Replace(line) + "\n")
		}
	}
	flush()
	return strings.TrimRight(b.String(), "\n")
}

var plain = strings.NewReplacer("*", `\*`, "<", `\<`, "`", "\\`", "[", `\[`, "]", `\]`, "_", `\_`)
