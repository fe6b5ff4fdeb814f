package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/preflight"
	"github.com/agentform/agentform/internal/plaintext"
)

// Initialized is a first manifest that was written.
type Initialized struct {
	File      string
	Agent     string   // of its session
	Installed []string // the agents
	Ignored   bool     // .gitignore has the data directory now
	Tmux      bool     // is installed
	Commit    bool     // the repository has one
}

// WriteInitialized writes what init did, what is missing, and what to do next.
func WriteInitialized(w io.Writer, s Style, x Initialized) error {
	p := &page{Style: s}
	p.line(fmt.Sprintf("Wrote %s: one session of %s, on a branch of its own.", x.File, x.Agent))
	if x.Ignored {
		p.line("Added .agentform/ to .gitignore: state and worktrees stay out of the repository.")
	}
	others := slices.DeleteFunc(slices.Clone(x.Installed), func(name string) bool { return name == x.Agent })
	switch {
	case len(x.Installed) == 0:
		p.line(fmt.Sprintf("\nNone of %s is on PATH: install one, or declare your own agent.", plaintext.List(agent.Names(), "and")))
	case len(others) > 0:
		p.line(fmt.Sprintf("\nAlso installed: %s.", strings.Join(others, ", ")))
	}
	if !x.Tmux {
		p.line("\ntmux is not on PATH, and sessions run in it: install tmux 3.2 or later.")
	}
	if !x.Commit {
		p.prose(0, unbrokenCommand("\nThe repository has no commit yet. Create one with: "+preflight.FirstCommit))
	}
	p.line("\nNext: agentform plan")
	return p.flush(w)
}
