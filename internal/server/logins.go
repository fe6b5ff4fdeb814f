package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/wire"
)

const (
	maxLogins = 200         // that are open, and as many that were ended
	usedTime  = time.Minute // between writes of when logins were last used
)

// Logins are the logins of browsers that are open, and those that were ended before their time. Cookies
// are signed and kept by browsers only, so the hub remembers which are no longer valid. The zero value
// forgets them with the hub.
type Logins struct {
	path   string
	cookie string // only of these cookies' logins is the list; empty: of all
	log    *slog.Logger

	writing sync.Mutex // held while the file is written

	mu      sync.Mutex
	known   knownLogins
	written time.Time // when the file was last to be written
	fault   error     // why that failed
}

// knownLogins is the content of the file.
type knownLogins struct {
	Open  map[string]openLogin `json:"open"`  // by id
	Ended map[string]time.Time `json:"ended"` // until when the cookies would be valid, by id
	// EndedUntil ends those whose cookies are valid until then at most, unless they are open. It stands
	// for ended logins that are too many to be listed.
	EndedUntil time.Time `json:"ended_until,omitzero"`
}

// openLogin is a login that may be used.
type openLogin struct {
	Cookie  string    `json:"cookie"`         // name of the cookie, which is that of the token
	Name    string    `json:"name,omitempty"` // of its link
	Browser string    `json:"browser,omitempty"`
	Scope   api.Scope `json:"scope"`
	Until   time.Time `json:"until"`
	Used    time.Time `json:"used"`
}

// ReadLogins reads the logins of a file, which need not exist, and keeps later ones there. The list has
// only those with the token, since a new token ends the others.
func ReadLogins(path, token string, log *slog.Logger) (*Logins, error) {
	k := &Logins{path: path, cookie: cookieName(token), log: log}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &k.known)
	}
	if err != nil {
		return nil, fmt.Errorf("read the logins in %s: %w\nremove it and use a new token, which ends all logins", path, err)
	}
	return k, nil
}

// use reports whether the login of a valid cookie is open, and notes that it is used. One that is not
// known was made by another hub of the project, or could not be written.
func (k *Logins) use(c cookie, browser string, now time.Time) bool {
	k.mu.Lock()
	x, known := k.known.Open[c.id]
	_, ended := k.known.Ended[c.id]
	if ended || !known && !c.until.After(k.known.EndedUntil) {
		k.mu.Unlock()
		return false
	}
	if !known {
		x = openLogin{Cookie: cookieName(c.token), Name: c.name, Scope: c.scope, Until: c.until}
	}
	x.Browser, x.Used = browser, now
	if k.known.Open == nil {
		k.known.Open = map[string]openLogin{}
	}
	k.known.Open[c.id] = x
	k.trim(now)
	due := !known || now.Sub(k.written) >= usedTime
	if due {
		k.written = now
	}
	k.mu.Unlock()
	if due {
		_ = k.write() // it is logged, and the list says it: nobody is kept out
	}
	return true
}

// trim forgets logins whose time is over, and ends those that were not used for the longest time while
// too many are open. k.mu is held.
func (k *Logins) trim(now time.Time) {
	maps.DeleteFunc(k.known.Open, func(_ string, x openLogin) bool { return !now.Before(x.Until) })
	maps.DeleteFunc(k.known.Ended, func(_ string, until time.Time) bool { return !now.Before(until) })
	for len(k.known.Open) > maxLogins {
		ids := slices.Collect(maps.Keys(k.known.Open))
		k.close(slices.MinFunc(ids, func(a, b string) int { return k.known.Open[a].Used.Compare(k.known.Open[b].Used) }))
	}
	for len(k.known.Ended) > maxLogins {
		ids := slices.Collect(maps.Keys(k.known.Ended))
		first := slices.MinFunc(ids, func(a, b string) int { return k.known.Ended[a].Compare(k.known.Ended[b]) })
		if until := k.known.Ended[first]; until.After(k.known.EndedUntil) {
			k.known.EndedUntil = until
		}
		delete(k.known.Ended, first)
	}
}

