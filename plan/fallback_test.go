package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/session"
)

// falls is a session whose work others may continue.
func falls(names ...string) func(*session.Spec) {
	return func(s *session.Spec) {
		s.Args = []string{"--model", "opus"}
		s.Limits.OnQuota = session.QuotaFallsBack
		for _, n := range names {
			s.Limits.Fallback = append(s.Limits.Fallback, session.AgentSpec{Name: n, Command: []string{n}, PromptVia: "argument"})
		}
	}
}

// TestFallBack checks when the hub starts another agent, and which.
func TestFallBack(t *testing.T) {
	a, b := session.Single("a"), session.Single("b")
	of := func(id string) func(*session.Record) {
		return func(r *session.Record) { r.Run.Credential = session.Credential{ID: id, Name: "claude, ~/.claude"} }
	}
	hour := Limit{Since: now.Add(-time.Hour), Until: now.Add(time.Hour), Said: true}
	const continues = "restart fallback: codex continues the work of claude, which met a limit that resets at 2026-11-21T13:00:00Z"
	at := func(l Limit) func(*Hub) {
		return func(h *Hub) {
			h.Limits, h.Resting = map[session.Address]Limit{a: l}, map[session.Address]bool{a: true}
		}
	}
	for name, c := range map[string]struct {
		spec   func(*session.Spec)
		record func(*session.Record)
		live   func(*session.Live)
		hub    []func(*Hub)
		want   string
	}{
		"it rests":                  {falls("codex"), nil, nil, []func(*Hub){at(hour)}, continues},
		"it has exited":             {falls("codex"), nil, died(time.Minute), []func(*Hub){at(hour)}, continues},
		"it resets soon":            {falls("codex"), nil, nil, []func(*Hub){at(Limit{now.Add(-time.Hour), now.Add(10 * time.Minute), true})}, "none in_sync: running"},
		"a limit by the minute":     {falls("codex"), nil, nil, []func(*Hub){at(Limit{now, now.Add(9 * time.Minute), true})}, "none in_sync: running"},
		"nobody knows until when":   {falls("codex"), nil, nil, []func(*Hub){at(Limit{now, now.Add(time.Hour), false})}, "none in_sync: running"},
		"somebody works with it":    {falls("codex"), nil, nil, []func(*Hub){at(hour), func(h *Hub) { h.Resting = nil }}, "none in_sync: running"},
		"it is to wait":             {func(s *session.Spec) { falls("codex")(s); s.Limits.OnQuota = session.QuotaWaits }, nil, nil, []func(*Hub){at(hour)}, "none in_sync: running"},
		"it is paused":              {falls("codex"), func(r *session.Record) { r.Override = &session.Override{Desired: session.Paused, By: "ada", At: now} }, func(l *session.Live) { l.InputOff = true }, []func(*Hub){at(hour)}, "none in_sync: paused"},
		"over its budget":           {falls("codex"), func(r *session.Record) { r.OverBudget = &session.OverBudget{Desired: session.Paused} }, func(l *session.Live) { l.Frozen = true }, []func(*Hub){at(hour)}, "hold over_budget: paused by the budget : "},
		"the first is at its limit": {falls("codex", "gemini"), nil, nil, []func(*Hub){at(hour), limitedToo(b, "codex", hour)}, "restart fallback: gemini continues the work of claude, which met a limit that resets at 2026-11-21T13:00:00Z"},
		"all are at their limits":   {falls("codex"), nil, nil, []func(*Hub){at(hour), limitedToo(b, "codex", hour)}, "none in_sync: running"},
		"all are, and it exited":    {falls("codex"), nil, died(time.Minute), []func(*Hub){at(hour), limitedToo(b, "codex", hour)}, "hold blocked_api: its agent exited at a limit of the model's provider"},
		"the first is refused": {falls("codex", "gemini"), nil, nil, []func(*Hub){at(hour), limitedToo(b, "codex", Limit{}), func(h *Hub) {
			h.Access = map[session.Address]Access{b: {Refused: now}}
		}}, "restart fallback: gemini continues the work of claude, which met a limit that resets at 2026-11-21T13:00:00Z"},
		"its secret is missing": {falls("codex"), nil, nil, []func(*Hub){at(hour), func(h *Hub) { h.Lacking = map[session.Address]string{a: "secret K"} }}, "hold secret_unavailable: secret K"},
		"it could not be started": {falls("codex"), func(r *session.Record) { r.LastError = "no codex" }, nil, []func(*Hub){at(hour), func(h *Hub) {
			h.Restarts = map[session.Address]health.Count{a: {Tries: []time.Time{now}}}
		}}, "hold backing_off: backing off, next try 2026-11-21T12:00:10Z (2 of 5)"},
		"at the next limit": {falls("codex", "gemini"), func(r *session.Record) {
			own := r.Spec.Own()
			r.Spec = r.Spec.With(session.OwnAgent{Agent: r.Spec.Limits.Fallback[0]})
			r.Fallback = &session.Fallback{Agent: "codex", Instead: own, Credential: session.Credential{ID: "claude"}, Until: now.Add(time.Hour)}
		}, nil, []func(*Hub){at(hour)}, "restart fallback: gemini continues the work of codex, which met a limit that resets at 2026-11-21T13:00:00Z"},
	} {
		s := newStage().record(restartable("a", func(s *session.Spec) { s.Agent.Name = "claude" }, c.spec), of("claude"), func(r *session.Record) {
			if c.record != nil {
				c.record(r)
			}
		}).live("a", func(l *session.Live) {
			if c.live != nil {
				c.live(l)
			}
		}).record(restartable("b"), of("codex")).live("b").byHub(c.hub...)
		got := Compute(s.in).Changes[0]
		if text := fmt.Sprintf("%s %s: %s", got.Action, got.Reason, got.Detail); text != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, text, c.want)
		}
		if got.Reason != ReasonFallback {
			continue
		}
		f := got.Fallback
		if f.Instead.Agent.Name != "claude" || len(f.Instead.Args) != 2 || f.Credential.ID != "claude" || !f.Until.Equal(hour.Until) || got.After.Agent.Name != f.Agent || len(got.After.Args) > 0 || !got.Fresh {
			t.Errorf("%s: %+v, %+v", name, f, got.After)
		}
	}
}

