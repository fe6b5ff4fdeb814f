package config

import (
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
		declared["limits"] = declared["limits"] || s.Limits.Resume == session.ResumeStaggered || s.Limits.OnQuota == session.QuotaFallsBack
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

// checkBackoff reports a longest wait of a block's restart policy that is shorter than the first.
func checkBackoff(d reader, b *expr.Block, r session.Restart) {
	if a := b.Block("restart").Block("backoff").Attr("max"); a != nil && r.Backoff.Max < r.Backoff.Initial {
		d.Fail(a, "Invalid backoff", "The maximum wait, %s, is shorter than the first, %s.", r.Backoff.Max.Short(), r.Backoff.Initial.Short())
	}
}

// readHeartbeat reads the heartbeat of a session or agent block.
func readHeartbeat(d reader, b *expr.Block, h *session.Health) {
	b = b.Block("health").Block("heartbeat")
	if b == nil {
		return
	}
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

func checkConversation(d reader, b *expr.Block, s session.Spec) {
	c := s.Conversation
	switch {
	case b == nil:
	case c.ID != "" && (c.ID[0] == '-' || strings.ContainsFunc(c.ID, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })):
		d.Fail(b.Attr("id"), "Invalid conversation", "%q is not a conversation id: it starts with a dash or contains white space.", expr.Cut(c.ID))
	case c.Resume && s.Agent.Name != "" && s.Agent.Base == "":
		d.FailAt(b.Def, "Conversation of a custom agent", "Only built-in agents can resume a conversation. Give the agent %q a base, or put the conversation into args.", s.Agent.Name)
	}
}

func readDuration(d reader, b *expr.Block, name string, low session.Duration, into *session.Duration) {
	d.Duration(b, name, time.Duration(low), (*time.Duration)(into))
}
