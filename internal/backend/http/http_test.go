package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/test/backendtest"
	"github.com/agentform/agentform/internal/test/pipe"
	"github.com/agentform/agentform/internal/test/stateserver"
)

func TestMain(m *testing.M) { suite.Main(m) }

func TestBackend(t *testing.T) { suite.RunVirtual(t) }

var suite = backendtest.Suite{
	Handler: func(*testing.T) http.Handler { return stateserver.New() },
	Open: func(address, project string, _ time.Duration) (backend.Backend, error) {
		s := settings("http://" + address + "/states/" + project)
		s.LockAddress = s.Address
		return New(s)
	},
}

// settings are those of a test: it does not wait for a second.
func settings(address string) Settings {
	s := Defaults()
	s.Address, s.RetryMax, s.RetryWaitMin, s.RetryWaitMax, s.DialContext = address, 1, time.Millisecond, time.Millisecond, pipe.Dial
	return s
}

func open(t *testing.T, s Settings) *Backend {
	t.Helper()
	b, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNoLocking(t *testing.T) {
	server := stateserver.New()
	b := open(t, settings(pipe.Serve(t, server).URL))
	i := backend.Info{ID: "1"}
	if lease, err := b.Lock(t.Context(), i); lease != 0 || err != nil {
		t.Error(lease, err)
	}
	if _, err := b.Holder(t.Context()); !errors.Is(err, backend.ErrNone) {
		t.Error(err)
	}
	if _, err := b.Write(t.Context(), []byte("{}"), "", i.ID); err != nil {
		t.Error(err)
	}
	if err := b.Unlock(t.Context(), i); err != nil {
		t.Error(err)
	}
}

func TestRequests(t *testing.T) {
	var got []string
	server := pipe.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		user, password, _ := r.BasicAuth()
		got = append(got, fmt.Sprintf("%s %s %s %s:%s %s %s", r.Method, r.URL, r.Header.Get("X-Team"), user, password, r.Header.Get("Content-MD5"), body))
	}))
	s := settings(strings.Replace(server.URL, "http://", "http://ann:secret@", 1) + "/state?of=shop")
	s.LockAddress, s.UnlockAddress = server.URL+"/lock", server.URL+"/unlock"
	s.UpdateMethod, s.LockMethod, s.UnlockMethod = "PUT", "POST", "DELETE"
	s.Headers = map[string]string{"X-Team": "blue"}
	b := open(t, s)
	i := backend.Info{ID: "a b", Operation: "apply", Who: "ann@host", Renewed: time.Now()}
	if _, err := b.Lock(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Write(t.Context(), []byte("{}"), "", i.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.Unlock(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	lock := `{"ID":"a b","Operation":"apply","Who":"ann@host","Created":"0001-01-01T00:00:00Z"}`
	want := []string{
		`POST /lock blue ann:secret UWunABiCtY8bfIuMOkczXg== ` + lock,
		`GET /state?of=shop blue ann:secret  `,
		`PUT /state?ID=a+b&of=shop blue ann:secret mZFLkyvTelC5g8XnyQrpOw== {}`,
		`DELETE /unlock blue ann:secret UWunABiCtY8bfIuMOkczXg== ` + lock,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestAnswers reads what servers answer.
func TestAnswers(t *testing.T) {
	holder := `{"ID":"7","Operation":"plan","Who":"bob@host"}`
	bob := backend.Info{ID: "7", Operation: "plan", Who: "bob@host"}
	for _, c := range []struct {
		name   string
		status int
		body   string
		md5    string
		do     string
		want   error
	}{
		{"no content", 204, "", "", "read", backend.ErrNone},
		{"not found", 404, "", "", "read", backend.ErrNone},
		{"empty", 200, "", "", "read", backend.ErrNone},
		{"damaged", 200, "{", contentMD5([]byte("{}")), "read", errors.New("is damaged")},
		{"unauthorized", 401, "", "", "read", errors.New("401 Unauthorized: check username")},
		{"forbidden", 403, "", "", "lock", errors.New("403 Forbidden: check username")},
		{"unavailable", 503, "", "", "read", errors.New("answers 503")},
		{"no lock here", 404, "", "", "lock", errors.New("answers 404")},
		{"held", 423, holder, "", "lock", &backend.HeldError{Holder: bob}},
		{"held too", 409, holder, "", "lock", &backend.HeldError{Holder: bob}},
		{"held by whom", 423, "locked", "", "lock", &backend.HeldError{}},
		{"lost by whom", 423, "locked", "", "unlock", &backend.LostError{}},
		{"lost", 409, holder, "", "unlock", &backend.LostError{Holder: bob}},
		{"not released", 204, "", "", "unlock", errors.New("answers 204")},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := pipe.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.md5 != "" {
					w.Header().Set("Content-MD5", c.md5)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			s := settings(server.URL + "/state")
			s.LockAddress = s.Address
			b := open(t, s)
			var err error
			switch c.do {
			case "read":
				_, _, err = b.Read(t.Context())
			case "lock":
				_, err = b.Lock(t.Context(), backend.Info{ID: "1"})
			case "unlock":
				err = b.Unlock(t.Context(), backend.Info{ID: "1"})
			}
			if err == nil || !strings.Contains(err.Error(), c.want.Error()) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

// TestSecrets looks for secrets in errors, and where redirects lead.
func TestSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var there []string
		elsewhere := pipe.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var all bytes.Buffer
			_ = r.Write(&all)
			there = append(there, r.Method+" "+all.String())
			_, _ = io.WriteString(w, "{}")
		}))
		here := pipe.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/?token=t0ken", http.StatusTemporaryRedirect)
		}))
		gone := pipe.Serve(t, nil)
		gone.Close()
		for _, address := range []string{here.URL, gone.URL} {
			s := settings(strings.Replace(address, "http://", "http://ann:s3cret@", 1) + "/state?private_token=t0ken")
			s.LockAddress = s.Address
			s.Headers = map[string]string{"Private-Token": "t0ken"}
			b := open(t, s)
			_, _, err := b.Read(t.Context())
			if address == here.URL && err != nil {
				t.Error("a redirected read:", err)
			} else if address == gone.URL {
				noSecret(t, err)
			}
			_, err = b.Lock(t.Context(), backend.Info{ID: "1"})
			noSecret(t, err)
			if address == here.URL && !strings.Contains(err.Error(), "to "+elsewhere.URL) {
				t.Error(err)
			}
			_, err = b.Write(t.Context(), []byte("{}"), "99914b932bd37a50b983c5e7c90ae93b", "1")
			noSecret(t, err)
			noSecret(t, b.Unlock(t.Context(), backend.Info{ID: "1"}))
		}
		if len(there) != 2 {
			t.Errorf("%d requests were redirected, want the reads", len(there))
		}
		for _, r := range there {
			if !strings.HasPrefix(r, "GET ") || strings.Contains(strings.Replace(r, "/?token=t0ken", "", 1), "t0ken") || strings.Contains(r, "Authorization") {
				t.Error("redirected:", r)
			}
		}
		for _, address := range []string{"http://ann:s3 cret@host", "http://ann:s3/cret@host", "ann:s3cret@host", ""} {
			_, err := New(settings(address))
			noSecret(t, err)
		}
	})
}

