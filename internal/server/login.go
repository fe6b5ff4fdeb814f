package server

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/wire"
)

const (
	linkTime   = 10 * time.Minute    // in which a link can be used
	cookieTime = 30 * 24 * time.Hour // in which a login can be used
	maxLinks   = 100                 // that are not used yet: the oldest is dropped
	maxName    = 40                  // letters of the name of a login
)

// caller is who sent a request.
type caller struct {
	by      string
	operate bool   // it may act, and not only look
	login   string // the id of its login; empty: it needs none
	fault   error  // why it gets only what is open to all
}

type callerKey struct{}

func callerOf(r *http.Request) caller { return r.Context().Value(callerKey{}).(caller) }

func by(r *http.Request) string { return callerOf(r).by }

func withCaller(r *http.Request, c caller) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
}

// authenticate returns who sent a request: the owner of the socket, who has the token, or a
// page that has logged in.
func (s *Server) authenticate(r *http.Request, l Listener) caller {
	if l.Token == "" {
		return caller{by: s.cfg.By, operate: true}
	}
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, given, _ := strings.Cut(header, " ")
		if !sameToken(strings.TrimSpace(given), l.Token) || !strings.EqualFold(scheme, "Bearer") {
			return caller{fault: fail(http.StatusUnauthorized, "unauthorized", "invalid token", "use the token from the hub's --token-file or AGENTFORM_TOKEN")}
		}
		markAuthenticated(r.Context())
		return caller{by: ByToken, operate: !l.ReadOnly}
	}
	if c, err := r.Cookie(cookieName(l.Token)); err == nil {
		now, browser := time.Now(), browserOf(r)
		if k, valid := checkCookie(c.Value, l.Token, now); valid && s.cfg.Logins.use(k, browser, now) {
			markAuthenticated(r.Context())
			return caller{by: loginName(k.id, k.name, browser), operate: k.scope == api.Operate && !l.ReadOnly, login: k.id}
		}
	}
	return caller{fault: fail(http.StatusUnauthorized, "unauthorized", "token required", "send the header Authorization: Bearer TOKEN; agentform open opens the page")}
}

// sameToken compares digests, which takes the same time for every token.
func sameToken(given, token string) bool {
	want, got := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// cookieName returns the name of the cookie of a hub. Browsers send cookies to all ports of
// a host, so two hubs need two names.
func cookieName(token string) string {
	sum := sha256.Sum256([]byte("cookie name " + token))
	return "agentform-" + hex.EncodeToString(sum[:4])
}

// cookie is a login of a browser.
type cookie struct {
	token string // that signs it
	scope api.Scope
	id    string
	name  string // of its link; empty: it has none
	until time.Time
}

// newCookie returns a login with an id of its own.
func newCookie(token string, scope api.Scope, name string, until time.Time) cookie {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // it never fails
	return cookie{token: token, scope: scope, id: hex.EncodeToString(id), name: name, until: until.Truncate(time.Second)}
}

// value returns a cookie's text, signed with the token, so that it outlasts the hub and ends
// with the token.
func (k cookie) value() string {
	text := fmt.Sprintf("%s.%s.%d.%s", k.scope, k.id, k.until.Unix(), base64.RawURLEncoding.EncodeToString([]byte(k.name)))
	return text + "." + signature(text, k.token)
}

// checkCookie reads a cookie's text. Its login may have ended.
func checkCookie(value, token string, now time.Time) (cookie, bool) {
	parts := strings.Split(value, ".")
	if len(parts) != 5 {
		return cookie{}, false
	}
	seconds, err := strconv.ParseInt(parts[2], 10, 64)
	name, nameErr := base64.RawURLEncoding.DecodeString(parts[3])
	k := cookie{token: token, scope: api.Scope(parts[0]), id: parts[1], name: string(name), until: time.Unix(seconds, 0)}
	return k, errors.Join(err, nameErr) == nil && now.Before(k.until) && hmac.Equal([]byte(value), []byte(k.value()))
}

// loginName returns the name of a login in the history and at terminals: "page phone (Firefox on Linux)",
// with the start of the id where its link has no name.
func loginName(id, name, browser string) string {
	shown := ByPage + " " + cmp.Or(name, id[:min(len(id), 4)])
	if browser != "" {
		shown += " (" + browser + ")"
	}
	return shown
}

// checkName returns why a login cannot have a name, which others see.
func checkName(name string) error {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" -_.", r)
	}
	if utf8.RuneCountInString(name) > maxName || strings.ContainsFunc(name, odd) || strings.TrimSpace(name) != name {
		return badRequest(fmt.Sprintf("a login cannot have the name %q", shorten(name)), fmt.Sprintf("use at most %d letters, digits, spaces and -_.", maxName))
	}
	return nil
}

