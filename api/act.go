package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/internal/keys"
	"github.com/agentform/agentform/internal/typing"
	"github.com/agentform/agentform/internal/view"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/reconcile"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/supervise"
)

// verb is something that a session is told by hand: POST /v1/sessions/{id}/VERB.
type verb struct {
	name, id       string
	summary, about string
	aliases        []string
	hand           reconcile.Hand
	in             func() order
	// refuse says why it cannot be told to a session as it is now; nil: it can.
	refuse func(view.Session) error
}

// order is the body of a verb: what it adds to the hand.
type order interface{ lay(*reconcile.Hand) error }

// Nothing is the body of a verb that has nothing more to say.
type Nothing struct{}

// Start is the body of start.
type Start struct {
	Wait bool `json:"wait,omitempty"` // answer when the agent is ready
}

// Restart is the body of restart.
type Restart struct {
	Fresh bool `json:"fresh,omitempty"` // begin a fresh conversation, with the prompt
	Wait  bool `json:"wait,omitempty"`  // answer when the agent is ready
}

// RestartSession is the body of restart-session.
type RestartSession struct {
	Fresh bool  `json:"fresh,omitempty"` // begin a fresh conversation, with the prompt
	Wait  *bool `json:"wait,omitempty"`  // answer when the agent is ready (default: true)
}

// Stop is the body of stop.
type Stop struct {
	AfterTurn bool             `json:"after_turn,omitempty"` // let the running turn end first
	Timeout   session.Duration `json:"timeout,omitempty"`    // how long that may take, such as 5m; with after_turn
}

func (Nothing) lay(*reconcile.Hand) error   { return nil }
func (o Start) lay(h *reconcile.Hand) error { h.Wait = o.Wait; return nil }
func (o Restart) lay(h *reconcile.Hand) error {
	h.Fresh, h.Wait = o.Fresh, o.Wait
	return nil
}
func (o RestartSession) lay(h *reconcile.Hand) error {
	h.Fresh, h.Wait = o.Fresh, o.Wait == nil || *o.Wait
	return nil
}
func (o Stop) lay(h *reconcile.Hand) error {
	if o.Timeout < 0 || o.Timeout > 0 && !o.AfterTurn {
		return badRequest("timeout says how long after_turn waits", "give both, and a time above 0")
	}
	h.AfterTurn, h.TurnLimit = o.AfterTurn, o.Timeout.D()
	return nil
}

// verbs is what a session can be told.
var verbs = []verb{
	{
		name: "restart-session", id: "restartStaleSession", aliases: []string{"/v1/agents/{id}/restart-session", "/agents/{id}/restart-session"},
		summary: "Start a stale session again, where it was",
		about:   "In the same container or tmux session, with its conversation; answers when the agent is ready. 409 unless the session is stale: its place stands, and its agent is gone.",
		hand:    reconcile.Hand{Desired: session.Running}, // without Restart: one that came back meanwhile is left alone
		in:      func() order { return &RestartSession{} }, refuse: unlessStale,
	}, {
		name: "start", id: "startSession", summary: "Start a session that was stopped, or whose agent is gone", about: "With its conversation where the agent can go on with it.",
		hand: reconcile.Hand{Desired: session.Running}, in: func() order { return &Start{} },
	}, {
		name: "restart", id: "restartSession", summary: "Start a session again, whatever its state", about: "Ends the agent if it lives.",
		hand: reconcile.Hand{Desired: session.Running, Restart: true}, in: func() order { return &Restart{} },
	}, {
		name: "pause", id: "pauseSession", summary: "Pause a session", about: "As its manifest says: clients off and input refused, or its processes standing still.",
		hand: reconcile.Hand{Desired: session.Paused}, in: func() order { return &Nothing{} }, refuse: unlessAlive,
	}, {
		name: "resume", id: "resumeSession", summary: "Let a paused session go on",
		hand: reconcile.Hand{Desired: session.Running}, in: func() order { return &Nothing{} }, refuse: unlessPaused,
	}, {
		name: "stop", id: "stopSession", summary: "Stop a session", about: "Answers when it has been seen that nothing is left of it. Its workspace and branch stay.",
		hand: reconcile.Hand{Desired: session.Stopped}, in: func() order { return &Stop{} },
	},
}

func (v verb) route() route {
	return route{
		method: "POST", path: "/v1/sessions/{id}/" + v.name, aliases: v.aliases, id: v.id, summary: v.summary, about: v.about,
		in: v.in(), out: Done{}, fails: []int{404, 409, 413, 415, 500, 503},
		handle: func(s *Server, w http.ResponseWriter, r *http.Request) error { return s.tell(w, r, v) },
	}
}

func unlessStale(x view.Session) error {
	if x.State == session.StateStale {
		return nil
	}
	next := "POST restart starts it again whatever its state"
	if x.State == session.StateStopped || x.State == session.StateError {
		next = "POST start starts it"
	}
	return &Error{Status: http.StatusConflict, Code: "not_stale", Message: fmt.Sprintf("%s is not stale: it is %s", x.Address, x.State), Next: next}
}

