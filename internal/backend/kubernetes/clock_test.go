package kubernetes

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// Two machines whose clocks differ by hours agree on the time, and so on whether a lock has
// expired: it is the API server's.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, skew := range []time.Duration{-24 * time.Hour, -3 * time.Second, 0, 3 * time.Second, 24 * time.Hour} {
			server := func() time.Time { return time.Now().Add(skew) }
			c := &clock{}
			answer := roundTripper(func(*http.Request) (*http.Response, error) {
				return &http.Response{Header: http.Header{"Date": {server().UTC().Format(http.TimeFormat)}}}, nil
			})
			if _, err := c.wrap(answer).RoundTrip(nil); err != nil { //nolint:bodyclose // it has none
				t.Fatal(err)
			}
			if off := server().Sub(c.now()).Abs(); off > 2*time.Second {
				t.Errorf("a server %s ahead: off by %s", skew, off)
			}
		}
	})
}
