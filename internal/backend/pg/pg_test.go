//go:build real

package pg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/test/backendtest"
	"github.com/agentform/agentform/internal/test/postgres"
	"github.com/agentform/agentform/internal/test/wait"
)

func TestMain(m *testing.M) { suite.Main(m) }

func TestBackend(t *testing.T) { suite.Run(t) }

var suite = backendtest.Suite{
	Start: postgres.Start,
	Open: func(address, project string, lease time.Duration) (backend.Backend, error) {
		return New(Settings{ConnStr: postgres.ConnStr(address), Name: project, Lease: lease})
	},
	Expires: true, Conditional: true,
}

// connect returns a connection of the superuser.
func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	admin, err := pgx.Connect(t.Context(), postgres.ConnStr(address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close(context.Background()) })
	return admin
}

// TestTables makes the tables as several accounts.
func TestTables(t *testing.T) {
	address := postgres.Start(t)
	admin := connect(t, address)
	run := func(sql string) {
		t.Helper()
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	open := func(account, schema string) *Backend {
		t.Helper()
		conn := strings.Replace(postgres.ConnStr(address), "postgres:"+postgres.Password, account+":"+postgres.Password, 1)
		b, err := New(Settings{ConnStr: conn, Schema: schema, Name: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	run("CREATE ROLE ci LOGIN PASSWORD '" + postgres.Password + "'")
	i := backend.Info{ID: "1", Operation: "apply", Who: "ann"}

	t.Run("at the same time", func(t *testing.T) {
		var group sync.WaitGroup
		var won [8]error
		for n := range won {
			b := open("postgres", `odd "name"`)
			group.Go(func() {
				_, won[n] = b.Lock(t.Context(), backend.Info{ID: fmt.Sprint(n)})
			})
		}
		group.Wait()
		wins := 0
		for _, err := range won {
			if err == nil {
				wins++
			} else if _, held := errors.AsType[*backend.HeldError](err); !held {
				t.Error(err)
			}
		}
		if wins != 1 {
			t.Errorf("%d took the lock", wins)
		}
	})
	t.Run("not allowed", func(t *testing.T) {
		b := open("ci", "")
		if _, _, err := b.Read(t.Context()); !errors.Is(err, backend.ErrNone) {
			t.Error(err)
		}
		_, err := b.Lock(t.Context(), i)
		wantError(t, err, "permission denied", `run CREATE SCHEMA "agentform"`)
	})
	t.Run("only the schema", func(t *testing.T) {
		run("CREATE SCHEMA ours; GRANT USAGE, CREATE ON SCHEMA ours TO ci")
		if _, err := open("ci", "ours").Lock(t.Context(), i); err != nil {
			t.Error(err)
		}
	})
	t.Run("only the tables", func(t *testing.T) {
		owner := open("postgres", "")
		if _, err := owner.Lock(t.Context(), i); err != nil {
			t.Fatal(err)
		}
		b := open("ci", "")
		_, _, err := b.Read(t.Context())
		wantError(t, err, "permission denied", "account ci needs USAGE")
		run("GRANT USAGE ON SCHEMA agentform TO ci; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA agentform TO ci")
		if _, err := b.Lock(t.Context(), i); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Write(t.Context(), []byte("{}"), "", i.ID); err != nil {
			t.Error(err)
		}
		if err := b.Unlock(t.Context(), i); err != nil {
			t.Error(err)
		}
	})
}

// TestTakenMeanwhile writes while another takes the lock: the write waits, and is refused.
func TestTakenMeanwhile(t *testing.T) {
	address := postgres.Start(t)
	b, err := New(Settings{ConnStr: postgres.ConnStr(address), Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	i := backend.Info{ID: "1"}
	if _, err := b.Lock(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	v, err := b.Write(t.Context(), []byte("{}"), "", i.ID)
	if err != nil {
		t.Fatal(err)
	}
	admin := connect(t, address)
	for _, seen := range []backend.Version{v, ""} {
		tx, err := admin.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), `UPDATE agentform.locks SET id = id || '2', info = '{"ID": "2"}'`); err != nil {
			t.Fatal(err)
		}
		wrote := make(chan error)
		go func() {
			_, err := b.Write(t.Context(), []byte("[]"), seen, i.ID)
			wrote <- err
		}()
		select {
		case err := <-wrote:
			t.Fatal("it does not wait:", err)
		case <-time.After(300 * time.Millisecond):
		}
		if seen == "" { // the state is new too
			if _, err := tx.Exec(t.Context(), `DELETE FROM agentform.states`); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if lost, ok := errors.AsType[*backend.LostError](<-wrote); !ok || lost.Holder.ID != "2" {
			t.Error(lost)
		}
		i.ID += "2"
	}
}

// TestRestart ends the connection that was kept for the next statement.
func TestRestart(t *testing.T) {
	address := postgres.Start(t)
	b, err := New(Settings{ConnStr: postgres.ConnStr(address), Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	admin := connect(t, address)
	for range 2 {
		if _, _, err := b.Read(t.Context()); !errors.Is(err, backend.ErrNone) {
			t.Fatal(err)
		}
		var ended int
		if err := admin.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`).Scan(&ended); err != nil || ended != 1 {
			t.Fatal(ended, err)
		}
	}
}

// TestDown does each thing while the server is down, which starts again when that was noticed.
func TestDown(t *testing.T) {
	address := postgres.Start(t)
	b, err := New(Settings{ConnStr: postgres.ConnStr(address), Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	dial, refused := b.config.DialFunc, make(chan error, 100)
	b.config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			refused <- err
		}
		return conn, err
	}
	i, v := backend.Info{ID: "1"}, backend.Version("")
	if _, err := b.Lock(t.Context(), i); err != nil { // makes the tables
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"write", func() (err error) { v, err = b.Write(t.Context(), []byte("{}"), "", i.ID); return err }},
		{"read", func() error { _, _, err := b.Read(t.Context()); return err }},
		{"renew", func() error { _, err := b.Lock(t.Context(), i); return err }},
		{"write again", func() error { _, err := b.Write(t.Context(), []byte("[]"), v, i.ID); return err }},
		{"unlock", func() error { return b.Unlock(t.Context(), i) }},
		{"lock", func() error { _, err := b.Lock(t.Context(), backend.Info{ID: "2"}); return err }},
	} {
		start := postgres.Stop(t, address)
		done := make(chan error, 1)
		go func() { done <- c.do() }()
		select {
		case <-refused:
		case err := <-done:
			t.Fatalf("%s: nothing was noticed: %v", c.name, err)
		}
		start()
		if err := <-done; err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for len(refused) > 0 {
			<-refused
		}
	}
}

// TestAnswerLost ends the connection while a write waits for the row of the lock: the write is
// repeated.
func TestAnswerLost(t *testing.T) {
	address := postgres.Start(t)
	b, err := New(Settings{ConnStr: postgres.ConnStr(address), Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	i := backend.Info{ID: "1"}
	if _, err := b.Lock(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	admin := connect(t, address)
	tx, err := admin.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT FROM agentform.locks FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	wrote := make(chan error, 1)
	go func() {
		_, err := b.Write(t.Context(), []byte("{}"), "", i.ID)
		wrote <- err
	}()
	wait.For(t, "the write waits, and its connection has ended", func() (any, bool) {
		var ended int
		err := tx.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`).Scan(&ended)
		return err, ended == 1
	})
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

// TestSecrets looks for the password in errors.
func TestSecrets(t *testing.T) {
	address := postgres.Start(t)
	const wrong = "wr0ng"
	for _, conn := range []string{
		strings.Replace(postgres.ConnStr(address), postgres.Password, wrong, 1),
		"postgres://ann:" + wrong + "@127.0.0.1:1/shop",
		"postgres://ann:" + wrong + "/x@127.0.0.1/shop",
		"postgres://ann:" + wrong + " x@127.0.0.1/shop",
		"postgres://ann:" + wrong + "@127.0.0.1/shop?sslmode=often",
		"host=127.0.0.1 password=" + wrong + " port=no",
		"password='" + wrong,
	} {
		b, err := New(Settings{ConnStr: conn})
		if err == nil {
			b.retry = 0
			_, _, err = b.Read(t.Context())
		}
		if err == nil || errors.Is(err, backend.ErrNone) || strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", conn, err)
		}
	}
}

// TestEnvironment connects with what libpq reads from the environment.
func TestEnvironment(t *testing.T) {
	host, port, _ := strings.Cut(postgres.Start(t), ":")
	for name, value := range map[string]string{
		"PGHOST": host, "PGPORT": port, "PGUSER": "postgres", "PGPASSWORD": postgres.Password, "PGDATABASE": "postgres",
	} {
		t.Setenv(name, value)
	}
	b, err := New(Settings{Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Read(t.Context()); !errors.Is(err, backend.ErrNone) {
		t.Error(err)
	}
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v, want: %s", err, part)
		}
	}
}
