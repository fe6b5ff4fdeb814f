// Package http stores a state on a server that speaks the protocol of Terraform's http
// backend.
package http

import (
	"cmp"
	"context"
	"crypto/md5"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/agentform/agentform/internal/backend"
)

// Settings are those of Terraform's http backend, on top of Defaults.
type Settings struct {
	Address string
	// LockAddress and UnlockAddress are where the state is locked. Without LockAddress there is
	// no lock: Lock succeeds for everyone.
	LockAddress, UnlockAddress             string
	UpdateMethod, LockMethod, UnlockMethod string
	Username, Password                     string
	Headers                                map[string]string

	RetryMax                   int // how often a request that failed is repeated
	RetryWaitMin, RetryWaitMax time.Duration

	SkipCertVerification                      bool
	ClientCertificatePEM, ClientPrivateKeyPEM string
	ClientCACertificatePEM                    string

	// DialContext connects to the server; nil: as net.Dialer does.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Defaults returns the settings that Terraform has for those that are not set.
func Defaults() Settings {
	return Settings{
		UpdateMethod: http.MethodPost, LockMethod: "LOCK", UnlockMethod: "UNLOCK",
		RetryMax: 2, RetryWaitMin: time.Second, RetryWaitMax: 30 * time.Second,
	}
}

// Backend is a state on such a server. The version of a state is the MD5 sum of its text.
type Backend struct {
	settings            Settings
	state, lock, unlock *url.URL // lock is nil without locking
	client              *retryablehttp.Client
	taken               sync.Map // the IDs of the locks that this Backend took and did not release
}

// transferTimeout bounds a request with its body and that of the answer: a large state may take
// longer than the answer's beginning.
const transferTimeout = time.Minute

// New returns a backend with these settings. It connects to nothing.
func New(s Settings) (*Backend, error) {
	b := &Backend{settings: s}
	var err error
	if b.state, err = b.parse("address", s.Address); err != nil {
		return nil, err
	}
	if s.LockAddress != "" {
		if b.lock, err = b.parse("lock_address", s.LockAddress); err != nil {
			return nil, err
		}
		if b.unlock, err = b.parse("unlock_address", cmp.Or(s.UnlockAddress, s.LockAddress)); err != nil {
			return nil, err
		}
	}
	config, err := s.tls()
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	transport.DialContext = (&net.Dialer{Timeout: backend.AnswerTimeout}).DialContext
	transport.ResponseHeaderTimeout = backend.AnswerTimeout
	if s.DialContext != nil {
		transport.DialContext = s.DialContext
	}
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{Transport: transport, CheckRedirect: redirect, Timeout: transferTimeout}
	c.CheckRetry = func(ctx context.Context, reply *http.Response, err error) (bool, error) {
		if timeout, is := errors.AsType[net.Error](err); is && timeout.Timeout() {
			return false, err
		}
		return retryablehttp.DefaultRetryPolicy(ctx, reply, err)
	}
	c.Logger, c.ErrorHandler = nil, retryablehttp.PassthroughErrorHandler
	c.RetryMax, c.RetryWaitMin, c.RetryWaitMax = s.RetryMax, s.RetryWaitMin, s.RetryWaitMax
	b.client = c
	return b, nil
}

// parse parses an address. Its user and password become settings, since errors name addresses.
func (b *Backend) parse(setting, address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("%s is not an https:// or http:// URL", setting) // err quotes it
	}
	if u.User != nil && b.settings.Username == "" {
		b.settings.Username = u.User.Username()
		b.settings.Password, _ = u.User.Password()
	}
	u.User = nil
	return u, nil
}

