// Package reach reads the destinations that a limited network allows.
package reach

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Destination is one that a limited network allows.
type Destination struct {
	Addresses netip.Prefix // invalid: Namespace
	Namespace string       // whose pods it is
	Port      int          // 0: all ports
}

// Parse parses a destination: 10.1.0.0/16, 10.1.2.3/32:8443, namespace/proxies or
// namespace/proxies:3128.
func Parse(text string) (r Destination, err error) {
	first, rest, _ := strings.Cut(text, "/")
	last, port, one := strings.Cut(rest, ":")
	if one {
		r.Port, err = strconv.Atoi(port)
		if err != nil || r.Port < 1 || r.Port > 65535 {
			return r, fmt.Errorf("%q has no port from 1 to 65535", text)
		}
	}
	if first == "namespace" && last != "" {
		r.Namespace = last
		return r, nil
	}
	if r.Addresses, err = netip.ParsePrefix(first + "/" + last); err != nil {
		return r, fmt.Errorf("%q is neither a range of addresses like 10.1.0.0/16 or 10.1.2.3/32:8443 nor namespace/NAME", text)
	}
	if r.Addresses != r.Addresses.Masked() {
		return r, fmt.Errorf("%q has bits after its prefix: write %s", text, r.Addresses.Masked())
	}
	return r, nil
}
