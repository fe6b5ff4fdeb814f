// Package crowd makes many sessions that look like a day's work, for what is measured of documents and pages.
package crowd

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/changes"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// sessions returns n sessions: one of ten asks something, and the others rest.
func sessions(n int, now time.Time) []status.Input {
	random := rand.New(rand.NewPCG(1, 2))
	var all []status.Input
	for i := range n {
		all = append(all, one(session.Indexed("worker", i), random, now))
	}
	return all
}

// said are the last words of agents.
var said = []string{
	"Charges are retried now. May I run the integration tests?", "The address form is moved. Payment comes next.",
	"Results with one wrong letter are found. The index grows by 11 %.", "Totals are rounded in Total only. All tests pass.",
	"Pages are cached, keyed by language.", "Two tests share an order number. I can separate them.",
}

func one(a session.Address, random *rand.Rand, now time.Time) status.Input {
	hex := func(digits int) string { return fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64())[:digits] }
	began := now.Add(-time.Duration(random.IntN(8*3600e3)) * time.Millisecond)
	ended := began.Add(time.Duration(random.Int64N(int64(now.Sub(began)) + 1)))
	number := random.IntN(len(said))
	screen := fmt.Sprintf("> %s\n\n* %s\n\n>", a.Short(), said[number])
	spec := session.Spec{
		Address: a, Role: []string{"backend", "frontend", "docs"}[random.IntN(3)], Desired: session.Running,
		Agent:     session.AgentSpec{Name: []string{"claude", "codex"}[random.IntN(2)], PromptVia: "argument"},
		Branch:    "agents/" + a.Slug(),
		Workspace: session.Workspace{Mode: session.Worktree, Repo: "/home/ada/shop", Path: "/home/ada/shop/.agentform/workspaces/" + a.Slug()},
		Runtime:   session.RuntimeSpec{Kind: "tmux"},
	}
	id, run := a.Slug()+"-"+hex(8), hex(16)
	place := session.Location{Runtime: "tmux", Socket: "/run/user/1000/agentform/" + hex(8) + "/tmux-0", Name: a.OutsideName("shop"), Pane: fmt.Sprint("%", random.IntN(500))}
	conversation := fmt.Sprintf("%s-%s-4%s-8%s-%s", hex(8), hex(4), hex(3), hex(3), hex(12))
	k := status.Input{
		Record: &session.Record{
			ID: id, Address: a, Spec: spec, Location: place, CreatedAt: began.Add(-time.Second), UpdatedAt: ended,
			Tree: session.WorkspaceState{Mode: session.Worktree, Path: spec.Workspace.Path, Branch: spec.Branch},
			Run:  session.Run{ID: run, Number: 1, StartedAt: began, ReadyAt: began.Add(time.Second), DeliveredAt: began.Add(2 * time.Second), Conversation: conversation},
		},
		Live: &session.Live{
			Mark: session.Mark{Address: a, ID: id, Run: run}, Location: place, PlaceUp: true, Liveness: session.Alive,
			Agent: session.Process{PID: 1000 + random.IntN(100000)}, Started: began, MovedAt: ended, Screen: screen, Size: [2]int{200, 50},
		},
		Diagnosis: plan.Diagnosis{State: session.StateRunning, Alive: new(true)},
		Look: &activity.Look{
			Activity: session.Idle, Detection: session.Detection{Activity: session.Idle, Source: "native"}, FirstTurnAt: ended, TurnAt: ended,
			Transcript: &session.Transcript{
				Path:         "/home/ada/.claude/projects/-home-ada-shop--agentform-workspaces-" + a.Slug() + "/" + conversation + ".jsonl",
				Conversation: conversation, StartedAt: began, Prompts: 1, PromptAt: began, Turns: 1 + random.IntN(5), Tokens: random.Int64N(500000), LastMessage: said[number],
			},
		},
		Checkout:   &session.Checkout{Path: spec.Workspace.Path, Exists: true, Git: true, Branch: spec.Branch},
		Changes:    &changes.Count{Changes: git.Changes{Added: random.IntN(900), Removed: random.IntN(300), Untracked: random.IntN(4), Ahead: random.IntN(6), Behind: random.IntN(3)}, Base: "main", At: ended},
		Events:     []history.Event{{Time: ended, Address: a, ID: id, Run: run, Kind: history.TurnEnded}},
		Transcript: "/home/ada/.local/share/agentform/shop/history/" + id + "/screen.log",
		Usage:      &usage.Sum{Answers: random.Int64N(90) + 1, Tokens: session.Tokens{Input: random.Int64N(90000), Output: random.Int64N(30000), CacheRead: random.Int64N(2e6)}, Cost: float64(random.IntN(900)) / 100},
		At:         now,
	}
	if random.IntN(10) == 0 {
		command := fmt.Sprintf("go test ./internal/%s/...", hex(6))
		k.Look.Activity = session.Blocked
		k.Look.Detection = session.Detection{Activity: session.Blocked, Source: "screen", Detail: "run " + command + "?", Question: &session.Question{
			ID: hex(12), Text: "run \"" + command + "\"?",
			Options: []session.Option{{Number: 1, Word: "yes", Label: "Yes"}, {Number: 2, Word: "always", Label: "Yes, and don't ask again for go test commands"}, {Number: 3, Word: "no", Label: "No, and tell the agent what to do differently"}},
		}}
	}
	return k
}

