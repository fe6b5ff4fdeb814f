// Package stateserver speaks the protocol of Terraform's http backend, and accepts only what
// Terraform sends.
package stateserver

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// Server is an http.Handler that keeps a state and its lock at each path.
type Server struct {
	// Username and Password are asked for if they are not empty.
	Username, Password string

	mu     sync.Mutex
	states map[string]*state
}

type state struct {
	text []byte
	lock []byte // its LockInfo, nil for none
}

// New returns a server without states.
func New() *Server {
	return &Server{states: map[string]*state{}}
}

// lockInfo is what Terraform sends.
type lockInfo struct {
	ID, Operation, Info, Who, Version string
	Created                           time.Time
	Path                              string
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if user, password, _ := r.BasicAuth(); user != s.Username || password != s.Password {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.states[r.URL.Path]
	if st == nil {
		st = &state{}
		s.states[r.URL.Path] = st
	}
	switch r.Method {
	case http.MethodGet:
		read(w, st)
	case http.MethodPost:
		write(w, r, st, body)
	case http.MethodDelete:
		st.text = nil
	case "LOCK":
		lock(w, st, body)
	case "UNLOCK":
		unlock(w, st, body)
	default:
		http.Error(w, "method "+r.Method, http.StatusMethodNotAllowed)
	}
}

func read(w http.ResponseWriter, st *state) {
	if st.text == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-MD5", sum(st.text))
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(st.text)
}

func write(w http.ResponseWriter, r *http.Request, st *state, body []byte) {
	id := r.URL.Query().Get("ID")
	switch {
	case r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Content-MD5") != sum(body) || !json.Valid(body):
		http.Error(w, "not the JSON that Content-MD5 describes", http.StatusBadRequest)
	case st.lock != nil && id != idOf(st.lock):
		held(w, st)
	case st.lock == nil && id != "":
		http.Error(w, "the state is not locked", http.StatusConflict)
	default:
		st.text = body
	}
}

func lock(w http.ResponseWriter, st *state, body []byte) {
	i, err := parse(body)
	switch {
	case err != nil || i.ID == "" || i.Who == "" || i.Operation == "" || i.Created.IsZero():
		http.Error(w, "not a LockInfo", http.StatusBadRequest)
	case st.lock != nil:
		held(w, st)
	default:
		st.lock = body
	}
}

// unlock releases by force if the body is empty, as Terraform does.
func unlock(w http.ResponseWriter, st *state, body []byte) {
	i, err := parse(body)
	switch {
	case len(body) > 0 && (err != nil || i.ID == ""):
		http.Error(w, "not a LockInfo", http.StatusBadRequest)
	case st.lock != nil && len(body) > 0 && i.ID != idOf(st.lock):
		held(w, st)
	default:
		st.lock = nil
	}
}

func held(w http.ResponseWriter, st *state) {
	w.WriteHeader(http.StatusLocked)
	_, _ = w.Write(st.lock)
}

func parse(body []byte) (i lockInfo, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&i); err != nil {
		return i, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return i, errors.New("more than one value")
	}
	return i, nil
}

func idOf(lock []byte) string {
	i, _ := parse(lock) // it was parsed when it was stored
	return i.ID
}

func sum(text []byte) string {
	of := md5.Sum(text)
	return base64.StdEncoding.EncodeToString(of[:])
}
