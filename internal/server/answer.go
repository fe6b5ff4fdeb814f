package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/input"
)

func (s *Server) answerQuestion(w http.ResponseWriter, r *http.Request) error {
	var in api.Answer
	k, err := s.target(w, r, &in)
	if err != nil {
		return err
	}
	if strings.TrimSpace(in.Answer) == "" {
		return badRequest("the answer is empty", `{"answer": "yes"}`)
	}
	given := api.Answered{Format: api.FormatVersion, Address: k.Record.Address}
	err = s.act(func(ctx context.Context) error {
		done, err := s.cfg.Hub.Answer(ctx, by(r), k.Record.Address, input.Reply{Text: in.Answer, Question: in.Question})
		given.Question, given.Next, given.Exited = done.Question, done.Next, done.Exited
		if done.Option.Number > 0 {
			given.Option = &done.Option
		}
		return err
	})
	s.log.Info("action", "session", k.Record.Address, "what", "answer", "by", by(r), "error", errText(err))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, given)
}
