package server

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentform/agentform/api"
)

// What is wrong with a body is said without the types of this program.
func TestInvalidBody(t *testing.T) {
	for body, want := range map[string]string{
		`{"text": 5}`:         "text must be a string, not number",
		`{"no_enter": "yes"}`: "no_enter must be true or false, not string",
		`[]`:                  "it must be an object, not array",
		`{"texts": ""}`:       `unknown field "texts"`,
		`{"text": `:           "unexpected EOF",
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		err := decode(httptest.NewRecorder(), r, &api.Input{})
		if err == nil || err.Error() != "invalid body: "+want+"\nGET /v1/openapi.json describes it" {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}
