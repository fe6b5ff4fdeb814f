package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/agentform/agentform/cmd/internal/cli"
)

const exitStatus = `

# EXIT STATUS

**0** done, or nothing to do. **1** an error; a branch mismatch is one. **2** there are changes,
with --detailed-exitcode. **3** fmt --check found work. **4** the state is locked by someone
else. **5** a session asks a question, with wait --fail-on-question. **130** interrupted.`

// writePages dates the pages by SOURCE_DATE_EPOCH, so that they are reproducible.
func writePages(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root := cli.Commands()
	prepare(root)
	root.Long += exitStatus
	header := &doc.GenManHeader{Section: "1", Source: "agentform", Manual: "agentform"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return fmt.Errorf("write man pages: %w", err)
	}
	return nil
}

func prepare(c *cobra.Command) {
	c.DisableAutoGenTag = true
	if c.Long == "" {
		c.Long = c.Short + "."
	}
	c.Long = markdown(c.Long)
	for _, sub := range c.Commands() {
		prepare(sub)
	}
}
