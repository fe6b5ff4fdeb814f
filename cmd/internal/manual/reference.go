package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentform/agentform/cmd/internal/cli"
	"github.com/agentform/agentform/cmd/internal/help"
)

// The table of contents is between begin and end. A command's section is generated, except for the
// text after notes.
const (
	begin = "<!-- contents: made by `make reference` from the commands, as are their sections up to their notes -->\n"
	end   = "<!-- end of the contents -->\n"
	notes = "<!-- notes -->\n"
)

var heading = regexp.MustCompile(`(?m)^###? `)

// withReference updates the commands' sections and the table of contents in the document, in its
// own order. A command without a heading is an error.
func withReference(text string) (string, error) {
	missing := map[string]*cobra.Command{}
	eachDescribed(cli.Commands(), func(c *cobra.Command) { missing[c.CommandPath()] = c })
	var made, contents strings.Builder
	described := map[flagKey]string{}
	title, start := "", 0
	for _, at := range append(heading.FindAllStringIndex(text, -1), []int{len(text)}) {
		part := text[start:at[0]]
		start = at[0]
		line, _, _ := strings.Cut(part, "\n")
		if group, is := strings.CutPrefix(line, "## "); is {
			title = group
		}
		name, is := strings.CutPrefix(line, "### agentform ")
		if !is {
			made.WriteString(part)
			continue
		}
		c := missing["agentform "+name]
		if c == nil {
			return "", fmt.Errorf("agentform %s has a section and is no command, or has two", name)
		}
		delete(missing, c.CommandPath())
		if title != "" {
			fmt.Fprintf(&contents, "| **%s** | |\n", link(title, title))
			title = ""
		}
		fmt.Fprintf(&contents, "| %s | %s |\n", linkTo(c), plain.Replace(c.Short))
		section(&made, c, described)
		if _, kept, found := strings.Cut(part, notes); found {
			made.WriteString(notes + kept)
		}
	}
	if names := slices.Sorted(maps.Keys(missing)); len(names) > 0 {
		return "", fmt.Errorf("no place for %s: add a line %q where it belongs", names[0], "### "+names[0])
	}
	before, rest, found := strings.Cut(made.String(), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", fmt.Errorf("no place for the contents: add the lines %q and %q", begin, end)
	}
	return before + begin + "\n| | |\n|---|---|\n" + contents.String() + "\n" + end + after, nil
}

// eachDescribed visits the commands with a section: not those that only group others, nor the
// scripts for each shell, which share a text.
func eachDescribed(c *cobra.Command, visit func(*cobra.Command)) {
	for _, sub := range c.Commands() {
		switch {
		case !sub.IsAvailableCommand() || sub.Name() == "help":
		case sub.HasAvailableSubCommands() && sub.Name() != "completion":
			eachDescribed(sub, visit)
		default:
			visit(sub)
		}
	}
}

func link(text, to string) string {
	return "[" + text + "](#" + strings.ReplaceAll(strings.ToLower(to), " ", "-") + ")"
}

func linkTo(c *cobra.Command) string {
	path := c.CommandPath()
	return link("`"+strings.TrimPrefix(path, "agentform ")+"`", path)
}

// flagKey identifies a flag that commands share.
type flagKey struct{ name, usage, value string }

// section describes a command, except for flags described at an earlier command.
func section(b *strings.Builder, c *cobra.Command, described map[flagKey]string) {
	b.WriteString("### " + c.CommandPath() + "\n\n")
	usage := "`" + help.Usage(c) + "`"
	if len(c.Aliases) > 0 {
		usage += ", also `" + strings.Join(c.Aliases, "`, `") + "`"
	}
	if usage != "`"+c.CommandPath()+"`" {
		b.WriteString(usage + "\n\n")
	}
	block(b, c.Example)
	all := c.LocalFlags()
	if c.Name() == "options" {
		all = c.Root().PersistentFlags()
	}
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	shared := map[string]string{} // flags, by the command that describes them
	all.VisitAll(func(f *pflag.Flag) {
		key := flagKey{f.Name, f.Usage, f.DefValue}
		switch {
		case f.Hidden || f.Name == "help":
		case described[key] == "":
			described[key] = linkTo(c)
			own.AddFlag(f)
		default:
			name := "--" + f.Name
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			shared[described[key]] += "`" + name + "` "
		}
	})
	if own.HasFlags() {
		block(b, help.Flags(own, 100))
	}
	var as []string
	for first, flags := range shared {
		as = append(as, flags+"as in "+first)
	}
	if len(as) > 0 {
		slices.Sort(as)
		b.WriteString(strings.Join(as, ", ") + "\n\n")
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
