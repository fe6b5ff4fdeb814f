package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

func addOptions(body any, h *engine.Override) error {
	switch o := body.(type) {
	case *api.Start:
		h.Wait, h.IgnoreBudget = o.Wait, o.IgnoreBudget
	case *api.Resume:
		h.IgnoreBudget = o.IgnoreBudget
	case *api.Restart:
		h.Fresh, h.Wait, h.IgnoreBudget = o.Fresh, o.Wait, o.IgnoreBudget
	case *api.RestartSession:
		h.Fresh, h.Wait = o.Fresh, o.Wait == nil || *o.Wait
	case *api.Stop:
		if o.Timeout < 0 || o.Timeout > 0 && !o.AfterTurn {
			return badRequest("timeout is how long after_turn waits", "give both, and a time above 0")
		}
		h.AfterTurn, h.TurnLimit = o.AfterTurn, o.Timeout.D()
	}
	return nil
}

// action returns the route of an action on a session, with an options body. refuse
// returns why the session's state forbids it, and may be nil.
func action(verb string, o engine.Override, in any, refuse func(api.Session) error, x route) route {
	x.method, x.path, x.query = "POST", "/v1/sessions/{id}/"+verb, none
	x.in, x.out, x.fails = in, api.Done{}, []int{404, 409, 413, 415, 500, 503}
	x.handle = func(s *Server, w http.ResponseWriter, r *http.Request) error {
		return s.command(w, r, verb, o, reflect.New(reflect.TypeOf(in)).Interface(), refuse)
	}
	return x
}

func actions() []route {
	run := engine.Override{Desired: session.Running} // without Restart: a session that runs is left alone
	return []route{
		action("restart-session", run, api.RestartSession{}, unlessStale, route{
			id: "restartStaleSession", aliases: []string{"/v1/agents/{id}/restart-session", "/agents/{id}/restart-session"},
			summary: "Restart a stale session in place",
			about:   "In the same container or tmux session, with its conversation; returns when the agent is ready. 409 unless the session is stale: its tmux session or container exists, but its agent has exited.",
		}),
		action("start", run, api.Start{}, nil, route{
			id: "startSession", summary: "Start a stopped or exited session", about: "Resumes its conversation if the agent supports it.",
		}),
		action("restart", engine.Override{Desired: session.Running, Restart: true}, api.Restart{}, nil, route{
			id: "restartSession", summary: "Restart a session, whatever its state", about: "Stops the agent if it is running.",
		}),
		action("pause", engine.Override{Desired: session.Paused}, struct{}{}, unlessAlive, route{
			id: "pauseSession", summary: "Pause a session", about: "As set in its manifest: clients are detached and input is refused, or its processes are suspended.",
		}),
		action("resume", run, api.Resume{}, unlessPaused, route{id: "resumeSession", summary: "Resume a paused session"}),
		action("stop", engine.Override{Desired: session.Stopped}, api.Stop{}, nil, route{
			id: "stopSession", summary: "Stop a session", about: "Returns when all its processes are gone. Its workspace and branch are kept.",
		}),
	}
}

// refused returns the error that the state of a session forbids an action.
func refused(x api.Session, code, why, next string) error {
	return fail(http.StatusConflict, code, fmt.Sprintf("%s %s: it is %s", x.Address, why, x.State), next)
}

func unlessStale(x api.Session) error {
	switch {
	case allows(api.ActionRestartSession, x):
		return nil
	case x.State == session.StateStopped, x.State == session.StateError:
		return refused(x, "not_stale", "is not stale", "POST start starts it")
	}
	return refused(x, "not_stale", "is not stale", "POST restart restarts it whatever its state")
}

func unlessPaused(x api.Session) error {
	if allows(api.ActionResume, x) {
		return nil
	}
	return refused(x, "not_paused", "is not paused", "POST start starts it")
}

func unlessAlive(x api.Session) error {
	if allows(api.ActionPause, x) {
		return nil
	}
	return refused(x, "gone", "has no agent to pause", "POST start starts it")
}

func allows(a api.Action, x api.Session) bool { return status.Allows(a, x.State, x.Alive, x.Desired) }

func (s *Server) command(w http.ResponseWriter, r *http.Request, verb string, o engine.Override, body any, refuse func(api.Session) error) error {
	k, err := s.target(w, r, body)
	if err == nil {
		err = addOptions(body, &o)
	}
	if err == nil && refuse != nil {
		err = refuse(status.Of(k))
	}
	if err != nil {
		return err
	}
	o.Addresses = []session.Address{k.Record.Address}
	done := api.Done{Format: api.FormatVersion, Address: k.Record.Address, Actions: []api.Act{}}
	err = s.act(func(ctx context.Context) error {
		_, tally, err := s.cfg.Hub.Do(ctx, by(r), o)
		for _, x := range tally.Results {
			done.Actions = append(done.Actions, api.Act{Address: x.Address, Action: x.Action, Outcome: string(x.Outcome),
				Detail: cmp.Or(errText(x.Err), x.Detail), Seconds: x.Elapsed.Round(time.Millisecond).Seconds()})
		}
		return err
	})
	s.log.Info("action", "session", k.Record.Address, "what", verb, "by", by(r), "error", errText(err))
	if err != nil {
		return err
	}
	snapshot, err := s.look(r.Context())
	if err != nil {
		return err
	}
	if k, there := snapshot.Of(k.Record.Address); there {
		done.Session = status.Of(k)
	}
	return answer(w, http.StatusOK, done)
}

func (s *Server) send(w http.ResponseWriter, r *http.Request) error {
	var in api.Input
	k, err := s.target(w, r, &in)
	if err != nil {
		return err
	}
	if (in.Text == "") == (in.Key == "") || in.Key != "" && in.NoEnter {
		return badRequest("give text or key", `{"text": "…"} or {"key": "Enter"}`)
	}
	if in.Key != "" && !input.IsKey(in.Key) {
		return badRequest(fmt.Sprintf("unknown key %.40q", in.Key), "tmux key names: Enter, Escape, C-c, F12, y")
	}
	sent := api.Sent{Format: api.FormatVersion, Address: k.Record.Address, Alive: k.Diagnosis.Alive}
	err = s.act(func(ctx context.Context) error {
		outcome, err := s.cfg.Hub.Send(ctx, by(r), k.Record.Address, session.Input{Text: in.Text, Key: in.Key, NoEnter: in.NoEnter})
		sent.Outcome = string(outcome)
		return err
	})
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, sent)
}

// target reads the body of an action, and observes and returns its session.
func (s *Server) target(w http.ResponseWriter, r *http.Request, body any) (status.Input, error) {
	if err := decode(w, r, body); err != nil {
		return status.Input{}, err
	}
	snapshot, err := s.look(s.acting)
	if err != nil {
		return status.Input{}, err
	}
	return find(snapshot, r.PathValue("id"))
}

// act carries out an action, which continues without the client, until the hub ends.
func (s *Server) act(what func(context.Context) error) error {
	s.doing.RLock()
	defer s.doing.RUnlock()
	err := what(s.acting)
	if errors.Is(err, context.Canceled) && s.acting.Err() != nil {
		return fail(http.StatusServiceUnavailable, "unavailable", "the hub is stopping: "+err.Error(), "retry with the new hub")
	}
	return err
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
