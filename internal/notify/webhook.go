package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

const (
	// perTry is how long a webhook may take to answer.
	perTry = 10 * time.Second
	// tries is how often it is tried again: after 1, 2, 4 and 8 seconds, or as long
	// as it says itself.
	tries = 4
	// inAll bounds all of that.
	inAll = 2 * time.Minute
)

// The headers of what a webhook is sent.
const (
	TimeHeader      = "X-Agentform-Timestamp" // Unix seconds
	SignatureHeader = "X-Agentform-Signature" // see Sign
)

// Sign is the signature of a body sent at a time (Unix seconds, as in TimeHeader):
// sha256= and the hex HMAC-SHA256 of the time, a dot and the body under the key.
func Sign(key []byte, at string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(at + "."))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// post sends the event to a webhook, again while it does not answer or says that it
// cannot now.
func (n *Notifier) post(ctx context.Context, address string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, inAll)
	defer cancel()
	r, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, address, body)
	if err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "agentform")
	at := strconv.FormatInt(time.Now().Unix(), 10)
	r.Header.Set(TimeHeader, at)
	if n.config.Key != nil {
		if key, ok := n.config.Key(); ok {
			r.Header.Set(SignatureHeader, Sign(key, at, body))
		}
	}
	c := retryablehttp.NewClient()
	c.Logger, c.RetryMax, c.RetryWaitMin, c.RetryWaitMax = nil, tries, time.Second, 30*time.Second
	c.HTTPClient.Timeout, c.ErrorHandler = perTry, retryablehttp.PassthroughErrorHandler
	// What was on the screen goes to the address that the manifest names, and to no
	// other that this one would send it to.
	c.HTTPClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer c.HTTPClient.CloseIdleConnections()
	answer, err := c.Do(r)
	var attempt *url.Error
	switch {
	case errors.As(err, &attempt):
		return fmt.Errorf("webhook: %w", attempt.Err) // without the address: many hold a token
	case err != nil:
		return fmt.Errorf("webhook: %w", err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 4<<10)) // the answer is the status
	if answer.StatusCode >= 300 {
		return fmt.Errorf("webhook: it answers %s", answer.Status)
	}
	return nil
}
