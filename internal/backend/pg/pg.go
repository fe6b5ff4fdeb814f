// Package pg stores a state in a table of a PostgreSQL database, and its lock in another.
package pg

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/sleep"
)

// Settings locate the tables.
type Settings struct {
	ConnStr  string        // what it lacks is read from the variables and files of libpq
	Password string        // if neither ConnStr nor these have one
	Schema   string        // agentform if it is empty
	Name     string        // of the project, which has one row in each table
	Lease    time.Duration // backend.Lease if it is 0
}

// Backend is a state in a database. The version of a state is a number that grows.
//
// Each statement is a transaction, and nothing is kept in the server's session, so that it
// works through a pooler that changes servers between transactions. Each time is the server's.
// Each statement has the same result when it runs twice: locks have IDs, and Write compares what
// is stored with its text.
type Backend struct {
	settings      Settings
	config        *pgx.ConnConfig
	states, locks string         // the names of the tables
	taken         sync.Map       // the IDs of the locks that this Backend took and did not release
	idle          chan *pgx.Conn // the connection of the last statement
	retry         time.Duration  // retryTime
}

// New returns a backend with these settings. It connects to nothing.
func New(s Settings) (*Backend, error) {
	config, err := pgx.ParseConfig(s.ConnStr)
	if err != nil { // it quotes conn_str, which may have a password
		return nil, errors.New("conn_str is not valid: write postgres://USER@HOST:PORT/DATABASE or host=HOST dbname=DATABASE user=USER, and check the files and the PG variables that it uses")
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.StatementCacheCapacity, config.DescriptionCacheCapacity = 0, 0
	config.Password = cmp.Or(config.Password, s.Password)
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, backend.AnswerTimeout)
	s.Schema, s.Lease = cmp.Or(s.Schema, "agentform"), cmp.Or(s.Lease, backend.Lease)
	return &Backend{
		settings: s, config: config,
		states: pgx.Identifier{s.Schema, "states"}.Sanitize(),
		locks:  pgx.Identifier{s.Schema, "locks"}.Sanitize(),
		idle:   make(chan *pgx.Conn, 1),
		retry:  retryTime,
	}, nil
}

// Password returns the password of a connection string, empty if there is none or the string is
// not valid.
func Password(connStr string) string {
	config, err := pgx.ParseConfig(connStr)
	if err != nil {
		return ""
	}
	return config.Password
}

// Name returns where the state is, without user and password.
func (b *Backend) Name() string {
	c := b.config
	return fmt.Sprintf("postgres://%s:%d/%s (%s, %s)", c.Host, c.Port, c.Database, b.settings.Schema, b.settings.Name)
}

func (b *Backend) Read(ctx context.Context) (text []byte, v backend.Version, err error) {
	err = b.query(ctx, []any{&text, &v},
		"SELECT text, version::text FROM "+b.states+" WHERE name = $1", b.settings.Name)
	return text, v, none(err)
}

func (b *Backend) Write(ctx context.Context, text []byte, seen backend.Version, id string) (v backend.Version, err error) {
	// The row of the lock is kept from others until the state is written.
	holds := "WITH holds AS (SELECT FROM " + b.locks + " WHERE name = $1 AND id = $2 FOR UPDATE) "
	if seen == "" {
		err = b.query(ctx, []any{&v}, holds+
			"INSERT INTO "+b.states+" (name, text, version, updated) SELECT $1, $3, 1, clock_timestamp() FROM holds "+
			"ON CONFLICT (name) DO NOTHING RETURNING version::text",
			b.settings.Name, id, text)
	} else {
		err = b.query(ctx, []any{&v}, holds+
			"UPDATE "+b.states+" SET text = $3, version = version + 1, updated = clock_timestamp() "+
			"WHERE name = $1 AND version::text = $4 AND EXISTS (SELECT FROM holds) RETURNING version::text",
			b.settings.Name, id, text, string(seen))
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return v, err
	}
	l, err := b.holder(ctx)
	if err != nil && !errors.Is(err, backend.ErrNone) {
		return "", err
	}
	if l.ID != id {
		return "", &backend.LostError{Holder: l.live()}
	}
	return backend.Refused(ctx, b, text, seen)
}