// Hub has such sessions, and is served as a hub. Only what a page asks for without a terminal is there.
type Hub struct {
	server.Hub

	mu     sync.Mutex
	seen   *hub.Snapshot
	events []hub.Event
	more   chan struct{} // closed and replaced with each event
}

// NewHub returns a hub with n sessions.
func NewHub(n int) *Hub {
	now := time.Now()
	s := &hub.Snapshot{At: now, Sessions: sessions(n, now), Plan: plan.Plan{At: now, Project: "shop", Complete: true}}
	for _, k := range s.Sessions {
		s.Plan.Changes = append(s.Plan.Changes, plan.Change{Address: k.Record.Address, Action: plan.None, Reason: plan.ReasonInSync})
	}
	return &Hub{seen: s, more: make(chan struct{})}
}

// Snapshot implements server.Hub.
func (h *Hub) Snapshot() *hub.Snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen
}

// Ask lets a session ask something, as a hub sees it: there is a snapshot, and then an event with the screen.
func (h *Hub) Ask(i int, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := *h.seen
	s.At = time.Now()
	s.Plan.At = s.At
	s.Sessions = append([]status.Input{}, s.Sessions...)
	k := &s.Sessions[i]
	look := *k.Look
	look.Activity = session.Blocked
	look.Detection = session.Detection{Activity: session.Blocked, Source: "screen", Detail: text}
	e := history.Event{Time: s.At, Address: k.Record.Address, ID: k.Record.ID, Run: k.Record.Run.ID, Kind: history.StatusChanged,
		Old: string(session.StatusRunning), New: string(session.StatusBlocked), Detail: text, Excerpt: k.Live.Screen}
	k.Look, k.At, k.Events = &look, s.At, []history.Event{e}
	h.seen = &s
	h.events = append(h.events, hub.Event{ID: fmt.Sprintf("a.%d.%d", len(h.events)+1, e.Time.UnixNano()), Event: e})
	close(h.more)
	h.more = make(chan struct{})
}

// Events implements server.Hub. It yields the events after the call.
func (h *Hub) Events(ctx context.Context, _ string) (iter.Seq[hub.Event], error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, more := len(h.events), h.more
	return func(yield func(hub.Event) bool) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-more:
			}
			h.mu.Lock()
			fresh := h.events[at:]
			at, more = len(h.events), h.more
			h.mu.Unlock()
			for _, e := range fresh {
				if !yield(e) {
					return
				}
			}
		}
	}, nil
}

// Capture implements server.Hub.
func (h *Hub) Capture(_ context.Context, a session.Address, _ int) (string, error) {
	k, _ := h.Snapshot().Of(a)
	return k.Live.Screen, nil
}
