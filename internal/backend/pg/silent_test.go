package pg

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/internal/backend"
)

// TestSilent checks that a database is not waited for which answers nothing, or no statement.
func TestSilent(t *testing.T) {
	// AuthenticationOk and ReadyForQuery (postgresql.org/docs/current/protocol-message-formats.html).
	const welcome = "R\x00\x00\x00\x08\x00\x00\x00\x00" + "Z\x00\x00\x00\x05I"
	for name, says := range map[string]string{"nothing": "", "no statement": welcome} {
		synctest.Test(t, func(t *testing.T) {
			b, err := New(Settings{ConnStr: "postgres://ann@192.0.2.1:5432/shop?sslmode=disable", Name: "shop"})
			if err != nil {
				t.Fatal(err)
			}
			b.config.DialFunc = func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				t.Cleanup(func() { theirs.Close() })
				go func() {
					_, _ = io.CopyN(io.Discard, theirs, 1) // the client speaks first
					go func() { _, _ = io.Copy(io.Discard, theirs) }()
					_, _ = io.WriteString(theirs, says)
				}()
				return ours, nil
			}
			began := time.Now()
			_, _, err = b.Read(t.Context())
			if took := time.Since(began); err == nil || took > backend.AnswerTimeout+time.Second {
				t.Errorf("it answers %s: %v after %s", name, err, took)
			}
		})
	}
}
