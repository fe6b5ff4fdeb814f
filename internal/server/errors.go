package server

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// refuse responds with an error. If the response has started, it closes the connection.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if statusOf(w) != 0 {
		s.log.Debug("an answer was broken off", "path", r.URL.Path, "error", err)
		panic(http.ErrAbortHandler)
	}
	e := errorOf(err)
	if e.Status == http.StatusInternalServerError {
		s.log.Warn("a request failed", "path", r.URL.Path, "error", err)
	}
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="agentform"`)
	}
	if e.Status == http.StatusRequestEntityTooLarge {
		w.Header().Set("Connection", "close")
	}
	_ = answer(w, e.Status, api.Failure{Error: e}) // the client may be gone
}

// answer responds with a document.
func answer(w http.ResponseWriter, status int, document any) error {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	return wire.Write(w, document)
}

// errorOf returns the response to an error.
func errorOf(err error) *api.Error {
	conflict := func(code, next string) *api.Error {
		return &api.Error{Status: http.StatusConflict, Code: code, Message: err.Error(), Next: next}
	}
	var known *api.Error
	var unknown *engine.UnknownError
	var locked *state.LockedError
	var asks *input.DialogError
	var untaken *input.NotTakenError
	var problem session.Diagnostic
	var newer *state.NewerError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &unknown):
		return &api.Error{Status: http.StatusNotFound, Code: "not_found", Message: err.Error(), Next: "GET /v1/sessions lists the sessions"}
	case errors.As(err, &locked):
		return conflict("locked", "another process holds the state's lock: try again in a moment")
	case errors.As(err, &newer):
		return conflict("read_only", "the hub is older than what wrote the state: update and restart it")
	case errors.As(err, &asks):
		return conflict("asks", `answer with a key: POST {"key": "1"}, or attach and look`)
	case errors.As(err, &untaken):
		return conflict("not_taken", "GET data shows the screen")
	case errors.Is(err, session.ErrGone):
		return conflict("gone", "POST restart starts it again")
	case errors.Is(err, session.ErrRefused):
		return conflict("paused", "POST resume takes input again")
	case errors.As(err, &problem):
		return conflict("refused", problem.Detail)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &api.Error{Status: http.StatusServiceUnavailable, Code: "unavailable", Message: "the hub has no answer in time", Next: "try again in a moment"}
	}
	return &api.Error{Status: http.StatusInternalServerError, Code: "failed", Message: err.Error(), Next: "GET the session says how it is now"}
}

func badRequest(message, next string) *api.Error {
	return &api.Error{Status: http.StatusBadRequest, Code: "bad_request", Message: message, Next: next}
}

// shorten returns the start of a client's text, safe for responses and the log.
func shorten(s string) string {
	const most = 80
	s = plaintext.Safe(s)
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
