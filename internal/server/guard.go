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

// guard lets in who may come by a door.
type guard struct {
	token  [sha256.Size]byte
	closed bool // a token is needed
}

func newGuard(d Door) guard {
	return guard{token: sha256.Sum256([]byte(d.Token)), closed: d.Token != ""}
}

// check refuses a request that lacks the token. How long it takes says nothing about
// the token: digests of the same length are compared, all of them.
func (g guard) check(r *http.Request, x route) error {
	if !g.closed || x.open {
		return nil
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	digest := sha256.Sum256([]byte(strings.TrimSpace(given)))
	if subtle.ConstantTimeCompare(digest[:], g.token[:]) == 1 && strings.EqualFold(scheme, "Bearer") {
		trusted(r.Context())
		return nil
	}
	e := &api.Error{Status: http.StatusUnauthorized, Code: "unauthorized", Message: "this token is not the hub's",
		Next: "it is what --token-file or AGENTFORM_TOKEN gave the hub"}
	if r.Header.Get("Authorization") == "" {
		e.Message, e.Next = "a token is needed", "send the header Authorization: Bearer TOKEN"
	}
	return e
}

// knownHost reports whether a request asks for this hub by a name that nobody else
// can give it: an address, localhost, or the name it was told to listen at. A page
// whose own name was made to lead here (DNS rebinding) says another.
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
