package cli_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/cli"
	"github.com/agentform/agentform/cmd/internal/help"
)

// TestRootHelpFits: below it a terminal of 24 lines has room for the hint and the prompt.
func TestRootHelpFits(t *testing.T) {
	text := help.Text(cli.Commands(), 80)
	if n := strings.Count(text, "\n"); n > 22 {
		t.Errorf("it has %d lines:\n%s", n, text)
	}
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > 80 {
			t.Errorf("wider than 80: %s", line)
		}
	}
	words := strings.Fields(text)
	each(cli.Commands(), func(c *cobra.Command) {
		if c.HasParent() && !c.Parent().HasParent() && !c.IsAdditionalHelpTopicCommand() && !slices.Contains(words, c.Name()) {
			t.Errorf("it lacks %s", c.Name())
		}
	})
}

// TestHelp: every help has an example and fits into its width, at which only a line with
// one long word may pass it.
func TestHelp(t *testing.T) {
	root := cli.Commands()
	each(root, func(c *cobra.Command) {
		if !c.HasExample() && !c.IsAdditionalHelpTopicCommand() {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for _, width := range []int{60, 80, 100} {
			fits(t, help.Text(c, width), width)
		}
		text := help.Text(c, 80)
		before, after, _ := strings.Cut(text, "\nExamples:\n")
		if c.HasParent() && c.HasExample() && strings.Count(before, "\n") > 4 {
			t.Errorf("examples of %s are not first:\n%s", c.CommandPath(), text)
		}
		if c.HasParent() && strings.Contains(after, "--lock-timeout") {
			t.Errorf("%s has the global flags:\n%s", c.CommandPath(), text)
		}
	})
	for _, width := range []int{60, 100} {
		fits(t, help.All(root, width), width)
		fits(t, help.Options(root, width), width)
	}
}

// invoked is a command line of agentform in a line for a shell.
var invoked = regexp.MustCompile(`(?:^|[ (])agentform((?: +(?:'[^']*'|"[^"]*"|[^\s'"|&<>()])+)*)`)

// word is an argument in it.
var word = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)

var inQuotes = regexp.MustCompile(`'([^']*)'|"([^"]*)"`)

// TestExamplesParse: agentform understands the examples in its help, which docs/commands.md
// has, too.
func TestExamplesParse(t *testing.T) {
	each(cli.Commands(), func(c *cobra.Command) {
		own := false
		for _, m := range invoked.FindAllStringSubmatch(c.Example, -1) {
			args := word.FindAllString(m[1], -1)
			for i, a := range args {
				args[i] = inQuotes.ReplaceAllString(a, "$1$2")
			}
			found, rest, err := cli.Commands().Traverse(args)
			if err == nil {
				err = found.ParseFlags(rest)
			}
			if err == nil {
				err = found.ValidateArgs(found.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: agentform%s: %v", c.CommandPath(), m[1], err)
				continue
			}
			own = own || strings.HasPrefix(found.CommandPath(), c.CommandPath())
		}
		if c.HasExample() && !own {
			t.Errorf("no example of %s is one of it:\n%s", c.CommandPath(), c.Example)
		}
	})
}

func fits(t *testing.T, text string, width int) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.TrimRight(line, " ") != line {
			t.Errorf("ends in a space: %q", line)
		}
		if utf8.RuneCountInString(line) > width && len(strings.Fields(strings.TrimSuffix(line, `\`))) > 1 && !quoted.MatchString(line) {
			t.Errorf("wider than %d: %s", width, line)
		}
	}
}

// quoted is one word for a shell.
var quoted = regexp.MustCompile(`^ *[^' ]*'[^']*'( \\)?$`)

func TestOptions(t *testing.T) {
	root := cli.Commands()
	text := help.Options(root, 100)
	for _, flag := range []string{"--chdir", "--file", "--help", "--json", "--no-color", "--no-pager", "--var-file"} {
		if !strings.Contains(text, flag) {
			t.Errorf("it lacks %s:\n%s", flag, text)
		}
	}
}

func TestHelpWidth(t *testing.T) {
	for columns, want := range map[int]int{0: 80, 20: 40, 72: 72, 100: 100, 240: 100} {
		if got := help.Width(columns); got != want {
			t.Errorf("%d columns: %d, want %d", columns, got, want)
		}
	}
}

// each visits the commands that are listed, and topics.
func each(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			each(sub, visit)
		}
	}
}