// browserOf returns the browser of a request and its system: Firefox on Linux. They are from fixed
// lists, since a browser may send anything.
func browserOf(r *http.Request) string {
	browser, system := named(r.UserAgent(), browsers), named(r.UserAgent(), systems)
	if browser != "" && system != "" {
		return browser + " on " + system
	}
	return browser + system
}

// browsers and systems are pairs of a part of a user agent and its meaning. Browsers also name
// those that they resemble, so the first match counts.
var (
	browsers = [][2]string{
		{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"},
	}
	systems = [][2]string{
		{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"},
		{"CrOS", "ChromeOS"}, {"Linux", "Linux"},
	}
)

func named(userAgent string, names [][2]string) string {
	for _, n := range names {
		if strings.Contains(userAgent, n[0]) {
			return n[1]
		}
	}
	return ""
}

func signature(text, token string) string {
	h := hmac.New(sha256.New, []byte("agentform page "+token))
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

// links are logins that can be used once.
type links struct {
	mu   sync.Mutex
	base string // the address of the page; empty: the hub does not listen on TCP
	ro   bool   // the page is read-only for all
	open []link // oldest first
}

type link struct {
	code  string
	scope api.Scope
	name  string // of the login; empty: it has none
	until time.Time
}

// serves records where the page is.
func (k *links) serves(l Listener) {
	host := l.Host
	address := netip.MustParseAddrPort(l.Addr().String())
	if host == "" {
		host = address.Addr().String()
		if address.Addr().IsUnspecified() {
			host = "127.0.0.1"
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.base, k.ro = "http://"+net.JoinHostPort(host, strconv.Itoa(int(address.Port())))+"/", l.ReadOnly
}

func (k *links) add(scope api.Scope, name string, now time.Time) (api.Link, error) {
	if err := checkName(name); err != nil {
		return api.Link{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.base == "" {
		return api.Link{}, fail(http.StatusConflict, "no_page", "the hub does not serve the page", "restart it with agentform serve --listen 127.0.0.1:7171")
	}
	if k.ro {
		scope = api.Read
	}
	code := make([]byte, 24)
	_, _ = rand.Read(code) // it never fails
	x := link{code: hex.EncodeToString(code), scope: scope, name: name, until: now.Add(linkTime)}
	k.open = append(k.open, x)
	k.open = k.open[max(0, len(k.open)-maxLinks):]
	// Browsers do not send a fragment: no log and no Referer has it.
	return api.Link{Format: api.FormatVersion, URL: k.base + "#login=" + x.code, Scope: scope, Until: wire.UTC(x.until)}, nil
}

// use returns the link of a code, which cannot be used again.
func (k *links) use(code string, now time.Time) (link, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, x := range k.open {
		if sameToken(code, x.code) {
			k.open = append(k.open[:i:i], k.open[i+1:]...)
			return x, now.Before(x.until)
		}
	}
	return link{}, false
}

// Link returns a link to the page that works once. The login has the name, if that is not empty.
func (s *Server) Link(scope api.Scope, name string) (api.Link, error) {
	return s.links.add(scope, name, time.Now())
}

func makeLink(s *Server, w http.ResponseWriter, r *http.Request) error {
	var in api.LinkOptions
	if err := decode(w, r, &in); err != nil {
		return err
	}
	scope := api.Operate
	if in.ReadOnly {
		scope = api.Read
	}
	x, err := s.Link(scope, in.Name)
	if err != nil {
		return err
	}
	s.log.Info("a link to the page was made", "scope", x.Scope, "name", in.Name, "by", by(r))
	return answer(w, http.StatusOK, x)
}

// login sets a cookie for a link's code, or for the token. JavaScript cannot read the cookie,
// and other sites cannot use it.
func login(s *Server, l Listener, w http.ResponseWriter, r *http.Request) error {
	var in api.Login
	if err := decode(w, r, &in); err != nil {
		return err
	}
	now := time.Now()
	from, valid := link{scope: api.Operate}, in.Token != "" && l.Token != "" && sameToken(in.Token, l.Token)
	if !valid && in.Code != "" {
		from, valid = s.links.use(in.Code, now)
	}
	if !valid && in.Code == "" {
		return fail(http.StatusUnauthorized, "unauthorized", "this is not the hub's token", "enter that of its --token-file or AGENTFORM_TOKEN")
	}
	if !valid || l.Token == "" {
		return fail(http.StatusUnauthorized, "unauthorized", "this login is not valid: a link works once, for 10 minutes", "agentform open prints a new one")
	}
	if l.ReadOnly {
		from.scope = api.Read
	}
	k, browser := newCookie(l.Token, from.scope, from.name, now.Add(cookieTime)), browserOf(r)
	s.cfg.Logins.use(k, browser, now)
	http.SetCookie(w, &http.Cookie{Name: cookieName(l.Token), Value: k.value(), Path: "/", Expires: k.until,
		HttpOnly: true, SameSite: http.SameSiteStrictMode})
	return answer(w, http.StatusOK, accessOf(s, caller{by: loginName(k.id, k.name, browser), operate: k.scope == api.Operate}))
}

// logout ends the login of a browser, including all copies of its cookie.
func logout(s *Server, l Listener, w http.ResponseWriter, r *http.Request) error {
	http.SetCookie(w, &http.Cookie{Name: cookieName(l.Token), Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	if c := callerOf(r); c.login != "" {
		if _, err := s.cfg.Logins.end(c.login, time.Now()); err != nil {
			return notKept(err)
		}
		s.log.Info("a login was ended", "login", c.login, "by", c.by)
	}
	return answer(w, http.StatusOK, accessOf(s, caller{}))
}

// loggedOut reports whether the login of a request has ended since the request came.
func loggedOut(s *Server, r *http.Request) bool {
	return s.cfg.Logins.over(callerOf(r).login, time.Now())
}

func accessOf(s *Server, c caller) api.Access {
	x := api.Access{Format: api.FormatVersion, Project: s.cfg.Project, Version: s.cfg.Version, By: c.by, Scope: api.Read}
	if c.operate {
		x.Scope = api.Operate
	}
	return x
}

func getAccess(s *Server, w http.ResponseWriter, r *http.Request) error {
	return answer(w, http.StatusOK, accessOf(s, callerOf(r)))
}

// loginRoutes are those that set the cookie of a listener.
func loginRoutes(l Listener) []route {
	at := func(f func(*Server, Listener, http.ResponseWriter, *http.Request) error) func(*Server, http.ResponseWriter, *http.Request) error {
		return func(s *Server, w http.ResponseWriter, r *http.Request) error { return f(s, l, w, r) }
	}
	return []route{
		{
			method: "POST", path: "/v1/login", id: "login", in: api.Login{}, out: api.Access{}, query: none, open: true, fails: []int{401, 413, 415},
			summary: "Log a browser in", about: "Sets a cookie for the code of a link or for the token.", handle: at(login),
		},
		{
			method: "POST", path: "/v1/logout", id: "logout", in: struct{}{}, out: api.Access{}, query: none, reader: true, fails: []int{500},
			summary: "Log a browser out", about: "Ends its login. No copy of the cookie is valid from then on.", handle: at(logout),
		},
	}
}

// mayNot returns the error for a caller that may only read.
func mayNot(c caller) error {
	return fail(http.StatusForbidden, "read_only_login", fmt.Sprintf("the login %q may only read", c.by), "agentform open on the hub's machine opens a page that may act")
}