func noSecret(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Error("no error")
		return
	}
	for _, secret := range []string{"s3", "cret", "t0ken", "ann"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%v: has %q", err, secret)
		}
	}
}

// TestUnlockFails: the lock does not expire, so the error says how to release it.
func TestUnlockFails(t *testing.T) {
	states, status := stateserver.New(), 0
	server := pipe.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != "UNLOCK" || status == 0:
			states.ServeHTTP(w, r)
		case status == http.StatusForbidden:
			w.WriteHeader(status)
		default:
			panic(http.ErrAbortHandler)
		}
	}))
	s := settings(server.URL + "/shop")
	s.LockAddress = s.Address
	b := open(t, s)
	i := backend.Info{ID: "1", Operation: "apply", Who: "ann@host", Created: time.Unix(1, 0)}
	for name, c := range map[string]struct {
		status int
		word   string
	}{"refused": {http.StatusForbidden, "403"}, "not reached": {1, "EOF"}} {
		if _, err := b.Lock(t.Context(), i); err != nil {
			t.Fatal(err)
		}
		status = c.status
		err := b.Unlock(t.Context(), i)
		if err == nil || !strings.Contains(err.Error(), c.word) || !strings.HasSuffix(err.Error(), "\nthe state may still be locked, and the lock does not expire\nto release it: agentform force-unlock 1") {
			t.Errorf("%s: %v", name, err)
		}
		status = 0
		if err := b.Unlock(t.Context(), i); err != nil {
			t.Errorf("%s, again: %v", name, err)
		}
		status = c.status // to see who has the lock takes it for a moment
		if _, err := b.Holder(t.Context()); err == nil || !strings.Contains(err.Error(), "agentform force-unlock ") {
			t.Errorf("%s: holder: %v", name, err)
		}
		status = 0
		held, err := b.Holder(t.Context())
		if err != nil {
			t.Errorf("%s: the lock is not held: %v", name, err)
		}
		if err := b.Unlock(t.Context(), held); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := pipe.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, _, err := open(t, settings(server.URL)).Read(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// TestSilent checks that a server which never answers is asked once and not waited for.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		server := pipe.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked++; <-r.Context().Done() }))
		s := settings(server.URL)
		s.RetryMax, s.LockAddress = 3, s.Address
		b, began := open(t, s), time.Now()
		_, _, err := b.Read(t.Context())
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "does not answer") || took > backend.AnswerTimeout+time.Second || asked != 1 {
			t.Errorf("a read: %v after %s, asked %d times", err, took, asked)
		}
	})
}

func TestCertificates(t *testing.T) {
	server := pipe.NewUnstartedServer(stateserver.New())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	s := settings(server.URL)
	if _, _, err := open(t, s).Read(t.Context()); errors.Is(err, backend.ErrNone) || err == nil {
		t.Error("an unknown certificate:", err)
	}
	s.SkipCertVerification = true
	if _, _, err := open(t, s).Read(t.Context()); !errors.Is(err, backend.ErrNone) {
		t.Error(err)
	}
	for _, s := range []Settings{
		{Address: server.URL, ClientCACertificatePEM: "no"},
		{Address: server.URL, ClientCertificatePEM: "no"},
		{Address: server.URL, ClientCertificatePEM: "no", ClientPrivateKeyPEM: "k3y"},
	} {
		if _, err := New(s); err == nil || strings.Contains(err.Error(), "k3y") {
			t.Error(err)
		}
	}
}
