package server

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

var errCrossOrigin = fail(http.StatusForbidden, "cross_origin", "cross-origin requests are not allowed", "")

// middleware sets the headers of every response, refuses other hosts and origins, and says
// who sent a request. It does so for the files of the page, too: a browser that has logged in
// keeps the connections on which it reads them.
func (s *Server) middleware(l Listener, next http.Handler) http.Handler {
	foreign := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		w = &responseWriter{ResponseWriter: w, request: r, patience: s.patience}
		if !knownHost(r.Host, l.Host) {
			s.refuse(w, r, fail(http.StatusForbidden, "unknown_host", "this hub is not known as "+shorten(r.Host),
				"use localhost, its address, or the name given to --listen"))
			return
		}
		if err := foreign.Check(r); err != nil {
			s.refuse(w, r, errCrossOrigin)
			return
		}
		next.ServeHTTP(w, withCaller(r, s.authenticate(r, l)))
	})
}

// responseWriter records the status of a response, and bounds how long a client may read.
type responseWriter struct {
	http.ResponseWriter
	request  *http.Request
	status   int // 0: nothing was written
	patience time.Duration
}

func (w *responseWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.patience))
	}
	w.ResponseWriter.WriteHeader(status)
}

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

// knownHost reports whether a request names this hub by an address, localhost, or the
// name that it listens at. A page whose name resolves to it (DNS rebinding) does not.
func knownHost(host, own string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(strings.TrimSuffix(name, "."), "[]")
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return strings.EqualFold(name, "localhost") || own != "" && strings.EqualFold(name, own)
}
