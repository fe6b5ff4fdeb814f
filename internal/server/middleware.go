package server

import (
	"context"
	"net/http"
	"time"

	"github.com/agentform/agentform/api"
)

// who is the context key of a request's author.
type who struct{}

// middleware sets the headers of every response, and refuses requests for other hosts
// and from other origins.
func (s *Server) middleware(l Listener, next http.Handler) http.Handler {
	by := s.cfg.By
	if l.Token != "" {
		by = ByToken
	}
	foreign := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		w = &responseWriter{ResponseWriter: w, patience: s.patience}
		if !knownHost(r.Host, l.Host) {
			s.refuse(w, r, &api.Error{Status: http.StatusForbidden, Code: "unknown_host", Message: "this hub is not called " + shorten(r.Host),
				Next: "ask for it as localhost, by its address, or by the name that --listen has"})
			return
		}
		if err := foreign.Check(r); err != nil {
			s.refuse(w, r, &api.Error{Status: http.StatusForbidden, Code: "cross_origin", Message: "a page of another origin may not ask for this"})
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), who{}, by)))
	})
}

// responseWriter records the status of a response, and bounds how long a client may take
// to read it.
type responseWriter struct {
	http.ResponseWriter
	status   int // 0: nothing was written
	patience time.Duration
}

// WriteHeader starts the response.
func (w *responseWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.patience))
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write starts the response with 200, as net/http does.
func (w *responseWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController access to the connection.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// statusOf returns the status of a response; 0 if nothing was written.
func statusOf(w http.ResponseWriter) int {
	if x, is := w.(*responseWriter); is {
		return x.status
	}
	return 0
}
