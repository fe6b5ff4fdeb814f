package modelserver

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server is a running model. Its methods may be called at any time, from
// anywhere.
type Server struct {
	URL string // http://ADDRESS:PORT, without a path

	http *http.Server
	end  context.CancelFunc

	mu       sync.Mutex
	requests []Request
	attempts map[string]int
	spent    []Spent
}

// Request is one request to a model.
type Request struct {
	At      time.Time
	API     string   // anthropic, openai, chat, gemini
	Path    string   // of the URL
	Model   string   // that is asked
	Side    bool     // behind the scenes: no turn of the user's
	Prompts []string // the user's messages, oldest first
	Results int      // tool results after the last of them
	Tools   []string // the names of the tools that the model is offered
	Body    []byte   // as it was sent
}

// Prompt is the user's last message; empty without one.
func (r Request) Prompt() string {
	if len(r.Prompts) == 0 {
		return ""
	}
	return r.Prompts[len(r.Prompts)-1]
}

// bodyLimit is more than any program sends in a test.
const bodyLimit = 64 << 20

// Start starts a model that listens on an address: 127.0.0.1:0 is a free port
// that only this machine reaches. Close ends it.
func Start(address string) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("start the scripted model: %w", err)
	}
	return Serve(l), nil
}

// Serve starts a model on a listener. Close ends it.
func Serve(l net.Listener) *Server {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{URL: "http://" + l.Addr().String(), end: cancel, attempts: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.anthropic)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, object{"input_tokens": plainUsage.Input})
	})
	mux.HandleFunc("POST /v1/responses", s.openai)
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, object{"object": "list", "data": []any{}, "models": []any{}})
	})
	mux.HandleFunc("POST /v1beta/models/{call}", s.gemini)
	s.http = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: time.Minute,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	go func() { _ = s.http.Serve(l) }()
	return s
}

// Close ends the server and every request that it has not answered.
func (s *Server) Close() {
	s.end()
	_ = s.http.Close()
}

// Requests are what was asked so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Turns are the requests for a turn of the user's: those that are not on the
// side.
func (s *Server) Turns() []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Side })
}

func (s *Server) record(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
}

// attempt counts how often a step was come to.
func (s *Server) attempt(prompt string, results, step int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprint(results, " ", step, " ", prompt)
	s.attempts[key]++
	return s.attempts[key]
}

// read takes a request's body, and answers where it is none.
func read(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, false
	}
	return body, true
}

// asked adds a message of the user's to those of a request. What the program
// made up by itself is left out.
func (r *Request) asked(text string) {
	// Copilot CLI puts the time before each message, and joins those without an answer.
	for _, one := range dated.Split(text, -1) {
		if one = strings.TrimSpace(one); one == "" || strings.HasPrefix(one, "<") {
			continue
		}
		r.Prompts = append(r.Prompts, one)
		r.Results = 0
	}
}

var dated = regexp.MustCompile(`<current_datetime>[^<]*</current_datetime>`)
