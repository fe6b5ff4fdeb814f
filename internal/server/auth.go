package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/agentform/agentform/api"
)

// guard checks the token of requests to a listener.
type guard struct {
	token  [sha256.Size]byte
	needed bool
}

func newGuard(l Listener) guard {
	return guard{token: sha256.Sum256([]byte(l.Token)), needed: l.Token != ""}
}

// check refuses a request without the token. Comparing digests takes the same time for
// every token.
func (g guard) check(r *http.Request, x route) error {
	if !g.needed || x.open {
		return nil
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	digest := sha256.Sum256([]byte(strings.TrimSpace(given)))
	if subtle.ConstantTimeCompare(digest[:], g.token[:]) == 1 && strings.EqualFold(scheme, "Bearer") {
		markAuthenticated(r.Context())
		return nil
	}
	e := &api.Error{Status: http.StatusUnauthorized, Code: "unauthorized", Message: "this token is not the hub's",
		Next: "it is what --token-file or AGENTFORM_TOKEN gave the hub"}
	if r.Header.Get("Authorization") == "" {
		e.Message, e.Next = "a token is needed", "send the header Authorization: Bearer TOKEN"
	}
	return e
}

// knownHost reports whether a request names this hub by an address, localhost, or the
// name that it listens at. A page whose name resolves to this hub (DNS rebinding) names
// another.
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