// close ends an open login. k.mu is held.
func (k *Logins) close(id string) {
	if k.known.Ended == nil {
		k.known.Ended = map[string]time.Time{}
	}
	k.known.Ended[id] = k.known.Open[id].Until
	delete(k.known.Open, id)
}

// end ends a login, and reports whether it was open. After an error it is ended until the hub exits.
func (k *Logins) end(id string, now time.Time) (bool, error) {
	k.mu.Lock()
	_, open := k.known.Open[id]
	if open {
		k.close(id)
		k.trim(now)
		k.written = now
	}
	k.mu.Unlock()
	if !open {
		return false, nil
	}
	return true, k.write()
}

// over reports whether a login that was open has ended; an empty id is that of a caller without one.
func (k *Logins) over(id string, now time.Time) bool {
	if id == "" {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	x, open := k.known.Open[id]
	return !open || !now.Before(x.Until)
}

// write writes the file, if anything has changed since it was read. The first failure is logged.
func (k *Logins) write() error {
	k.writing.Lock()
	defer k.writing.Unlock()
	k.mu.Lock()
	changed := !k.written.IsZero()
	text, err := json.Marshal(k.known)
	k.mu.Unlock()
	if k.path == "" || !changed {
		return nil
	}
	if err == nil {
		err = renameio.WriteFile(k.path, append(text, '\n'), 0o600)
	}
	if err != nil {
		err = fmt.Errorf("write the logins in %s: %w", k.path, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err != nil && k.fault == nil:
		k.log.Error("the logins cannot be kept: those that are ended now are open again for the next hub", "error", err)
	case err == nil && k.fault != nil:
		k.log.Info("the logins are kept again")
	}
	k.fault = err
	return err
}

// document returns the list of open logins for a caller, who sees only the own if it may only read.
func (k *Logins) document(c caller, now time.Time) api.LoginsDocument {
	k.mu.Lock()
	defer k.mu.Unlock()
	d := api.LoginsDocument{Format: api.FormatVersion, Logins: []api.OpenLogin{}}
	for id, x := range k.known.Open {
		if !now.Before(x.Until) || k.cookie != "" && x.Cookie != k.cookie || !c.operate && id != c.login {
			continue
		}
		d.Logins = append(d.Logins, api.OpenLogin{ID: id, Name: loginName(id, x.Name, x.Browser), Scope: x.Scope, Own: id == c.login,
			Since: wire.UTC(x.Until.Add(-cookieTime)), Until: wire.UTC(x.Until), Used: wire.UTC(x.Used)})
	}
	slices.SortFunc(d.Logins, func(a, b api.OpenLogin) int {
		switch {
		case a.Own:
			return -1
		case b.Own:
			return 1
		}
		return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.ID, b.ID))
	})
	if k.fault != nil {
		d.Problem = k.fault.Error()
	}
	return d
}

func listLogins(s *Server, w http.ResponseWriter, r *http.Request) error {
	return answer(w, http.StatusOK, s.cfg.Logins.document(callerOf(r), time.Now()))
}

// endLogin ends a login for all copies of its cookie, with its terminals and streams.
func endLogin(s *Server, w http.ResponseWriter, r *http.Request) error {
	if err := decode(w, r, &struct{}{}); err != nil {
		return err
	}
	id, now := r.PathValue("id"), time.Now()
	open, err := s.cfg.Logins.end(id, now)
	switch {
	case err != nil:
		return notKept(err)
	case !open:
		return fail(http.StatusNotFound, "not_found", "no open login "+shorten(id), "GET /v1/logins lists them")
	}
	s.log.Info("a login was ended", "login", id, "by", by(r))
	return answer(w, http.StatusOK, s.cfg.Logins.document(callerOf(r), now))
}

// notKept returns the error for a login that is ended for this hub only.
func notKept(err error) error {
	return fail(http.StatusInternalServerError, "failed", "the login has ended, but is valid again when the hub restarts: "+err.Error(),
		"let the hub write that file before it stops, or give it a new token, which ends all logins")
}
