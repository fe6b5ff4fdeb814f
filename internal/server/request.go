package server

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// maxID bounds the name of a session.
const maxID = 512

// find returns the session of a snapshot with an id, an address or an unambiguous short
// name.
func find(s *hub.Snapshot, name string) (status.Input, error) {
	if name == "" || len(name) > maxID || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return status.Input{}, badRequest(shorten(name)+" is not a name of a session", "it is an id, an address or a short name: api, worker[\"web\"]")
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
		return status.Input{}, &api.Error{Status: http.StatusNotFound, Code: "not_found", Message: "no session " + shorten(name) + " is on record",
			Next: "GET /v1/sessions lists the sessions; agentform apply makes what the manifest has"}
	}
	var meant []string
	for _, k := range within[:min(len(within), 10)] {
		meant = append(meant, string(k.Record.Address))
	}
	return status.Input{}, &api.Error{Status: http.StatusBadRequest, Code: "ambiguous", Message: shorten(name) + " means several sessions",
		Next: "name one of them: " + strings.Join(meant, ", ")}
}

// parseQuery returns the query of a request. It refuses parameters that the route does
// not have, or that are out of bounds.
func parseQuery(r *http.Request, known ...param) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("the query cannot be read", "")
	}
	for name, values := range q {
		i := slices.IndexFunc(known, func(p param) bool { return p.name == name })
		if i < 0 {
			return nil, badRequest("there is no parameter "+shorten(name), "GET /v1/openapi.json says which there are")
		}
		p := known[i]
		if len(values) > 1 && !p.many || len(values) > 100 {
			return nil, badRequest("the parameter "+p.name+" is there too often", "")
		}
		for _, v := range values {
			if !p.fits(v) {
				return nil, badRequest(p.name+" cannot be "+shorten(v), p.about)
			}
		}
	}
	return q, nil
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

// decode reads the body of a request strictly: one JSON value within the size limit and
// without unknown fields. An empty body leaves the zero value.
func decode(w http.ResponseWriter, r *http.Request, into any) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return &api.Error{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Message: "the body is longer than 64 KiB", Next: "put it into a file, and send where that is"}
	case err != nil:
		return badRequest("the body cannot be read: "+err.Error(), "")
	case len(body) == 0:
		return nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &api.Error{Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type", Message: "the body has to be JSON",
			Next: "send the header Content-Type: application/json"}
	}
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return badRequest("the body cannot be understood: "+shorten(err.Error()), "GET /v1/openapi.json says what it may have")
	}
	if _, err := d.Token(); err != io.EOF {
		return badRequest("there is more than one value in the body", "")
	}
	return nil
}

// noBody refuses a body where the route has none.
func noBody(r *http.Request) error {
	if r.ContentLength != 0 {
		return badRequest("this request has no body", "leave it out")
	}
	return nil
}
