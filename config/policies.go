package config

import (
	"math"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
)

// needsHub counts a restart block unless its policy is never.
func needsHub(l *loader, m *Manifest) []string {
	declared := map[string]bool{"notify": len(l.blocks["notify"]) > 0, "budget": len(m.Budgets) > 0}
	restart, health := declaring(l, "restart"), declaring(l, "health")
	for _, s := range m.Sessions {
		declared["depends_on"] = declared["depends_on"] || len(s.Until) > 0
		declared["restart"] = declared["restart"] || restart(s) && s.Restart.Policy != "never"
		declared["health"] = declared["health"] || health(s)
		declared["limits"] = declared["limits"] || s.Limits.Resume == session.ResumeStaggered
		declared["verify"] = declared["verify"] || s.Verify.Declared() && s.Finish != session.FinishVerified // which apply --wait follows, too
		declared["pr"] = declared["pr"] || s.PR.Declared()
	}
	var needs []string
	for _, word := range []string{"notify", "budget", "health", "restart", "depends_on", "verify", "pr", "limits"} {
		if declared[word] {
			needs = append(needs, word)
		}
	}
	return needs
}

// declaring reports of a session whether its block or its agent's has a block of a type.
func declaring(l *loader, typ string) func(session.Spec) bool {
	in := map[[2]string]bool{}
	for _, outer := range []string{"session", "agent"} {
		for _, b := range l.blocks[outer] {
			if b.Block(typ) != nil {
				in[[2]string{outer, b.Labels[0]}] = true
			}
		}
	}
	return func(s session.Spec) bool {
		return in[[2]string{"session", s.Address.Block()}] || in[[2]string{"agent", s.Agent.Name}]
	}
}

// The policies are decoded over the defaults in r, h and s.
func readRestart(d reader, b *expr.Block, r *session.Restart) {
	d.OneOf(b, "policy", &r.Policy)
	d.Whole(b, "attempts", 0, &r.Attempts)
	readDuration(d, b, "window", 1, &r.Window)
	d.Whole(b, "escalate_after", 0, &r.EscalateAfter)
	d.Flag(b, "resume", &r.Resume)

	back := b.Block("backoff")
	readDuration(d, back, "initial", 0, &r.Backoff.Initial)
	d.Decimal(back, "factor", 1, math.Inf(1), &r.Backoff.Factor)
	readDuration(d, back, "max", 0, &r.Backoff.Max)
	d.Decimal(back, "jitter", 0, 1, &r.Backoff.Jitter)
	readDuration(d, back, "reset_after", 0, &r.Backoff.ResetAfter)
	if a := back.Attr("max"); a != nil && r.Backoff.Max < r.Backoff.Initial {
		d.Fail(a, "Invalid backoff", "The maximum wait, %s, is shorter than the first, %s.", r.Backoff.Max.Short(), r.Backoff.Initial.Short())
	}
}

func readHealth(d reader, b *expr.Block, h *session.Health) {
	readDuration(d, b, "interval", 1, &h.Interval)
	readDuration(d, b, "timeout", 1, &h.Timeout)
	readDuration(d, b, "start_period", 0, &h.StartPeriod)
	d.Whole(b, "failures", 1, &h.Failures)
	readDuration(d, b, "hung_after", 0, &h.HungAfter)
	d.OneOf(b, "on_unhealthy", &h.OnUnhealthy)

	if beat := b.Block("heartbeat"); beat != nil {
		readHeartbeat(d, beat, h)
	}
}

func readHeartbeat(d reader, b *expr.Block, h *session.Health) {
	switch d.ExactlyOne(b, "command", "key") {
	case "command":
		var command []string
		if d.Command(b, "command", &command) {
			h.Heartbeat = &session.Heartbeat{Command: command}
		}
	case "key":
		var key string
		if !d.Word(b, "key", &key) {
			return
		}
		if !keyForm.MatchString(key) {
			d.Fail(b.Attr("key"), "Invalid key", "%q is not a key name of tmux, like F12, Escape or C-x.", expr.Cut(key))
			return
		}
		h.Heartbeat = &session.Heartbeat{Key: key}
	}
}

// keyForm matches tmux's key names. tmux types any other name as text.
var keyForm = regexp.MustCompile(`^(?:[CMS]-)*(?:[!-~]|Enter|Escape|Tab|BTab|BSpace|Space|Up|Down|Left|Right|Home|End|` +
	`PageUp|PageDown|PgUp|PgDn|PPage|NPage|Delete|Insert|DC|IC|F(?:[1-9]|1[0-2]))$`)

func readConversation(d reader, b *expr.Block, s *session.Spec) {
	if b == nil {
		return
	}
	c := session.Conversation{Resume: true}
	d.Flag(b, "resume", &c.Resume)
	given := d.Word(b, "id", &c.ID)
	switch {
	case given && (c.ID[0] == '-' || strings.ContainsFunc(c.ID, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })):
		d.Fail(b.Attr("id"), "Invalid conversation", "%q is not a conversation id: it starts with a dash or contains white space.", expr.Cut(c.ID))
	case c.Resume && s.Agent.Name != "" && s.Agent.Base == "":
		d.FailAt(b.Def, "Conversation of a custom agent", "Only built-in agents can resume a conversation. Give the agent %q a base, or put the conversation into args.", s.Agent.Name)
	}
	s.Conversation = c
}

func readStop(d reader, b *expr.Block, s *session.Stop) {
	d.OneOf(b, "signal", &s.Signal)
	readDuration(d, b, "grace", 0, &s.Grace)
	readDuration(d, b, "after_turn", 0, &s.AfterTurn)
}

func readDuration(d reader, b *expr.Block, name string, low session.Duration, into *session.Duration) {
	d.Duration(b, name, time.Duration(low), (*time.Duration)(into))
}
