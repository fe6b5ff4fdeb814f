package config

import (
	"math"
	"regexp"
	"strings"
	"unicode"

	"github.com/agentform/agentform/session"
)

// needsHub returns what the manifest declares that only a hub carries out. A
// restart block counts if its policy restarts anything.
func needsHub(l *loader, m *Manifest) []string {
	declared := map[string]bool{"notify": len(l.blocks["notify"]) > 0}
	for _, s := range m.Sessions {
		declared["depends_on"] = declared["depends_on"] || len(s.Until) > 0
		declared["restart"] = declared["restart"] || declares(l, s, "restart") && s.Restart.Policy != "never"
		declared["health"] = declared["health"] || declares(l, s, "health")
	}
	var needs []string
	for _, word := range []string{"notify", "health", "restart", "depends_on"} {
		if declared[word] {
			needs = append(needs, word)
		}
	}
	return needs
}

// declares reports whether the session's own block or its agent's has a block of
// that type.
func declares(l *loader, s session.Spec, typ string) bool {
	for _, b := range l.blocks["session"] {
		if b.labels[0] == s.Address.Block() && b.block(typ) != nil {
			return true
		}
	}
	for _, b := range l.blocks["agent"] {
		if b.labels[0] == s.Agent.Name && b.block(typ) != nil {
			return true
		}
	}
	return false
}

// readRestart reads a restart block over what stands in r.
func readRestart(d reader, b *block, r *session.Restart) {
	d.oneOf(b, "policy", &r.Policy)
	d.whole(b, "attempts", 0, &r.Attempts)
	d.duration(b, "window", 1, &r.Window)
	d.whole(b, "escalate_after", 0, &r.EscalateAfter)
	d.flag(b, "resume", &r.Resume)

	back := b.block("backoff")
	d.duration(back, "initial", 0, &r.Backoff.Initial)
	d.decimal(back, "factor", 1, math.Inf(1), &r.Backoff.Factor)
	d.duration(back, "max", 0, &r.Backoff.Max)
	d.decimal(back, "jitter", 0, 1, &r.Backoff.Jitter)
	d.duration(back, "reset_after", 0, &r.Backoff.ResetAfter)
	if a := back.attr("max"); a != nil && r.Backoff.Max < r.Backoff.Initial {
		d.fail(a, "Invalid backoff", "The longest wait, %s, is shorter than the first, %s.", r.Backoff.Max.Short(), r.Backoff.Initial.Short())
	}
}

// readHealth reads a health block over what stands in h.
func readHealth(d reader, b *block, h *session.Health) {
	d.duration(b, "interval", 1, &h.Interval)
	d.duration(b, "timeout", 1, &h.Timeout)
	d.duration(b, "start_period", 0, &h.StartPeriod)
	d.whole(b, "failures", 1, &h.Failures)
	d.duration(b, "hung_after", 0, &h.HungAfter)
	d.oneOf(b, "on_unhealthy", &h.OnUnhealthy)

	if beat := b.block("heartbeat"); beat != nil {
		readHeartbeat(d, beat, h)
	}
}

// readHeartbeat reads a probe: a command or a key.
func readHeartbeat(d reader, b *block, h *session.Health) {
	switch d.exactlyOne(b, "command", "key") {
	case "command":
		var command []string
		if d.command(b, "command", &command) {
			h.Heartbeat = &session.Heartbeat{Command: command}
		}
	case "key":
		var key string
		if !d.word(b, "key", &key) {
			return
		}
		if !keyForm.MatchString(key) {
			d.fail(b.attr("key"), "Invalid key", "%q is no key as tmux calls them, like F12, Escape or C-x.", cut(key))
			return
		}
		h.Heartbeat = &session.Heartbeat{Key: key}
	}
}

// keyForm are the keys that tmux can press: a character or a name, after modifiers.
// It would type any other name as text.
var keyForm = regexp.MustCompile(`^(?:[CMS]-)*(?:[!-~]|Enter|Escape|Tab|BTab|BSpace|Space|Up|Down|Left|Right|Home|End|` +
	`PageUp|PageDown|PgUp|PgDn|PPage|NPage|Delete|Insert|DC|IC|F(?:[1-9]|1[0-2]))$`)

// readConversation reads which conversation a session goes on with.
func readConversation(d reader, b *block, s *session.Spec) {
	if b == nil {
		return
	}
	c := session.Conversation{Resume: true}
	d.flag(b, "resume", &c.Resume)
	given := d.word(b, "id", &c.ID)
	switch {
	case given && (c.ID[0] == '-' || strings.ContainsFunc(c.ID, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })):
		d.fail(b.attr("id"), "Invalid conversation", "%q is no id of a conversation: it begins with a dash or holds white space.", cut(c.ID))
	case c.Resume && s.Agent.Name != "" && s.Agent.Base == "":
		d.failAt(b.def, "Conversation of a custom agent", "agentform knows how a built-in agent goes on with a conversation only. Give the agent %q a base, or put the conversation into the args.", s.Agent.Name)
	}
	s.Conversation = c
}

// readStop reads a stop block over what stands in s.
func readStop(d reader, b *block, s *session.Stop) {
	d.oneOf(b, "signal", &s.Signal)
	d.duration(b, "grace", 0, &s.Grace)
	d.duration(b, "after_turn", 0, &s.AfterTurn)
}
