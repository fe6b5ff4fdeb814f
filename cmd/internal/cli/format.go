package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/plaintext"
)

// formatFlag adds --format to a command, whose first format is the default and for which
// --json is one of them.
func formatFlag(a *app, c *cobra.Command, formats ...string) *string {
	format := ""
	c.Flags().StringVar(&format, "format", formats[0], "output `format`: "+strings.Join(formats, ", "))
	completeFlag(c, "format", words(formats...))
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		switch {
		case !slices.Contains(formats, format):
			return exit.Usage(c.CommandPath(), fmt.Errorf("--format %q: must be %s", format, plaintext.List(slices.Clone(formats), "or")))
		case a.JSON && c.Flags().Changed("format") && format != "json":
			return exit.Usage(c.CommandPath(), errors.New("--json is --format=json: give one of them"))
		case a.JSON:
			format = "json"
		}
		a.JSON = format == "json"
		return nil
	}
	return &format
}

// outputFlag adds -o to a command that prints one JSON document with --json. It returns
// where the format is, which the command has to print itself if it is one of own.
func outputFlag(a *app, c *cobra.Command, own ...string) *string {
	var format string
	var write func(io.Writer, []byte) error // a JSON document, in the format
	formats := append([]string{"json", "yaml"}, own...)
	set := func(s string) error {
		text, isTemplate := strings.CutPrefix(s, "template=")
		switch {
		case isTemplate:
			t, err := view.ParseTemplate(text)
			if err != nil {
				return err
			}
			write = func(w io.Writer, document []byte) error { return view.Template(w, document, t) }
		case !slices.Contains(formats, s):
			return fmt.Errorf("must be %s", plaintext.List(append(slices.Clone(formats), "template=TEMPLATE"), "or"))
		case s == "yaml":
			write = view.YAML
		default:
			write = nil
		}
		format = s
		return nil
	}
	c.Flags().VarP(flags.Func{With: set, Kind: "string"}, "output", "o",
		"output `format`: "+strings.Join(formats, ", ")+" or template=…, a Go template over the JSON document")
	completeFlag(c, "output", words(append(slices.Clone(formats), "template=")...))
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if a.JSON && format != "" && format != "json" {
			return exit.Usage(c.CommandPath(), errors.New("give --json or --output, not both"))
		}
		if write == nil {
			a.JSON = a.JSON || format == "json"
			return run(c, args)
		}
		var document bytes.Buffer
		out := a.Out
		a.Out, a.JSON = &document, true
		err := run(c, args)
		if a.Out = out; document.Len() == 0 {
			return err
		}
		return errors.Join(err, write(out, document.Bytes()))
	}
	return &format
}
