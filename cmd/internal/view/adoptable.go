package view

import (
	"fmt"
	"io"
	"time"

	"github.com/agentform/agentform/cmd/internal/discover"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// Adoptable writes the sessions with an agent on the user's tmux servers, and how to adopt them.
// addresses are their future addresses, by id.
func Adoptable(w io.Writer, s Style, found discover.Found, addresses map[string]session.Address, managed int, now time.Time) error {
	p := &page{Style: s}
	var rows [][]cell
	first := ""
	for _, x := range found.Sessions {
		branch := x.Branch
		if branch == "" {
			branch = "-"
		}
		if _, can := addresses[x.ID]; can && first == "" {
			first = "agentform adopt " + plaintext.ShellWord(addresses[x.ID].Short()) + " " + plaintext.ShellWord(x.ID)
		}
		rows = append(rows, []cell{{x.Socket, noInk}, {x.Name, bold}, {x.Agent, noInk}, {branch, noInk}, {plaintext.Age(now.Sub(x.IdleSince)), noInk}})
	}
	if len(rows) > 0 {
		p.table("", []column{{title: "SOCKET", min: 8}, {title: "SESSION", min: 8}, {title: "AGENT"}, {title: "BRANCH", min: 10}, {title: "IDLE", right: true}}, rows)
	} else {
		p.line("No unmanaged agent runs in your tmux servers.")
	}
	for _, x := range found.Sessions {
		if x.Problem != "" {
			p.blank()
			p.line(p.paint(bold, x.Name), p.paint(yellow, " cannot be adopted yet: "+x.Problem))
			p.line("  ", p.paint(noInk, x.Remedy))
		}
	}
	for _, u := range found.Unasked {
		p.blank()
		p.line(p.paint(yellow, "tmux server "+u.Socket+": "+u.Problem))
	}
	p.blank()
	switch {
	case managed == 1:
		p.line("1 more session is already managed by agentform.")
	case managed > 1:
		p.line(fmt.Sprintf("%d more sessions are already managed by agentform.", managed))
	}
	if first != "" {
		p.line("Adopt one:        " + p.paint(noInk, first))
		p.line(fmt.Sprintf("Adopt all %-8s", fmt.Sprintf("(%d):", len(addresses))) + "agentform adopt --all")
		p.line("Write a manifest: agentform init --from-tmux")
	}
	return p.flush(w)
}

// NotAdopted writes which of the found sessions and servers are left as they are, and why.
func NotAdopted(w io.Writer, s Style, found discover.Found, addresses map[string]session.Address) error {
	p := &page{Style: s}
	for _, x := range found.Sessions {
		if _, can := addresses[x.ID]; !can {
			p.line(p.paint(noInk, x.ID), ": not adopted: ", x.Problem)
			p.line("  ", p.paint(noInk, x.Remedy))
		}
	}
	for _, u := range found.Unasked {
		p.line("tmux server ", p.paint(noInk, u.Socket), " was skipped: ", p.paint(noInk, u.Problem))
	}
	return p.flush(w)
}

// AdoptableJSON writes the same as one document.
func AdoptableJSON(w io.Writer, found discover.Found, addresses map[string]session.Address) error {
	sessions := make([]wire.Object, len(found.Sessions))
	for i, x := range found.Sessions {
		address, can := addresses[x.ID]
		sessions[i] = wire.Object{"id", x.ID, "socket", x.Socket, "name", x.Name, "pane_id", x.Pane, "agent", x.Agent,
			"workspace", x.Workspace, "branch", x.Branch, "idle_since", wire.UTCOrNil(x.IdleSince),
			"adoptable", can, "address", address, "detail", x.Problem, "remedy", x.Remedy}
	}
	unasked := make([]wire.Object, len(found.Unasked))
	for i, u := range found.Unasked {
		unasked[i] = wire.Object{"socket", u.Socket, "detail", u.Problem}
	}
	return document(w, "sessions", sessions, "unreachable", unasked)
}