func (b *Backend) Lock(ctx context.Context, i backend.Info) (time.Duration, error) {
	lease := b.settings.Lease
	var id string
	var err error
	if _, took := b.taken.Load(i.ID); took {
		err = b.query(ctx, []any{&id}, "UPDATE "+b.locks+" SET "+until+" WHERE name = $1 AND id = $2 RETURNING id",
			b.settings.Name, i.ID, lease.Seconds())
		if errors.Is(err, pgx.ErrNoRows) {
			other, err := b.Holder(ctx)
			if err != nil && !errors.Is(err, backend.ErrNone) {
				return 0, err
			}
			return 0, &backend.LostError{Holder: other}
		}
		return lease, err
	}
	i.Renewed = time.Time{}
	info, err := json.Marshal(i)
	if err != nil {
		return 0, err
	}
	for {
		err = b.create(ctx, []any{&id}, "INSERT INTO "+b.locks+" AS l (name, id, info, renewed, expires) "+
			"VALUES ($1, $2, $4::jsonb, clock_timestamp(), clock_timestamp() + make_interval(secs => $3)) "+
			"ON CONFLICT (name) DO UPDATE SET id = excluded.id, info = excluded.info, "+until+
			" WHERE l.id = excluded.id OR l.expires < clock_timestamp() RETURNING id",
			b.settings.Name, i.ID, lease.Seconds(), string(info))
		if err == nil {
			b.taken.Store(i.ID, nil)
			return lease, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return 0, err
		}
		other, err := b.Holder(ctx)
		if err == nil {
			return 0, &backend.HeldError{Holder: other}
		}
		if !errors.Is(err, backend.ErrNone) {
			return 0, err
		}
	}
}

// until sets the times of a lock that lasts for $3 seconds from now.
const until = "renewed = clock_timestamp(), expires = clock_timestamp() + make_interval(secs => $3)"

func (b *Backend) Unlock(ctx context.Context, i backend.Info) error {
	b.taken.Delete(i.ID)
	var id string
	err := none(b.query(ctx, []any{&id}, "DELETE FROM "+b.locks+" WHERE name = $1 AND id = $2 RETURNING id", b.settings.Name, i.ID))
	if !errors.Is(err, backend.ErrNone) {
		return err
	}
	other, err := b.Holder(ctx)
	if err == nil {
		return &backend.LostError{Holder: other}
	}
	if errors.Is(err, backend.ErrNone) {
		return nil
	}
	return err
}

func (b *Backend) Holder(ctx context.Context) (backend.Info, error) {
	l, err := b.holder(ctx)
	if err == nil && l.expired {
		err = backend.ErrNone
	}
	return l.live(), err
}

type lock struct {
	backend.Info
	expired bool
}

// live returns the lock's holder, zero for none.
func (l lock) live() backend.Info {
	if l.expired {
		return backend.Info{}
	}
	return l.Info
}

// holder returns the lock, also if it has expired. The error is backend.ErrNone for none.
func (b *Backend) holder(ctx context.Context) (l lock, err error) {
	var info string
	var renewed time.Time
	err = none(b.query(ctx, []any{&info, &renewed, &l.expired},
		"SELECT info::text, renewed, expires < clock_timestamp() FROM "+b.locks+" WHERE name = $1", b.settings.Name))
	if err != nil {
		return lock{}, err
	}
	if err := json.Unmarshal([]byte(info), &l.Info); err != nil {
		return lock{}, fmt.Errorf("the info of the lock in %s: %w", b.locks, err)
	}
	l.Renewed = renewed
	return l, nil
}

// none converts an error about a missing row to that of backends.
func none(err error) error {
	if errors.Is(err, pgx.ErrNoRows) || slices.Contains(missing, code(err)) {
		return backend.ErrNone
	}
	return err
}

// The codes of errors that mean that the tables were not made yet, and that another made
// them at the same time.
var (
	missing = []string{"42P01", "3F000"}                   // undefined_table, invalid_schema_name
	exists  = []string{"42P06", "42P07", "42710", "23505"} // duplicate_schema, _table, _object, unique_violation
)

