//go:build real

package server_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// A question that the API shows is answered by it, and by no answer to another question.
func TestAnswer(t *testing.T) {
	t.Parallel()
	s := newRealShop(t)
	spec := specOf(s.dir, "session.asks")
	spec.Agent.Command = []string{"sh", "-c", `for file in a b; do printf 'Overwrite %s? [y/N] ' $file; read answer; echo "it was $answer"; done; exec cat`}
	spec.Agent.Patterns.Blocked = []string{`^Overwrite . .y`, `^Overwrite .\? \[`}
	s.apply(engine.Request{Wanted: []session.Spec{spec}})
	s.serve()
	question := func(text string) (q session.Question) {
		t.Helper()
		wait.For(t, "it asks "+text, func() (any, bool) {
			x, err := s.client.Session(t.Context(), "asks")
			if err != nil || x.Question == nil {
				return []any{x, err}, false
			}
			q = *x.Question
			return q, q.Text == text
		})
		return q
	}
	refused := func(in api.Answer, code string) *api.Error {
		t.Helper()
		var e *api.Error
		if _, err := s.client.Answer(t.Context(), "asks", in); !errors.As(err, &e) || e.Code != code {
			t.Fatalf("%+v: %v, want %s", in, err, code)
		}
		return e
	}
	first := question("Overwrite a?")
	if e := refused(api.Answer{Answer: "maybe"}, "unknown_answer"); e.Status != 400 || !strings.Contains(e.Next, "yes, no") {
		t.Errorf("an unknown answer: %+v", e)
	}
	refused(api.Answer{Answer: "always"}, "unknown_answer")
	done, err := s.client.Answer(t.Context(), "asks", api.Answer{Answer: "yes", Question: first.ID})
	if err != nil || done.Question.ID != first.ID || done.Option == nil || done.Option.Word != "yes" {
		t.Fatalf("%+v, %v", done, err)
	}
	second := question("Overwrite b?")
	refused(api.Answer{Answer: "yes", Question: first.ID}, "other_question")
	if d, err := s.client.Data(t.Context(), "asks", 0); err != nil || strings.Count(d.Screen.Text, "it was y") != 1 {
		t.Errorf("it has answered another question: %v\n%s", err, d.Screen.Text)
	}
	if _, err := s.client.Answer(t.Context(), "asks", api.Answer{Answer: "2", Question: second.ID}); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "both are answered", func() (any, bool) {
		d, err := s.client.Data(t.Context(), "asks", 0)
		return []any{d.Screen.Text, err}, err == nil && strings.Contains(d.Screen.Text, "it was n")
	})
}
