package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/agentform/agentform/internal/plaintext"
)

const (
	requestTimeout  = 10 * time.Second // of one request to a webhook
	maxRetries      = 4                // after 1, 2, 4 and 8 seconds, or as the webhook says
	deliveryTimeout = 2 * time.Minute  // of all requests for one event
	maxAnswer       = 4 << 10          // bytes of an answer that are read
	maxComplaint    = 200              // characters of an answer that an error quotes
)

// The headers of a webhook's request.
const (
	TimeHeader      = "X-Agentform-Timestamp" // Unix seconds
	SignatureHeader = "X-Agentform-Signature" // see Sign
)

// Sign returns the signature of a body sent at a time (Unix seconds, as in TimeHeader):
// sha256= and the hex HMAC-SHA256 of the time, a dot and the body under the key.
func Sign(key []byte, at string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(at + "."))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// request is what a webhook is sent.
type request struct {
	to      *url.URL
	header  http.Header
	body    []byte
	service bool // a chat service, whose answer explains an error
}

// request makes the request of a target's webhook. body is the event's JSON. Its errors
// never quote the address, which holds a token.
func (n *Notifier) request(ctx context.Context, t Target, e Event, body []byte) (r request, err error) {
	address := t.Webhook
	if t.Secret != "" {
		if address, err = n.secret(ctx, t.Secret); err != nil {
			return r, fmt.Errorf("secret %s: %w", t.Secret, err)
		}
	}
	if r.to, err = parseAddress(address); err != nil {
		return r, err
	}
	r.header = http.Header{"Content-Type": {"application/json"}, "User-Agent": {"agentform"}}
	if t.Preset != "" {
		write, known := presets[t.Preset]
		if !known {
			return r, fmt.Errorf("no preset has the name %q", t.Preset)
		}
		r.service = true
		return r, write(&r, describe(e))
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	r.body = body
	r.header.Set(TimeHeader, at)
	if n.config.Key != nil {
		if key, ok := n.config.Key(); ok {
			r.header.Set(SignatureHeader, Sign(key, at, body))
		}
	}
	return r, nil
}

// secret returns the value of a secret. Its command may ask the user, so secret returns when ctx
// ends.
func (n *Notifier) secret(ctx context.Context, name string) (string, error) {
	type result struct {
		value string
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := n.config.Secret(name)
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func parseAddress(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, errors.New("its address is not an https:// or http:// URL")
	}
	return u, nil
}

// rateLimitError means that a webhook accepts nothing before a time.
type rateLimitError struct {
	answer string
	until  time.Time
}

func (e *rateLimitError) Error() string {
	return e.answer + "; it asks to wait until " + e.until.Format(time.TimeOnly)
}

// post sends a request to a webhook and retries while it is unavailable.
func (n *Notifier) post(ctx context.Context, x request) error {
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	r, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, x.to.String(), x.body)
	if err != nil {
		return errors.New("its address cannot be used") // err quotes it
	}
	r.Header = x.header
	c := retryablehttp.NewClient()
	c.Logger, c.RetryMax, c.RetryWaitMin, c.RetryWaitMax = nil, maxRetries, time.Second, 30*time.Second
	c.HTTPClient.Timeout, c.ErrorHandler, c.CheckRetry = requestTimeout, retryablehttp.PassthroughErrorHandler, retries
	if n.config.Transport != nil {
		c.HTTPClient.Transport = n.config.Transport
	}
	// The event has a part of the screen: it goes to the address in the manifest only.
	c.HTTPClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer c.HTTPClient.CloseIdleConnections()
	answer, err := c.Do(r)
	if attempt, is := errors.AsType[*url.Error](err); is {
		err = attempt.Err // without the address: many hold a token
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer)) // what is missing of it only explains the status
	if answer.StatusCode < 300 {
		return nil
	}
	text := "it answers " + answer.Status
	if why := complaint(body, x.to); x.service && why != "" {
		text += ": " + why
	}
	if wait, is := retryAfter(answer); is {
		return &rateLimitError{text, time.Now().Add(wait)}
	}
	return errors.New(text)
}

// retries reports whether to send a request again. It does not wait for a rate limit that
// lasts for longer than the event may take.
func retries(ctx context.Context, answer *http.Response, err error) (bool, error) {
	again, err := retryablehttp.DefaultRetryPolicy(ctx, answer, err)
	if !again || answer == nil || answer.StatusCode != http.StatusTooManyRequests {
		return again, err
	}
	body, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer)) // cut off, it names no time
	answer.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(body), answer.Body}
	if seconds, is := bodyRetryAfter(body); is { // exact, and Telegram documents no header
		answer.Header.Set("Retry-After", strconv.FormatFloat(math.Ceil(seconds), 'f', 0, 64))
	}
	wait, is := retryAfter(answer)
	end, limited := ctx.Deadline()
	return !is || !limited || wait < time.Until(end), nil
}

// retryAfter returns the duration of a rate limit, from the answer's header.
func retryAfter(answer *http.Response) (time.Duration, bool) {
	if answer.StatusCode != http.StatusTooManyRequests {
		return 0, false
	}
	text := answer.Header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(text)
	return max(0, time.Until(at)), err == nil
}

// bodyRetryAfter returns the seconds that Discord and Telegram ask to wait in their JSON:
//
//	{"message": "You are being rate limited.", "retry_after": 64.57, "global": false}
//	{"ok": false, "error_code": 429, "description": "…", "parameters": {"retry_after": 35}}
//
// https://discord.com/developers/docs/topics/rate-limits#exceeding-a-rate-limit and
// https://core.telegram.org/bots/api#responseparameters
func bodyRetryAfter(body []byte) (float64, bool) {
	var says struct {
		After      *float64 `json:"retry_after"`
		Parameters struct {
			After *float64 `json:"retry_after"`
		} `json:"parameters"`
	}
	_ = json.Unmarshal(body, &says) // Slack's answer may be a text
	for _, after := range []*float64{says.After, says.Parameters.After} {
		if after != nil && *after >= 0 && *after < math.MaxInt32 {
			return *after, true
		}
	}
	return 0, false
}

// complaint returns a service's message about a refused request: Discord's message, ntfy's error,
// Telegram's description, or Slack's text such as invalid_token. It returns nothing that repeats a
// part of the address.
func complaint(body []byte, to *url.URL) string {
	var says struct{ Message, Error, Description string }
	text := string(body)
	if json.Unmarshal(body, &says) == nil {
		text = strings.TrimSpace(says.Message + says.Error + says.Description)
	}
	if strings.Contains(text, "<") { // a proxy's page
		return ""
	}
	for _, part := range strings.FieldsFunc(to.String(), func(r rune) bool { return strings.ContainsRune("/:?&=@", r) }) {
		if len(part) >= 6 && part != to.Hostname() && part != "webhooks" && part != "sendMessage" && strings.Contains(text, part) {
			return ""
		}
	}
	return fit(plaintext.OneLine(text), maxComplaint, oneRune)
}
