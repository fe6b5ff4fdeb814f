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
	reader       bool    // of a POST: it is also for those who may only read
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
	fresh  = param{name: "fresh", kind: "boolean", about: "true: inspect now instead of using the last inspection (at most an interval ago)"}
	tail   = param{name: "tail", kind: "integer", most: 100000, about: "only this many of the last lines or entries; always at most 48 KiB"}
	after  = param{name: "after", kind: "string", most: 100, about: "the id of the last event received; the header Last-Event-ID takes precedence"}
	of     = param{name: "session", kind: "string", most: maxID, many: true, about: "only events of this session: an id, an address or a short name"}
	sumBy  = param{name: "by", kind: "string", most: 20, about: "what usage is summed by: session (the default), agent, model or day"}
	since  = param{name: "since", kind: "string", most: 40, about: "only since this time: RFC 3339"}
	ranked = param{name: "ranked", kind: "boolean", about: "true: in the order of agentform status, those that need attention first; else by address"}
	many   = param{name: "events", kind: "integer", most: 1000, about: "this many of the last events; else 10"}
	none   = []param{}

	version = param{name: "version", kind: "string", most: 100, about: "the version of a document that the caller has: only what has changed since"}
	quiet   = param{name: "none", kind: "boolean", about: "false: without the changes whose action is none"}
	screens = param{name: "excerpts", kind: "boolean", about: "false: without the excerpts of screens"}

	verified = param{name: "verified", kind: "boolean", about: "true: only sessions whose work is verified"}
	method   = param{name: "method", kind: "string", most: 20, about: "how work is landed: merge (the default), squash or rebase"}
)

