package s3

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/test/backendtest"
	"github.com/agentform/agentform/internal/test/pipe"
)

const bucket = "team-state"

func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "s3cret", "AWS_REGION": "eu-central-1",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_MAX_ATTEMPTS": "2",
	} {
		os.Setenv(name, value)
	}
	suite.Main(m)
}

func TestBackend(t *testing.T) { suite.RunVirtual(t) }

var suite = backendtest.Suite{
	Handler: func(t *testing.T) http.Handler { // its bucket keeps old versions
		memory := memory(t)
		if err := memory.SetVersioningConfiguration(bucket, gofakes3.VersioningConfiguration{Status: gofakes3.VersioningEnabled}); err != nil {
			t.Fatal(err)
		}
		return gofakes3.New(memory).Server()
	},
	Open: func(address, project string, lease time.Duration) (backend.Backend, error) {
		return New(context.Background(), Settings{
			Bucket: bucket, Key: project + "/agentform.json", Endpoint: "http://" + address, UsePathStyle: true, Lease: lease, DialContext: pipe.Dial,
		})
	},
	Expires: true, Conditional: true,
}

func memory(t *testing.T) *s3mem.Backend {
	memory := s3mem.New()
	if err := memory.CreateBucket(bucket); err != nil {
		t.Fatal(err)
	}
	return memory
}

func store(t *testing.T) http.Handler { return gofakes3.New(memory(t)).Server() }

func start(t *testing.T, h http.Handler) (address string) {
	return pipe.Serve(t, h).Listener.Addr().String()
}

func open(t *testing.T, address string) backend.Backend {
	t.Helper()
	b, err := suite.Open(address, "shop", 0)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestUnsafeStores uses stores that cannot keep two holders apart.
func TestUnsafeStores(t *testing.T) {
	ignore := func(headers ...string) func(*http.Request) int {
		return func(r *http.Request) int {
			for _, name := range headers {
				r.Header.Del(name)
			}
			return 0
		}
	}
	for _, c := range []struct {
		name   string
		change func(*http.Request) int // returns a status to answer with
		want   string
	}{
		{"ignores both", ignore("If-Match", "If-None-Match"), "ignores the condition If-None-Match"},
		{"ignores If-None-Match", ignore("If-None-Match"), "ignores the condition If-None-Match"},
		{"ignores If-Match", ignore("If-Match"), "ignores the condition If-Match"},
		{"has none", func(r *http.Request) int {
			if r.Method == http.MethodPut {
				return http.StatusNotImplemented
			}
			return 0
		}, "has no conditional writes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			behind := store(t)
			address := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if status := c.change(r); status != 0 {
					w.WriteHeader(status)
					return
				}
				behind.ServeHTTP(w, r)
			}))
			b := open(t, address)
			for range 2 {
				_, err := b.Lock(t.Context(), backend.Info{ID: "1", Operation: "apply", Who: "ann"})
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("%v, want: %s", err, c.want)
				}
			}
			if i, err := b.Holder(t.Context()); err == nil {
				t.Error("the lock is left with", i)
			}
		})
	}
}

// TestConflict meets a store that asks to repeat a write.
func TestConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		behind, conflicts := store(t), 0
		address := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && conflicts < 3 {
				conflicts++
				w.WriteHeader(http.StatusConflict)
				_, _ = w.Write([]byte("<Error><Code>ConditionalRequestConflict</Code></Error>"))
				return
			}
			behind.ServeHTTP(w, r)
		}))
		if _, err := open(t, address).Lock(t.Context(), backend.Info{ID: "1"}); err != nil || conflicts != 3 {
			t.Error(conflicts, err)
		}
	})
}

// TestSilent checks that a store which never answers is not waited for.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		address := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // the end of the connection is seen behind it
			<-r.Context().Done()
		}))
		b, began := open(t, address), time.Now()
		_, _, err := b.Read(t.Context())
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "does not answer for 15s") || took > backend.AnswerTimeout+time.Second {
			t.Errorf("a read: %v after %s", err, took)
		}
		began = time.Now()
		if _, err := b.(*Backend).put(t.Context(), "key", []byte("x"), ""); err == nil || time.Since(began) > backend.AnswerTimeout+time.Second {
			t.Errorf("a write: %v after %s", err, time.Since(began))
		}
	})
}

func TestErrors(t *testing.T) {
	status := http.StatusForbidden
	address := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) }))
	b := open(t, address)
	if _, _, err := b.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "s3:ListBucket") || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
	status = http.StatusNotFound // except for what
	if _, _, err := b.Read(t.Context()); err == nil || errors.Is(err, backend.ErrNone) {
		t.Error(err)
	}
	other := start(t, gofakes3.New(s3mem.New()).Server())
	if _, _, err := open(t, other).Read(t.Context()); err == nil || !strings.Contains(err.Error(), "NoSuchBucket") {
		t.Error(err)
	}
	for _, s := range []Settings{{Bucket: bucket}, {Key: "key"}, {Bucket: bucket, Key: "key", Profile: "missing"}} {
		if _, err := New(t.Context(), s); err == nil {
			t.Error("no error for", s)
		}
	}
	t.Setenv("AWS_REGION", "")
	if _, err := New(t.Context(), Settings{Bucket: bucket, Key: "key"}); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Error(err)
	}
}

// TestRenewal: each renewal changes the ETag, by which another would take over a lock that it
// saw expire.
func TestRenewal(t *testing.T) {
	b := open(t, start(t, store(t))).(*Backend)
	seen := map[string]bool{}
	for range 3 {
		if _, err := b.Lock(t.Context(), backend.Info{ID: "1"}); err != nil {
			t.Fatal(err)
		}
		l, err := b.readLock(t.Context())
		if err != nil || seen[l.etag] {
			t.Error(l.etag, err)
		}
		seen[l.etag] = true
	}
}

// TestHeld: the times of the lock and of the answer are whole seconds, so that a lock may
// look a second older than it is.
func TestHeld(t *testing.T) {
	l := lock{Info: backend.Info{ID: "1"}, Lease: 60}
	for age, want := range map[time.Duration]bool{0: true, 60 * time.Second: true, 61 * time.Second: false} {
		l.age = age
		if l.held() != want || (l.holder().ID == "1") != want {
			t.Errorf("held after %v: %v", age, l.held())
		}
	}
}

// TestOldHolder reads a lock of a client that has another lease.
func TestOldHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		address := start(t, store(t))
		slow, err := suite.Open(address, "shop", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := slow.Lock(t.Context(), backend.Info{ID: "1", Who: "ann"}); err != nil {
			t.Fatal(err)
		}
		fast, err := suite.Open(address, "shop", time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(1100 * time.Millisecond)
		if i, err := fast.Holder(t.Context()); err != nil || i.ID != "1" {
			t.Error(i, err)
		}
	})
}
