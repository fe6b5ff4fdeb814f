package reach

import (
	"net/netip"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Destination{
		"10.1.0.0/16":            {Addresses: netip.MustParsePrefix("10.1.0.0/16")},
		"10.1.2.3/32:8443":       {Addresses: netip.MustParsePrefix("10.1.2.3/32"), Port: 8443},
		"fd00::/8:443":           {Addresses: netip.MustParsePrefix("fd00::/8"), Port: 443},
		"namespace/proxies":      {Namespace: "proxies"},
		"namespace/proxies:3128": {Namespace: "proxies", Port: 3128},
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "10.1.2.3", "10.1.2.3/8", "10.0.0.0/33", "namespace/", "namespace/a:", "namespace/a:0", "10.0.0.0/8:65536", "pods/a", "example.org:443"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}