func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// create is query, and makes the tables first if they are missing.
func (b *Backend) create(ctx context.Context, row []any, sql string, args ...any) error {
	err := b.query(ctx, row, sql, args...)
	if !slices.Contains(missing, code(err)) {
		return err
	}
	var refused error
	for _, statement := range []string{
		"CREATE SCHEMA " + pgx.Identifier{b.settings.Schema}.Sanitize(),
		"CREATE TABLE " + b.states + " (name text PRIMARY KEY, text bytea NOT NULL, version bigint NOT NULL, updated timestamptz NOT NULL)",
		"CREATE TABLE " + b.locks + " (name text PRIMARY KEY, id text NOT NULL, info jsonb NOT NULL, renewed timestamptz NOT NULL, expires timestamptz NOT NULL)",
	} {
		err := b.query(ctx, nil, statement)
		if err != nil && refused == nil && !slices.Contains(exists, code(err)) {
			refused = fmt.Errorf("%w: let an account that may create schemas use this backend once, or run %s", err, statement)
		}
	}
	err = b.query(ctx, row, sql, args...)
	if slices.Contains(missing, code(err)) {
		err = cmp.Or(refused, err)
	}
	return err
}

// retryTime is how long a statement is tried again while the server restarts or the network
// fails, retryPause the first pause. Each pause is twice the one before.
const (
	retryTime  = 10 * time.Second
	retryPause = 500 * time.Millisecond
)

// query runs one statement, and reads its row if row is not nil. The error is pgx.ErrNoRows
// if there is none. The statement may run twice, when its answer was lost.
func (b *Backend) query(ctx context.Context, row []any, sql string, args ...any) error {
	until := time.Now().Add(b.retry)
	var err error
	for pause := retryPause; ; pause *= 2 {
		var interrupted bool
		interrupted, err = b.try(ctx, row, sql, args...)
		if !interrupted || time.Now().Add(pause).After(until) || !sleep.For(ctx, pause) {
			break
		}
	}
	if err == nil || errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if code(err) == "42501" { // insufficient_privilege
		err = fmt.Errorf("%w: account %s needs USAGE of the schema, and SELECT, INSERT, UPDATE and DELETE on its tables", err, b.config.User)
	}
	return fmt.Errorf("database %s at %s:%d: %w", b.config.Database, b.config.Host, b.config.Port, err)
}

// try runs a statement once, and reports whether the server was not reached or ended the
// connection.
func (b *Backend) try(ctx context.Context, row []any, sql string, args ...any) (interrupted bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, backend.AnswerTimeout)
	defer cancel()
	conn, err := b.connect(ctx)
	if err != nil {
		return away(err), err
	}
	defer b.release(ctx, conn)
	if row == nil {
		_, err = conn.Exec(ctx, sql, args...)
	} else {
		err = conn.QueryRow(ctx, sql, args...).Scan(row...)
	}
	return err != nil && conn.IsClosed() && away(err), err
}

// away reports whether an error is of the network, or of a server that shuts down or starts.
func away(err error) bool {
	if c := code(err); c != "" {
		return strings.HasPrefix(c, "57P0") || strings.HasPrefix(c, "08") // admin_shutdown, cannot_connect_now; connection_exception
	}
	_, network := errors.AsType[*net.OpError](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}

// connect returns the connection of an earlier statement if it still works, or a new one.
func (b *Backend) connect(ctx context.Context) (*pgx.Conn, error) {
	select {
	case conn := <-b.idle:
		if conn.Ping(ctx) == nil {
			return conn, nil
		}
		b.discard(ctx, conn)
	default:
	}
	return pgx.ConnectConfig(ctx, b.config.Copy())
}

// idleTime is how long a connection is kept for the next statement. Servers have few.
const idleTime = 10 * time.Second

func (b *Backend) release(ctx context.Context, conn *pgx.Conn) {
	if !conn.IsClosed() {
		select {
		case b.idle <- conn:
			time.AfterFunc(idleTime, func() {
				select {
				case conn := <-b.idle:
					b.discard(context.Background(), conn)
				default:
				}
			})
			return
		default:
		}
	}
	b.discard(ctx, conn)
}

func (b *Backend) discard(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}
