package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// maxID bounds the name of a session.
const maxID = 512

func find(s *hub.Snapshot, name string) (status.Input, error) {
	if name == "" || len(name) > maxID || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return status.Input{}, badRequest(shorten(name)+" is not the name of a session", "it is an id, an address or a short name: api, worker[\"web\"]")
	}
	address, err := session.ParseAddress(name)
	var within []status.Input
	for _, k := range s.Sessions {
		if k.Record.ID == name || err == nil && k.Record.Address == address {
			return k, nil
		}
		if err == nil && k.Record.Address.Within(address) {
			within = append(within, k)
		}
	}
	switch len(within) {
	case 1:
		return within[0], nil
	case 0:
		return status.Input{}, fail(http.StatusNotFound, "not_found", "no session "+shorten(name)+" in the state",
			"GET /v1/sessions lists the sessions; agentform apply creates those in the manifest")
	}
	var meant []string
	for _, k := range within[:min(len(within), 10)] {
		meant = append(meant, string(k.Record.Address))
	}
	return status.Input{}, fail(http.StatusBadRequest, "ambiguous", shorten(name)+" matches several sessions", "choose one: "+strings.Join(meant, ", "))
}

// check refuses a body where the route has none, and parameters that the route does not
// have, or that are out of bounds.
func (x route) check(r *http.Request) error {
	if x.in == nil && r.ContentLength != 0 {
		return badRequest("no request body expected", "omit it")
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return badRequest("the query cannot be read", "")
	}
	for name, values := range q {
		i := slices.IndexFunc(x.query, func(p param) bool { return p.name == name })
		switch {
		case x.query == nil:
			return nil
		case i < 0:
			return badRequest("unknown parameter "+shorten(name), "GET /v1/openapi.json lists them")
		case len(values) > 1 && !x.query[i].many || len(values) > 100:
			return badRequest("the parameter "+name+" is given more than once", "")
		}
		for _, v := range values {
			if !x.query[i].fits(v) {
				return badRequest(name+" cannot be "+shorten(v), x.query[i].about)
			}
		}
	}
	return nil
}

func (p param) fits(v string) bool {
	switch p.kind {
	case "boolean":
		return v == "true" || v == "false"
	case "integer":
		n, err := strconv.Atoi(v)
		return err == nil && n >= 1 && n <= p.most
	}
	return len(v) <= p.most
}

// decode reads the body of a request strictly. An empty body leaves the zero value.
func decode(w http.ResponseWriter, r *http.Request, into any) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return fail(http.StatusRequestEntityTooLarge, "too_large", "the body is longer than 64 KiB", "put it into a file and send its path")
	case err != nil:
		return badRequest("the body cannot be read: "+err.Error(), "")
	case len(body) == 0:
		return nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return fail(http.StatusUnsupportedMediaType, "unsupported_media_type", "the body must be JSON", "send the header Content-Type: application/json")
	}
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return badRequest("invalid body: "+shorten(invalid(err)), "GET /v1/openapi.json describes it")
	}
	if _, err := d.Token(); err != io.EOF {
		return badRequest("there is more than one value in the body", "")
	}
	return nil
}

// invalid returns what is wrong with a body, without the types of this program.
func invalid(err error) string {
	t, typed := errors.AsType[*json.UnmarshalTypeError](err)
	if !typed {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	must := map[reflect.Kind]string{
		reflect.String: "a string", reflect.Bool: "true or false", reflect.Struct: "an object", reflect.Slice: "an array",
		reflect.Int: "a whole number", reflect.Int64: "a whole number",
	}[t.Type.Kind()]
	return cmp.Or(t.Field, "it") + " must be " + cmp.Or(must, "another type") + ", not " + t.Value
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if statusOf(w) != 0 {
		s.log.Debug("a response was interrupted", "path", r.URL.Path, "error", err)
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

func errorOf(err error) *api.Error {
	conflict := func(code, next string) *api.Error { return fail(http.StatusConflict, code, err.Error(), next) }
	if known, is := errors.AsType[*api.Error](err); is {
		return known
	}
	problem, refused := errors.AsType[session.Diagnostic](err)
	unknown, noAnswer := errors.AsType[*input.UnknownAnswerError](err)
	switch {
	case has[*engine.UnknownError](err):
		return fail(http.StatusNotFound, "not_found", err.Error(), "GET /v1/sessions lists the sessions")
	case has[*state.LockedError](err):
		return conflict("locked", "another process has the state lock: try again in a moment")
	case has[*state.NewerError](err):
		return conflict("read_only", "the hub is older than what wrote the state: update and restart it")
	case has[*input.DialogError](err):
		return conflict("asks", `answer it with POST answer {"answer": "yes"}; GET the session shows the question`)
	case has[*input.NoQuestionError](err):
		return conflict("no_question", "GET the session shows what it does; POST send sends text or a key")
	case has[*input.OtherQuestionError](err):
		return conflict("other_question", "GET the session shows its current question")
	case has[*input.NotAnsweredError](err):
		return conflict("not_answered", "GET data shows the screen")
	case noAnswer:
		return fail(http.StatusBadRequest, "unknown_answer", err.Error(), "answer with one of: "+strings.Join(unknown.Question.Names(), ", "))
	case has[*input.NotTakenError](err):
		return conflict("not_taken", "GET data shows the screen")
	case errors.Is(err, session.ErrGone):
		return conflict("gone", "POST restart restarts it")
	case errors.Is(err, session.ErrRefused):
		return conflict("paused", "POST resume resumes it")
	case refused:
		return conflict("refused", problem.Detail)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fail(http.StatusServiceUnavailable, "unavailable", "the hub timed out", "try again in a moment")
	}
	return fail(http.StatusInternalServerError, "failed", err.Error(), "GET the session shows its current state")
}

func has[T error](err error) bool {
	_, is := errors.AsType[T](err)
	return is
}

func fail(status int, code, message, next string) *api.Error {
	return &api.Error{Status: status, Code: code, Message: message, Next: next}
}

func badRequest(message, next string) *api.Error {
	return fail(http.StatusBadRequest, "bad_request", message, next)
}

// shorten returns the start of a client's text, safe for responses and the log.
func shorten(s string) string {
	return plaintext.Cut(plaintext.Safe(s), 80, "…")
}