// limitedToo makes another session's credential that of an agent, and says that it is at a limit.
func limitedToo(a session.Address, agent string, l Limit) func(*Hub) {
	return func(h *Hub) {
		if !l.Until.IsZero() {
			h.Limits[a] = l
		}
		h.Credential = func(s session.Spec, _ string) session.Credential { return session.Credential{ID: s.Agent.Name} }
	}
}

// TestRunsItsFallback checks that a fallback is no difference from the manifest as
// long as that has both agents, and what makes the session's own come back.
func TestRunsItsFallback(t *testing.T) {
	a := session.Single("a")
	declared := restartable("a", func(s *session.Spec) {
		s.Agent.Name, s.Prompt = "claude", session.PromptOf("go")
	}, falls("codex"))
	fallen := func(r *session.Record) {
		r.Spec = declared.With(session.OwnAgent{Agent: declared.Limits.Fallback[0]})
		r.Fallback = &session.Fallback{Agent: "codex", Instead: declared.Own(), Credential: session.Credential{ID: "1", Name: "claude, ~/.claude"},
			Until: now.Add(time.Hour), Prompt: "told", Of: declared.Prompt.Digest}
		r.Run.PromptSHA = "told"
	}
	finished := func(r *session.Record) { r.Finished = &session.Finished{By: session.FinishTurn, At: now} }
	for name, c := range map[string]struct {
		change func(*session.Spec)
		record func(*session.Record)
		option func(*Options)
		live   bool
		want   string
		agent  string
	}{
		"nothing has changed":  {nil, nil, nil, true, "none fallback: runs codex instead of claude, whose quota resets at 2026-11-21T13:00:00Z", "codex"},
		"its own arguments":    {func(s *session.Spec) { s.Args = nil }, nil, nil, true, "none fallback: runs codex instead of claude, whose quota resets at 2026-11-21T13:00:00Z", "codex"},
		"sent prompts":         {func(s *session.Spec) { s.OnPromptChange = session.PromptIsSent }, func(r *session.Record) { r.Spec.OnPromptChange = session.PromptIsSent }, nil, true, "none fallback: runs codex instead of claude, whose quota resets at 2026-11-21T13:00:00Z", "codex"},
		"a label":              {func(s *session.Spec) { s.Labels = map[string]string{"a": "b"} }, nil, nil, true, "update spec_changed: labels changed", "codex"},
		"another prompt":       {func(s *session.Spec) { s.Prompt = session.PromptOf("stop") }, nil, nil, true, "restart prompt_changed: " + newConversation, "codex"},
		"it is replaced":       {nil, nil, func(o *Options) { o.Replace = []session.Address{a} }, true, "replace requested: as requested", "claude"},
		"no fallback any more": {func(s *session.Spec) { s.Limits = session.Limits{} }, nil, nil, true, "restart spec_changed: agent, agent.command, args changed", "claude"},
		"another agent":        {func(s *session.Spec) { s.Agent.Name = "qwen" }, nil, nil, true, "restart spec_changed: agent, agent.command, args changed", "qwen"},
		"it is done":           {nil, finished, nil, false, "none finished: finished", "codex"},
		"done, another prompt": {func(s *session.Spec) { s.Prompt = session.PromptOf("stop") }, finished, nil, false, "restart prompt_changed: " + newConversation, "claude"},
		"it has exited":        {nil, nil, nil, false, "restart gone: tmux session is gone", "codex"},
		"its quota has reset":  {nil, func(r *session.Record) { r.Fallback.Until = now.Add(-time.Hour) }, nil, true, "none fallback: runs codex instead of claude, whose quota resets at 2026-11-21T11:00:00Z", "codex"},
		"another first choice": {func(s *session.Spec) {
			falls("gemini")(s)
			s.Limits.Fallback[0], s.Limits.Fallback[1] = s.Limits.Fallback[1], s.Limits.Fallback[0]
		}, nil, nil, true, "update spec_changed: limits.fallback changed", "codex"},
	} {
		want := declared
		if c.change != nil {
			c.change(&want)
		}
		s := newStage().want(want).record(declared, fallen, func(r *session.Record) {
			if c.record != nil {
				c.record(r)
			}
		})
		if c.live {
			s.live("a")
		}
		if c.option != nil {
			c.option(&s.in.Options)
		}
		got := Compute(s.in).Changes[0]
		if text := fmt.Sprintf("%s %s: %s", got.Action, got.Reason, got.Detail); text != c.want || got.After.Agent.Name != c.agent {
			t.Errorf("%s:\n got %s, %s\nwant %s, %s", name, text, got.After.Agent.Name, c.want, c.agent)
		}
	}
	r := session.Record{Address: a}
	fallen(&r)
	if q := Quotas([]session.Record{r}, nil, now)["1"]; q.Session != a || !q.Until.Equal(now.Add(time.Hour)) {
		t.Errorf("the quota that was used up: %+v", q)
	}
	if q := Quotas([]session.Record{r}, nil, now.Add(2*time.Hour)); len(q) != 0 {
		t.Errorf("it has reset: %+v", q)
	}
}
