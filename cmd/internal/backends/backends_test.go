//go:build real

package backends_test

import (
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/agentform/agentform/cmd/internal/backends"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/sharedstate"
	"github.com/agentform/agentform/internal/test/postgres"
	"github.com/agentform/agentform/internal/test/stateserver"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// TestKinds checks that one machine reads what another records, with a backend of each kind.
func TestKinds(t *testing.T) {
	states := stateserver.New()
	states.Username, states.Password = "shop", "hush"
	server := httptest.NewServer(states)
	defer server.Close()
	memory := s3mem.New()
	if err := memory.CreateBucket("team"); err != nil {
		t.Fatal(err)
	}
	store := httptest.NewServer(gofakes3.New(memory).Server())
	defer store.Close()
	for _, c := range []kind{
		{"http", map[string]string{"address": strings.Replace(server.URL, "//", "//shop:hush@", 1) + "/a?token=hush", "lock_address": server.URL + "/a"},
			environ.Vars{"AGENTFORM_HTTP_USERNAME=shop", "AGENTFORM_HTTP_PASSWORD=hush"}, server.URL + "/a"},
		{"s3", map[string]string{"bucket": "team", "key": "shop.json", "endpoint": store.URL, "use_path_style": "true"}, nil, "s3://team/shop.json at " + store.URL},
		{"pg", map[string]string{"conn_str": postgres.ConnStr(postgres.Start(t))}, environ.Vars{"AGENTFORM_PG_SCHEMA=fleet"}, "(fleet, shop)"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Setenv("AWS_ACCESS_KEY_ID", "key")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "hush")
			c.test(t)
		})
	}
}

// TestPasswordOfTheEnvironment checks a conn_str without a password, and AGENTFORM_PG_CONN_STR with
// one.
func TestPasswordOfTheEnvironment(t *testing.T) {
	conn := postgres.ConnStr(postgres.Start(t))
	block := strings.Replace(conn, ":"+postgres.Password, "", 1)
	for name, c := range map[string]struct {
		environ, variable string // variable is PGPASSWORD, for the block's server
		works             bool
	}{
		"none":         {"", "", false},
		"all of it":    {conn, "", true},
		"password":     {"password=" + postgres.Password, "", true},
		"wrong":        {"password=wr0ng", "", false},
		"PGPASSWORD":   {"postgres://old:wr0ng@127.0.0.1:1/old", postgres.Password, true},
		"is not valid": {"postgres://old:wr0ng x@127.0.0.1", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PGPASSWORD", c.variable)
			s := kind{"pg", map[string]string{"conn_str": block}, environ.Vars{"AGENTFORM_PG_CONN_STR=" + c.environ}, ""}.open(t, "near")
			err := s.Pull(t.Context())
			if (err == nil) != c.works || err != nil && (!strings.Contains(err.Error(), "password") || strings.Contains(err.Error(), "wr0ng")) {
				t.Error(err)
			}
			if m, err := os.ReadFile(s.Path + ".backend"); err == nil && strings.Contains(string(m), postgres.Password) {
				t.Errorf("the password is on disk: %s", m)
			}
		})
	}
}

// TestDatabaseRestarts checks that a command that changes sessions succeeds, and releases its lock,
// if the database is down for a while.
func TestDatabaseRestarts(t *testing.T) {
	address := postgres.Start(t)
	c := kind{kind: "pg", values: map[string]string{"conn_str": postgres.ConnStr(address)}}
	near, far := c.open(t, "near"), c.open(t, "far")
	file, err := near.Open(t.Context(), sharedstate.Opening{Who: state.Holder{User: "u", Host: "near", Command: "agentform apply"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} { // a new session is written at once
		start, done := postgres.Stop(t, address), make(chan error, 1)
		a := session.Address("session." + name)
		go func() { done <- file.Put(session.Record{ID: name, Address: a, Spec: session.Spec{Address: a}}) }()
		start()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	start, done := postgres.Stop(t, address), make(chan error, 1)
	go func() { done <- file.Close() }()
	start()
	if err := <-done; err != nil {
		t.Error(err)
	}
	file, err = far.Open(t.Context(), sharedstate.Opening{Who: state.Holder{User: "u", Host: "far", Command: "agentform apply"}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(file.State().Sessions); n != 2 {
		t.Errorf("%d sessions", n)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}

// kind is a kind of backend: its settings, and its displayed name.
type kind struct {
	kind    string
	values  map[string]string
	environ environ.Vars
	name    string
}

func (c kind) open(t *testing.T, host string) *backends.State {
	dir := t.TempDir()
	m := &config.Manifest{Project: "shop", DataDir: dir, Backend: &config.Backend{Kind: c.kind, Values: c.values}}
	return &backends.State{
		Path: filepath.Join(dir, "state.json"), Manifest: m, Environ: c.environ, Version: "0.1.0",
		Owner: func() session.Owner { return session.Owner{Host: host, Machine: host, BootID: host} },
		Log:   slog.New(slog.DiscardHandler),
	}
}

func (c kind) test(t *testing.T) {
	near, far := c.open(t, "near"), c.open(t, "far")
	file, err := near.Open(t.Context(), sharedstate.Opening{Who: state.Holder{User: "u", Host: "near", Command: "agentform apply"}})
	if err != nil {
		t.Fatal(err)
	}
	r := session.Record{ID: "a", Address: "session.a", Spec: session.Spec{Address: "session.a"}}
	if err := file.Put(r); err != nil {
		t.Fatal(err)
	}
	_, err = far.Open(t.Context(), sharedstate.Opening{Who: state.Holder{User: "u", Host: "far", Command: "agentform apply"}})
	if err == nil || !strings.Contains(err.Error(), "u@near") || !strings.Contains(err.Error(), c.name) || strings.Contains(err.Error(), "hush") {
		t.Errorf("locked: %v", err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := far.Pull(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st, err := state.Read(far.Path); err != nil || len(st.Sessions) != 1 {
		t.Errorf("%+v, %v", st, err)
	}
	m, err := sharedstate.ReadMark(near.Path)
	if err != nil || strings.Contains(m.Place.Values["address"]+m.Place.Values["conn_str"]+m.Backend, "hush") {
		t.Errorf("%+v, %v", m, err)
	}
	if c.kind == "pg" { // its settings are not stored, and another database must not be taken for it
		if _, err := near.Previous(); err == nil || !strings.Contains(err.Error(), "AGENTFORM_PG_CONN_STR") {
			t.Errorf("without conn_str: %v", err)
		}
		near.Environ = append(near.Environ, "AGENTFORM_PG_CONN_STR="+c.values["conn_str"])
	}
	if previous, err := near.Previous(); err != nil || previous.Name != m.Backend {
		t.Errorf("previous: %+v, %v", previous, err)
	}
}