func (s Settings) tls() (*tls.Config, error) {
	config := &tls.Config{InsecureSkipVerify: s.SkipCertVerification}
	if s.ClientCACertificatePEM != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(s.ClientCACertificatePEM)) {
			return nil, errors.New("client_ca_certificate_pem has no certificate in PEM format")
		}
	}
	if (s.ClientCertificatePEM == "") != (s.ClientPrivateKeyPEM == "") {
		return nil, errors.New("client_certificate_pem and client_private_key_pem must be set together")
	}
	if s.ClientCertificatePEM != "" {
		pair, err := tls.X509KeyPair([]byte(s.ClientCertificatePEM), []byte(s.ClientPrivateKeyPEM))
		if err != nil {
			return nil, fmt.Errorf("client_certificate_pem and client_private_key_pem: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// redirect follows only reads, because others would lose their body, and sends credentials
// to the origin of the address only.
func redirect(r *http.Request, via []*http.Request) error {
	if via[0].Method != http.MethodGet || len(via) >= 10 {
		return http.ErrUseLastResponse
	}
	if origin(r.URL) != origin(via[0].URL) {
		r.Header = http.Header{}
	}
	return nil
}

// origin returns the address of a server without what may be secret: user, path and query.
func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

func (b *Backend) Read(ctx context.Context) ([]byte, backend.Version, error) {
	a, err := b.send(ctx, http.MethodGet, b.state, nil)
	switch {
	case err != nil:
		return nil, "", err
	case a.status == http.StatusNoContent || a.status == http.StatusNotFound || a.status == http.StatusOK && len(a.body) == 0:
		return nil, "", backend.ErrNone
	case a.status != http.StatusOK:
		return nil, "", a.refusal()
	}
	if want := a.header.Get("Content-MD5"); want != "" && want != contentMD5(a.body) {
		return nil, "", fmt.Errorf("%s: the state does not have the checksum in the answer's Content-MD5: it is damaged", a.from)
	}
	return a.body, version(a.body), nil
}

// Write compares versions before it writes, because the protocol has no conditional write:
// only the lock keeps two writers apart.
func (b *Backend) Write(ctx context.Context, text []byte, seen backend.Version, id string) (backend.Version, error) {
	to := *b.state
	if b.lock != nil {
		query := to.Query()
		query.Set("ID", id)
		to.RawQuery = query.Encode()
	}
	_, found, err := b.Read(ctx)
	if err != nil && !errors.Is(err, backend.ErrNone) {
		return "", err
	}
	v := version(text)
	if found != seen && found != v { // v: written by an attempt whose answer was lost
		return "", &backend.ChangedError{Seen: seen, Found: found}
	}
	a, err := b.send(ctx, b.settings.UpdateMethod, &to, text)
	switch {
	case err != nil:
		return "", err
	case a.held():
		return "", &backend.LostError{Holder: a.holder()}
	case a.status != http.StatusOK && a.status != http.StatusCreated && a.status != http.StatusNoContent:
		return "", a.refusal()
	}
	return v, nil
}

// Lock takes the lock, which does not expire. Without a lock address it does nothing.
func (b *Backend) Lock(ctx context.Context, i backend.Info) (time.Duration, error) {
	if b.lock == nil {
		return 0, nil
	}
	a, err := b.sendInfo(ctx, b.settings.LockMethod, b.lock, i)
	if err != nil {
		return 0, err
	}
	_, took := b.taken.Load(i.ID)
	switch {
	case a.status == http.StatusOK && took:
		// It was released by force. What the server gave now is given back.
		return 0, errors.Join(&backend.LostError{}, b.release(ctx, i))
	case a.status == http.StatusOK, a.held() && a.holder().ID == i.ID:
		b.taken.Store(i.ID, nil)
		return 0, nil
	case a.held() && took:
		return 0, &backend.LostError{Holder: a.holder()}
	case a.held():
		return 0, &backend.HeldError{Holder: a.holder()}
	}
	return 0, a.refusal()
}

func (b *Backend) Unlock(ctx context.Context, i backend.Info) error {
	if b.lock == nil {
		return nil
	}
	b.taken.Delete(i.ID)
	return b.release(ctx, i)
}

func (b *Backend) release(ctx context.Context, i backend.Info) error {
	a, err := b.sendInfo(ctx, b.settings.UnlockMethod, b.unlock, i)
	switch {
	case err != nil:
	case a.held():
		return &backend.LostError{Holder: a.holder()}
	case a.status != http.StatusOK:
		err = a.refusal()
	}
	if err != nil {
		return fmt.Errorf("%w\nthe state may still be locked, and the lock does not expire\nto release it: agentform force-unlock %s", err, i.ID)
	}
	return nil
}

// Holder takes a free lock and releases it at once, because the protocol has no request for its
// holder.
func (b *Backend) Holder(ctx context.Context) (backend.Info, error) {
	if b.lock == nil {
		return backend.Info{}, backend.ErrNone
	}
	try := backend.Info{ID: uuid.NewString(), Operation: "see who has the lock", Who: "agentform", Created: time.Now().UTC()}
	a, err := b.sendInfo(ctx, b.settings.LockMethod, b.lock, try)
	if err == nil && a.held() && a.holder().ID != try.ID {
		return a.holder(), nil
	}
	if err == nil && !a.held() && a.status != http.StatusOK {
		return backend.Info{}, a.refusal()
	}
	// Also after an error: the server may have locked.
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return backend.Info{}, cmp.Or(err, b.release(after, try), backend.ErrNone)
}

// sendInfo sends the description of a lock, in the fields that Terraform has: servers may refuse others.
// The process is in Info, which is for the caller.
func (b *Backend) sendInfo(ctx context.Context, method string, to *url.URL, i backend.Info) (*answer, error) {
	i.Renewed = time.Time{}
	if i.Process != nil {
		text, err := json.Marshal(i.Process)
		if err != nil {
			return nil, err
		}
		i.Info, i.Process = string(text), nil
	}
	body, err := json.Marshal(i)
	if err != nil {
		return nil, err
	}
	return b.send(ctx, method, to, body)
}

// An answer is what a server answered.
type answer struct {
	from   string // for errors
	status int
	header http.Header
	body   []byte
}

func (a *answer) held() bool {
	return a.status == http.StatusConflict || a.status == http.StatusLocked
}

// holder returns who has the lock, as the body says; zero if it does not.
func (a *answer) holder() (i backend.Info) {
	if json.Unmarshal(a.body, &i) != nil {
		return backend.Info{}
	}
	var p backend.Process
	if json.Unmarshal([]byte(i.Info), &p) == nil && p.BootID != "" {
		i.Info, i.Process = "", &p
	}
	return i
}

// refusal returns the error of a status that is not expected.
func (a *answer) refusal() error {
	text := fmt.Sprintf("%s: it answers %d %s", a.from, a.status, http.StatusText(a.status))
	to, err := url.Parse(a.header.Get("Location"))
	switch {
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
		text += ": check username, password and headers of the backend"
	case a.status/100 == 3 && err == nil && to.Host != "":
		text += " to " + origin(to) + ": set the address of the backend to the new one"
	}
	return errors.New(text)
}

// send sends a request and repeats it while the server is unavailable.
func (b *Backend) send(ctx context.Context, method string, to *url.URL, body []byte) (*answer, error) {
	r, err := retryablehttp.NewRequestWithContext(ctx, method, to.String(), body)
	from := method + " " + origin(to) + to.Path
	if err != nil {
		return nil, fmt.Errorf("%s: the request is not valid: check the methods of the backend", from)
	}
	for _, name := range slices.Sorted(maps.Keys(b.settings.Headers)) {
		r.Header.Set(name, b.settings.Headers[name])
	}
	if b.settings.Username != "" {
		r.SetBasicAuth(b.settings.Username, b.settings.Password)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Content-MD5", contentMD5(body))
	}
	reply, err := b.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, withoutURL(err))
	}
	defer reply.Body.Close()
	a := &answer{from: from, status: reply.StatusCode, header: reply.Header}
	if a.body, err = io.ReadAll(reply.Body); err != nil {
		return nil, fmt.Errorf("%s: the answer is not complete: %w", from, err)
	}
	return a, nil
}

// withoutURL returns what is wrong with a request without its URL, which may hold a token.
func withoutURL(err error) error {
	if attempt, ok := errors.AsType[*url.Error](err); ok {
		err = attempt.Err
	}
	if _, ok := errors.AsType[net.Error](err); ok && strings.Contains(err.Error(), "timeout") {
		return fmt.Errorf("it does not answer: %w", err)
	}
	return err
}

func version(text []byte) backend.Version {
	sum := md5.Sum(text)
	return backend.Version(hex.EncodeToString(sum[:]))
}

func contentMD5(text []byte) string {
	sum := md5.Sum(text)
	return base64.StdEncoding.EncodeToString(sum[:])
}
