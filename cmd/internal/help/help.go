package help

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Width returns the width of help on a terminal with that many columns; 0: not a terminal.
func Width(columns int) int {
	if columns <= 0 {
		return 80
	}
	return min(max(columns, 40), 100)
}

// overview lists the commands that the help of agentform itself describes.
var overview = []struct {
	title    string
	commands []string
}{
	{"Main commands:", []string{"init", "plan", "apply", "status", "ui"}},
	{"Session commands:", []string{"attach", "send", "answer", "diff", "land"}},
}

// Text returns the help of a command.
func Text(c *cobra.Command, width int) string {
	if !c.HasParent() {
		return overviewOf(c, width)
	}
	var b strings.Builder
	commands := listed(c)
	if c.Runnable() || len(commands) > 0 {
		b.WriteString(Paragraph(c.Short+".", 0, width))
		b.WriteString("\n" + hanging("Usage: "+Usage(c), 7, width))
		if len(c.Aliases) > 0 {
			b.WriteString(hanging("Aliases: "+strings.Join(c.Aliases, ", "), 9, width))
		}
	}
	if c.HasExample() {
		b.WriteString("\nExamples:\n" + shellLines(c.Example, width))
	}
	if c.Long != "" {
		b.WriteString("\n" + Fill(c.Long, width))
	}
	if len(commands) > 0 {
		b.WriteString("\nCommands:\n" + Table(commands, 2, width))
	}
	if flags := Flags(c.LocalFlags(), width); flags != "" {
		b.WriteString("\nFlags:\n" + flags)
	}
	if c.Runnable() {
		b.WriteString("\nGlobal flags: agentform options\n")
	}
	return strings.TrimPrefix(b.String(), "\n")
}

func overviewOf(root *cobra.Command, width int) string {
	var b strings.Builder
	b.WriteString(Paragraph(root.Short+".", 0, width))
	all := listed(root)
	for _, group := range overview {
		var rows []Entry
		for _, name := range group.commands {
			i := slices.IndexFunc(all, func(e Entry) bool { return e.Name == name })
			rows = append(rows, all[i])
			all = slices.Delete(all, i, i+1)
		}
		b.WriteString("\n" + group.title + "\n" + Table(rows, 2, width))
	}
	names := make([]string, len(all))
	for i, e := range all {
		names[i] = e.Name
	}
	b.WriteString("\nOther commands:\n" + Paragraph(strings.Join(names, " "), 2, width))
	b.WriteString(Paragraph("More: agentform COMMAND --help, agentform help --all, agentform options", 0, width))
	return b.String()
}

// All returns a list of all commands in their groups, and of the other topics.
func All(root *cobra.Command, width int) string {
	var b strings.Builder
	part := func(title string, of func(*cobra.Command) bool) {
		var rows []Entry
		for _, c := range root.Commands() {
			if of(c) {
				rows = append(rows, Entry{c.Name(), c.Short})
			}
		}
		if len(rows) > 0 {
			b.WriteString(title + "\n" + Table(rows, 2, width) + "\n")
		}
	}
	for _, g := range root.Groups() {
		part(g.Title, func(c *cobra.Command) bool { return c.IsAvailableCommand() && c.GroupID == g.ID })
	}
	part("Topics:", func(c *cobra.Command) bool { return c.IsAdditionalHelpTopicCommand() })
	b.WriteString("More: agentform help COMMAND\n")
	return b.String()
}

// Options returns the help of the flags that all commands have.
func Options(root *cobra.Command, width int) string {
	flags := append(entriesOf(root.PersistentFlags()), Entry{"-h, --help", "show the help of a command"})
	slices.SortFunc(flags, func(x, y Entry) int { return cmp.Compare(longName(x.Name), longName(y.Name)) })
	return Paragraph("Every command has these flags.", 0, width) + "\n" + Table(flags, 2, width)
}

func longName(flag string) string { return flag[strings.Index(flag, "--"):] }

// listed returns the subcommands of a command.
func listed(c *cobra.Command) (rows []Entry) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			rows = append(rows, Entry{sub.Name(), sub.Short})
		}
	}
	return rows
}

// Usage returns the command line, with flags before --.
func Usage(c *cobra.Command) string {
	if c.HasAvailableSubCommands() {
		return c.CommandPath() + " COMMAND"
	}
	line := strings.TrimSuffix(c.UseLine(), " [flags]")
	if len(entriesOf(c.LocalFlags())) == 0 {
		return line
	}
	for _, dashes := range []string{" [-- ", " -- "} {
		if before, after, found := strings.Cut(line, dashes); found {
			return before + " [flags]" + dashes + after
		}
	}
	return line + " [flags]"
}
