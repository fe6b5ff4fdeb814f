package server

import (
	"net/http"

	"github.com/agentform/agentform/api"
)

// route is an endpoint. Its handler is registered from it, and the OpenAPI document
// describes it.
type route struct {
	method, path string
	aliases      []string // the same under other paths
	id           string   // its name in the document, and in the metrics
	summary      string
	about        string
	query        []param // nil: not checked
	in           any     // a value of the body's type; nil: no body
	out          any     // a value of the response's type; nil: not JSON
	media        string  // of a response that is not JSON
	fails        []int   // the statuses of errors, besides 400, 401 and 403
	also         int     // a status besides 200 with the same body; 0: none
	open         bool    // needs no token
	handle       func(*Server, http.ResponseWriter, *http.Request) error
}

// param is a parameter of a query.
type param struct {
	name, about string
	kind        string // of JSON Schema
	most        int    // of an integer: the greatest value; of a string: its length
	many        bool   // it may be given more than once
}

// The parameters that several routes have.
var (
	fresh = param{name: "fresh", kind: "boolean", about: "true: look now, and not at what was seen last (at most an interval ago)"}
	tail  = param{name: "tail", kind: "integer", most: 100000, about: "only so many of the last lines, or entries; 48 KiB at most in any case"}
	after = param{name: "after", kind: "string", most: 100, about: "the id of the last event that you had; as the header Last-Event-ID, which counts before it"}
	of    = param{name: "session", kind: "string", most: maxID, many: true, about: "only events of this session: an id, an address or a short name"}
	none  = []param{}
)

func routes() []route {
	all := []route{
		{
			method: "GET", path: "/v1/sessions", aliases: []string{"/v1/agents"}, id: "listSessions", out: api.StatusDocument{},
			summary: "All sessions on record", about: "The document of agentform status --json.",
			query: []param{fresh}, handle: (*Server).listSessions,
		}, {
			method: "GET", path: "/v1/sessions/{id}", aliases: []string{"/v1/agents/{id}"}, id: "getSession", out: api.ShownDocument{},
			summary: "One session in full", about: "The document of agentform show --json.",
			query: []param{fresh}, fails: []int{404}, handle: (*Server).getSession,
		}, {
			method: "GET", path: "/v1/sessions/{id}/data", aliases: []string{"/v1/agents/{id}/data"}, id: "getSessionData", out: api.Data{},
			summary: "What the agent was told, did and said",
			about:   "The end of the agent's own session file where it keeps one and may be observed, and of its screen, without such a file with what scrolled off it; each 48 KiB at most.",
			query:   []param{tail}, fails: []int{404}, handle: (*Server).getData,
		}, {
			method: "GET", path: "/v1/plan", id: "getPlan", out: api.PlanDocument{},
			summary: "What the hub is about to do, and what it holds back", about: "The document of agentform plan --json, of the hub's own plan: what is wanted is what is on record.",
			query: []param{fresh}, handle: (*Server).getPlan,
		}, {
			method: "GET", path: "/v1/events", id: "streamEvents", media: "text/event-stream",
			summary: "What happens, as it happens",
			about: "Server-sent events: each has an id, and as data a line of agentform events --json. " +
				"It begins now, or after an event that you name. A comment is sent every 15 s. Who reads too slowly is dropped, and may come back with the last id.",
			query: []param{after, of}, fails: []int{404}, handle: (*Server).streamEvents,
		},
	}
	return append(append(all, actions()...),
		route{
			method: "POST", path: "/v1/sessions/{id}/send", id: "sendToSession", in: api.Input{}, out: api.Sent{},
			summary: "Type into the agent", about: "Types a text and submits it, and answers when the agent has it; or presses one key. Nothing is typed while the agent asks something: POST answer.",
			query: none, fails: []int{404, 409, 413, 415}, handle: (*Server).send,
		},
		route{
			method: "POST", path: "/v1/sessions/{id}/answer", id: "answerQuestion", in: api.Answer{}, out: api.Answered{},
			summary: "Answer what the agent asks",
			about: "Chooses an option of the question that the session has, by its word (yes, always, no), number or label, or types a text where the question takes one; " +
				"answers when the question is gone from the screen. With the question's id it answers no other one.",
			query: none, fails: []int{404, 409, 413, 415}, handle: (*Server).answerQuestion,
		},
		route{method: "GET", path: "/v1/openapi.json", id: "getOpenAPI", out: map[string]any{}, summary: "This document", open: true, handle: (*Server).getOpenAPI},
		route{
			method: "GET", path: "/healthz", id: "getHealth", query: none, out: api.Health{}, open: true, also: http.StatusServiceUnavailable,
			summary: "Whether the hub does its work", about: "503 if its last look is long ago.", handle: (*Server).getHealth,
		},
		route{method: "GET", path: "/metrics", id: "getMetrics", media: "text/plain", summary: "Metrics, as Prometheus reads them", handle: (*Server).getMetrics},
	)
}

func (x route) paths() []string { return append([]string{x.path}, x.aliases...) }