func routes() []route {
	all := []route{
		{
			method: "GET", path: "/v1/sessions", aliases: []string{"/v1/agents"}, id: "listSessions", out: api.StatusDocument{},
			summary: "All sessions in the state",
			about: "The document of agentform status --json. With a version, the document may have a field since, the same version: then sessions are those that have changed since, " +
				"indexes that of each in the order of all, and removed those that are gone. Without since it has all sessions: the hub does not know the version.",
			query: []param{fresh, ranked, version}, handle: (*Server).listSessions,
		}, {
			method: "GET", path: "/v1/sessions/{id}", aliases: []string{"/v1/agents/{id}"}, id: "getSession", out: api.ShownDocument{},
			summary: "One session in full", about: "The document of agentform show --json.",
			query: []param{fresh, many}, fails: []int{404}, handle: (*Server).getSession,
		}, {
			method: "GET", path: "/v1/sessions/{id}/data", aliases: []string{"/v1/agents/{id}/data"}, id: "getSessionData", out: api.Data{},
			summary: "An agent's conversation log",
			about:   "The end of the agent's session file, if it has one, and of its screen, with scrollback if there is no session file; at most 48 KiB each.",
			query:   []param{tail}, fails: []int{404}, handle: (*Server).getData,
		}, {
			method: "GET", path: "/v1/sessions/{id}/diff", id: "getSessionDiff", out: api.DiffDocument{}, query: []param{since}, fails: []int{404, 409},
			summary: "What a session changed", about: "The document of agentform diff --json for one session, with the text of the diff.", handle: getDiff,
		}, {
			method: "GET", path: "/v1/plan", id: "getPlan", out: api.PlanDocument{},
			summary: "The next and held operations of the hub", about: "The document of agentform plan --json, of the hub's own plan, in which the state is the desired state.",
			query: []param{fresh, quiet}, handle: (*Server).getPlan,
		}, {
			method: "GET", path: "/v1/usage", id: "getUsage", out: api.UsageDocument{},
			summary: "What sessions used", about: "The document of agentform usage --json: tokens and their list price, also of sessions that were removed.",
			query: []param{sumBy, since}, handle: (*Server).getUsage,
		}, {
			method: "GET", path: "/v1/report", id: "getReport", out: api.Report{},
			summary: "What became of the sessions",
			about:   "The document of agentform report --json, of the last 18 hours or since a time: what sessions were asked, what became of it, what they used and waited for, and which need attention.",
			query:   []param{since, fresh}, fails: []int{409}, handle: getReport,
		}, {
			method: "GET", path: "/v1/events", id: "streamEvents", media: "text/event-stream",
			summary: "A stream of events",
			about: "Server-sent events: each has an id, and as data a line of agentform events --json. " +
				"It starts now, or after a given event. A comment is sent every 15 s. Slow readers are disconnected; reconnect with Last-Event-ID.",
			query: []param{after, of, screens}, fails: []int{404}, handle: (*Server).streamEvents,
		},
	}
	return append(append(all, actions()...),
		route{
			method: "POST", path: "/v1/sessions/{id}/send", id: "sendToSession", in: api.Input{}, out: api.Sent{},
			summary: "Send a prompt or key to the agent", about: "Types text and submits it, and returns when the agent has received it; or sends one key. Text is refused while the agent asks a question: POST answer.",
			query: none, fails: []int{404, 409, 413, 415}, handle: (*Server).send,
		},
		route{
			method: "POST", path: "/v1/sessions/{id}/answer", id: "answerQuestion", in: api.Answer{}, out: api.Answered{},
			summary: "Answer the agent's question",
			about: "Chooses an option of the question that the session has, by its word (yes, always, no), number or label, or types text if the question takes it; " +
				"returns when the question is gone from the screen. With the question's id no other question is answered.",
			query: none, fails: []int{404, 409, 413, 415}, handle: (*Server).answerQuestion,
		},
		route{
			method: "POST", path: "/v1/sessions/{id}/land", id: "landSession", in: api.LandOptions{}, out: api.LandDocument{},
			summary: "Bring a session's work to its base branch",
			about:   "As agentform land --keep: the session must be at rest and its work committed, unless commit has a message. 409 has the reason why not; then nothing is changed.",
			query:   none, fails: []int{404, 409, 413, 415}, handle: landSession,
		},
		route{
			method: "POST", path: "/v1/sessions/{id}/refresh", id: "refreshSession", in: api.RefreshOptions{}, out: api.RefreshDocument{},
			summary: "Bring the base of a session into its branch",
			about: "As agentform refresh: the session must be at rest and its workspace clean. 409 has the reason why not, and files that conflict unless the agent was asked to merge them; " +
				"then nothing is changed.",
			query: none, fails: []int{404, 409, 413, 415}, handle: refreshSession,
		},
		route{
			method: "GET", path: "/v1/landing", id: "getLanding", out: api.LandingDocument{}, query: []param{verified, method}, fails: []int{409},
			summary: "The order in which the work of all sessions would land",
			about:   "As agentform land --all --dry-run: each step has the tree of the base after it. Work that does not land has the reason.",
			handle:  getLanding,
		},
		route{
			method: "POST", path: "/v1/landing", id: "landAll", in: api.LandingOptions{}, out: api.LandingDocument{},
			summary: "Land the work of sessions in the order that was shown",
			about: "As agentform land --all --keep, of the steps of GET /v1/landing: each with the tree that it had there. 409 if a session would not land so any more; then nothing is changed. " +
				"If one fails later, or its result is not verified, the response has the error of that one, and those after it have not landed.",
			query: none, fails: []int{409, 413, 415, 500}, handle: landAll,
		},
		route{
			method: "GET", path: "/v1/sessions/{id}/terminal", id: "openTerminal", query: none, media: "application/octet-stream",
			summary: "The terminal of a session, over a WebSocket",
			about: "Binary messages are what the terminal shows: first a reset and the history, then what it prints. " +
				"Text messages are TerminalState to the client, and TerminalInput from it. A client only watches until it takes control. " +
				"Close codes: 1001 the hub is stopping, 1013 not ready: retry; 4001 gone: do not retry; 4002 detached by another client.",
			fails:  []int{http.StatusUpgradeRequired},
			handle: openTerminal,
		},
		route{
			method: "POST", path: "/v1/links", id: "makeLink", in: api.LinkOptions{}, out: api.Link{}, query: none, fails: []int{409, 413, 415},
			summary: "Make a link to the page that works once", about: "It logs a browser in for 30 days.", handle: makeLink,
		},
		route{
			method: "GET", path: "/v1/logins", id: "listLogins", out: api.LoginsDocument{}, query: none, summary: "The browsers that are logged in",
			about: "A login that may only read sees its own.", handle: listLogins,
		},
		route{
			method: "POST", path: "/v1/logins/{id}/end", id: "endLogin", in: struct{}{}, out: api.LoginsDocument{}, query: none, fails: []int{404, 413, 415, 500},
			summary: "End a login of a browser", about: "No copy of its cookie is valid from then on, and its terminals and streams end. Returns the logins that are left.",
			handle: endLogin,
		},
		route{method: "GET", path: "/v1/access", id: "getAccess", out: api.Access{}, query: none, summary: "What the caller may do", handle: getAccess},
		route{method: "GET", path: "/v1/openapi.json", id: "getOpenAPI", out: map[string]any{}, summary: "This document", open: true, handle: (*Server).getOpenAPI},
		route{
			method: "GET", path: "/healthz", aliases: []string{"/readyz"}, id: "getHealth", query: none, out: api.Health{}, open: true, also: http.StatusServiceUnavailable,
			summary: "Health of the hub", about: "503 if its last inspection is too long ago.", handle: (*Server).getHealth,
		},
		route{method: "GET", path: "/metrics", id: "getMetrics", media: "text/plain", summary: "Metrics in the Prometheus format", handle: (*Server).getMetrics},
	)
}

func (x route) paths() []string { return append([]string{x.path}, x.aliases...) }
