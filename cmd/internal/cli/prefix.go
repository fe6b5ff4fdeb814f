package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/session"
)

func noPrefixFlag(c *cobra.Command, value *bool) {
	c.Flags().BoolVar(value, "no-prefix", false, "do not begin lines with the name of the session")
}

// prefixes begin lines with the names of sessions.
func prefixes(a *app, w io.Writer, named []session.Address) *view.Prefixes {
	names := make([]string, len(named))
	for i, address := range named {
		names[i] = address.Short()
	}
	return view.NewPrefixes(w, a.Style(w), names)
}

// nopCloser is a writer whose Close does nothing.
type nopCloser struct{ io.Writer }
