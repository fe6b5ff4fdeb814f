package agent

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

// TestRefused checks which captures show that a provider refused the credential: those that end with
// a 401, of each agent, and no others. An answer is seen only where there was one.
func TestRefused(t *testing.T) {
	screens, err := filepath.Glob("testdata/*/*/screen.txt")
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]bool{}
	for _, screen := range screens {
		c := load(t, filepath.Dir(screen))
		got := c.detect()
		want := got.Activity == session.Failed && (strings.Contains(got.Detail, "401") || strings.Contains(got.Detail, "unauthorized"))
		if got.Refused != want {
			t.Errorf("%s/%s: refused %t, want %t: %s", c.agent, c.situation, got.Refused, want, got.Detail)
		}
		refused[c.agent] = refused[c.agent] || got.Refused
		if len(c.lines) == 0 {
			continue
		}
		n := session.ReadTranscript(For(Builtins()[c.agent]), c.lines)
		if answered := !n.AnsweredAt.IsZero(); answered != (n.Tokens > 0) {
			t.Errorf("%s/%s: it has answered at %s, with %d tokens", c.agent, c.situation, n.AnsweredAt, n.Tokens)
		}
	}
	for _, name := range Names() {
		if !refused[name] {
			t.Errorf("no capture of %s is of a refused credential", name)
		}
	}
}

// TestRefusedCodex checks the forms of Codex's error that no capture has.
func TestRefusedCodex(t *testing.T) {
	for info, want := range map[string]bool{
		`"unauthorized"`: true, `"other"`: false, `{"response_too_many_failed_attempts":{"http_status_code":401}}`: true,
		`{"http_connection_failed":{"http_status_code":403}}`: false, `{"http_connection_failed":{"http_status_code":null}}`: false, `7`: false,
	} {
		line := `{"timestamp":"2026-11-21T06:31:57Z","type":"event_msg","payload":{"type":"task_complete","error":{"message":"no","codex_error_info":` + info + `}}}`
		n := session.ReadTranscript(For(Builtins()[Codex]), [][]byte{[]byte(line)})
		if got := !n.RefusedAt.IsZero(); got != want || n.Activity != session.Failed {
			t.Errorf("%s: refused %t, want %t; %s", info, got, want, n.Activity)
		}
	}
}

// TestRenewal checks what people are asked to do about a refused credential.
func TestRenewal(t *testing.T) {
	for _, c := range []struct{ agent, key, want string }{
		{Claude, "", "log in again: start claude and type /login"},
		{Codex, "", "log in again: codex login"},
		{Opencode, "", "log in again"},
		{Codex, "CODEX_API_KEY", "renew the key in CODEX_API_KEY"},
		{Opencode, "OPENAI_API_KEY and GROQ_API_KEY", "renew the key in OPENAI_API_KEY and GROQ_API_KEY"},
		{Claude, "CLAUDE_CODE_USE_BEDROCK", "log in again at the cloud that CLAUDE_CODE_USE_BEDROCK selects"},
	} {
		if got := Renewal(Builtins()[c.agent], session.Credential{ID: "1", Key: c.key}); got != c.want {
			t.Errorf("%s, %q: %q, want %q", c.agent, c.key, got, c.want)
		}
	}
}
