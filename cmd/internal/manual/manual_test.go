package main

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/cli"
)

var update = flag.Bool("update", false, "make the reference anew")

const commands = "../../../docs/commands.md"

// TestReferenceIsFresh checks that the reference matches the commands.
func TestReferenceIsFresh(t *testing.T) {
	if *update {
		if err := run([]string{"reference", commands}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(commands)
	if err != nil {
		t.Fatal(err)
	}
	want, err := withReference(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("the reference in docs/commands.md is not what the commands say (-want +is); make reference writes it anew:\n%s", diff)
	}
}

// TestReferenceHasItsPlaces checks that sections keep their order and their notes, and that only
// the document decides where a command belongs.
func TestReferenceHasItsPlaces(t *testing.T) {
	places := ""
	eachDescribed(cli.Commands(), func(c *cobra.Command) {
		places = "### " + c.CommandPath() + "\nold\n\n" + places
	})
	for why, text := range map[string]string{
		"no place for the contents":     places,
		"no place for agentform wait":   begin + end + strings.Replace(places, "### agentform wait\n", "", 1),
		"agentform wait has a section":  begin + end + places + "### agentform wait\n",
		"agentform dance has a section": begin + end + places + "### agentform dance\n",
		"agentform state has a section": begin + end + places + "### agentform state\n", // has only other commands
		"no place for":                  "",
	} {
		if _, err := withReference(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", why, err)
		}
	}
	made, err := withReference("by hand\n" + begin + "old\n" + end + "## Now\n\nby hand, too\n\n" + places + notes + "\nkept\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"by hand\n" + begin + "\n| | |\n|---|---|\n| **[Now](#now)** | |\n| [`watch`](#agentform-watch) | Show a live status table |\n",
		end + "## Now\n\nby hand, too\n\n### agentform watch\n\n`agentform watch [ADDR...] [flags]`\n",
		notes + "\nkept\n",
		"`--timeout` as in [`wait`](#agentform-wait)",
		"`-o, --output` as in ",
	} {
		if !strings.Contains(made, want) {
			t.Errorf("it lacks %q:\n%s", want, made)
		}
	}
	if strings.Contains(made, "\nold\n") {
		t.Error("it keeps what was made before")
	}
}

func TestMarkdown(t *testing.T) {
	help := "Says one of\n\n  a *  first\n    b  second\n\nand_no more [ADDR] <x>."
	want := "Says one of\n\n```text\na *  first\n  b  second\n```\n\nand\\_no more \\[ADDR\\] \\<x>."
	if diff := cmp.Diff(want, markdown(help)); diff != "" {
		t.Error(diff)
	}
}

// TestPages checks that every command has a page with the text of its help.
func TestPages(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1773480000")
	folder := filepath.Join(t.TempDir(), "man")
	if err := run([]string{"man", folder}); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	each(cli.Commands(), func(c *cobra.Command) {
		page := read(strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1")
		for _, part := range []string{".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", "Mar 2026"} {
			if !strings.Contains(page, part) {
				t.Errorf("the page of %s lacks %s", c.CommandPath(), part)
			}
		}
		if c.HasExample() && !strings.Contains(page, ".SH EXAMPLE") {
			t.Errorf("the page of %s lacks its examples", c.CommandPath())
		}
	})
	if page := read("agentform.1"); !strings.Contains(page, ".SH EXIT STATUS") {
		t.Error("the page of agentform lacks its exit status")
	}
	if page := read("agentform-wait.1"); !strings.Contains(page, "\nturn     the agent") {
		t.Error("a list in the help does not stand as it is")
	}
	first := pages(t, folder)
	if err := run([]string{"man", folder}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, pages(t, folder)); diff != "" {
		t.Errorf("the same source makes other pages:\n%s", diff)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"man"}, {"poem", "x"}, {"reference", "no/such/file"}} {
		if run(args) == nil {
			t.Errorf("%q is no fault", args)
		}
	}
}

// each visits the commands that have a page.
func each(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" && c.Name() != "completion" {
			each(sub, visit)
		}
	}
}

func pages(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, err := os.ReadFile(filepath.Join(folder, path))
			found[path] = string(text)
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
