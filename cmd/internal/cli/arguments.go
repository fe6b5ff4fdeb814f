package cli

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/flags"
)

const unlimited = 1 << 30

var alternative = regexp.MustCompile(` \| [^ \]]+`)

func setArguments(a *app, c *cobra.Command) {
	for _, sub := range c.Commands() {
		setArguments(a, sub)
	}
	least, most := 0, 0
	for _, word := range strings.Fields(alternative.ReplaceAllString(c.Use, ""))[1:] {
		more := 1
		if strings.Contains(word, "...") {
			more = unlimited
		}
		most += more
		if word[0] != '[' {
			least++
		}
		if strings.Contains(word, "ADDR") && c.ValidArgsFunction == nil {
			c.ValidArgsFunction = completeAddresses(a, more)
		}
	}
	if c.Args == nil {
		c.Args = flags.Arguments(least, most)
	}
}

func afterDash(c *cobra.Command, args []string) []string {
	if at := c.ArgsLenAtDash(); at >= 0 {
		return args[at:]
	}
	return nil
}

// promptOf returns the prompt of --prompt; - is standard input.
func promptOf(a *app, typed string) (string, error) {
	if typed != "-" {
		return typed, nil
	}
	text, err := io.ReadAll(a.In)
	if err != nil {
		return "", fmt.Errorf("read the prompt: %w", err)
	}
	if len(text) == 0 {
		return "", errors.New("--prompt -: standard input is empty")
	}
	return string(text), nil
}