func unlessPaused(x view.Session) error {
	if x.Alive == nil || *x.Alive || x.Desired == session.Paused {
		return nil
	}
	return &Error{Status: http.StatusConflict, Code: "not_paused", Message: fmt.Sprintf("%s is not paused: it is %s", x.Address, x.State), Next: "POST start starts it"}
}

func unlessAlive(x view.Session) error {
	if x.Alive == nil || *x.Alive {
		return nil
	}
	return &Error{Status: http.StatusConflict, Code: "gone", Message: fmt.Sprintf("%s has no agent to pause: it is %s", x.Address, x.State), Next: "POST start starts it"}
}

// Done is what became of what a session was told.
type Done struct {
	Format  string          `json:"format_version"`
	Address session.Address `json:"address"`
	Actions []Act           `json:"actions"` // empty: it was so already
	Session view.Session    `json:"session"` // as it is now
}

// Act is one thing that was done.
type Act struct {
	Address session.Address `json:"address"`
	Action  plan.Action     `json:"action"`
	Outcome apply.Outcome   `json:"outcome"`
	Detail  string          `json:"detail"`
	Seconds float64         `json:"elapsed_seconds"`
}

// tell tells a session something by hand.
func (s *Server) tell(w http.ResponseWriter, r *http.Request, v verb) error {
	body := v.in()
	k, snapshot, err := s.aim(w, r, body)
	if err != nil {
		return err
	}
	hand := v.hand
	hand.Addresses = []session.Address{k.Record.Address}
	if err := body.lay(&hand); err != nil {
		return err
	}
	if v.refuse != nil {
		if err := v.refuse(shown(snapshot, k)); err != nil {
			return err
		}
	}
	done := Done{Format: view.FormatVersion, Address: k.Record.Address, Actions: []Act{}}
	err = s.act(func(ctx context.Context) error {
		_, tally, err := s.cfg.Hub.Do(ctx, by(r), hand)
		for _, x := range tally.Results {
			done.Actions = append(done.Actions, Act{x.Address, x.Action, x.Outcome, cmp.Or(errText(x.Err), x.Detail), x.Elapsed.Round(time.Millisecond).Seconds()})
		}
		return err
	})
	s.log.Info("told by hand", "session", k.Record.Address, "what", v.name, "by", by(r), "error", errText(err))
	if err != nil {
		return err
	}
	snapshot, err = s.look(r.Context())
	if err != nil {
		return err
	}
	if k, there := snapshot.Of(k.Record.Address); there {
		done.Session = shown(snapshot, k)
	}
	return answer(w, http.StatusOK, done)
}

// Input is the body of send: a text, or a key.
type Input struct {
	Text    string `json:"text,omitempty"`
	Key     string `json:"key,omitempty"`      // one named key, as tmux calls it: Enter, Escape, C-c, y
	NoEnter bool   `json:"no_enter,omitempty"` // only type the text
}

// Sent is what became of what was typed.
type Sent struct {
	Format  string          `json:"format_version"`
	Address session.Address `json:"address"`
	Alive   *bool           `json:"session_alive"` // null: it cannot be known
	Outcome typing.Outcome  `json:"outcome"`       // submitted; queued: it is at work, and takes it up after that; unverified: a key, or only typed
}

func (s *Server) send(w http.ResponseWriter, r *http.Request) error {
	var in Input
	k, _, err := s.aim(w, r, &in)
	if err != nil {
		return err
	}
	if (in.Text == "") == (in.Key == "") || in.Key != "" && in.NoEnter {
		return badRequest("want a text, or a key: one of the two", `{"text": "…"} or {"key": "Enter"}`)
	}
	if in.Key != "" && !keys.Known(in.Key) {
		return badRequest(fmt.Sprintf("there is no key %.40q", in.Key), "a key has tmux's name: Enter, Escape, C-c, F12, y")
	}
	sent := Sent{Format: view.FormatVersion, Address: k.Record.Address, Alive: k.Diagnosis.Alive}
	err = s.act(func(ctx context.Context) (err error) {
		sent.Outcome, err = s.cfg.Hub.Send(ctx, by(r), k.Record.Address, session.Input{Text: in.Text, Key: in.Key, NoEnter: in.NoEnter})
		return err
	})
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, sent)
}

// aim reads what a request that acts says, and finds the session that it is about, as
// it is now.
func (s *Server) aim(w http.ResponseWriter, r *http.Request, body any) (k view.Known, snapshot *supervise.Snapshot, err error) {
	if _, err = queried(r); err != nil {
		return k, nil, err
	}
	if err = decode(w, r, body); err != nil {
		return k, nil, err
	}
	if snapshot, err = s.look(s.acting); err == nil {
		k, err = find(snapshot, r.PathValue("id"))
	}
	return k, snapshot, err
}

// act does something that goes on when whoever asked for it is gone, until the hub
// ends.
func (s *Server) act(what func(context.Context) error) error {
	s.doing.RLock()
	defer s.doing.RUnlock()
	err := what(s.acting)
	if errors.Is(err, context.Canceled) && s.acting.Err() != nil {
		return &Error{Status: http.StatusServiceUnavailable, Code: "unavailable", Message: "the hub ends: " + err.Error(), Next: "ask the next one"}
	}
	return err
}

// by is the name in which a request acts.
func by(r *http.Request) string {
	name, _ := r.Context().Value(who{}).(string)
	return name
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
