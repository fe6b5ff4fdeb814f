//go:build real

package initd

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// The init disconnects clients that send too much or only half a request. They occupy no slot for
// longer than a request may take.
func TestInitLetsHostileClientsGo(t *testing.T) {
	t.Parallel()
	k := keeping(t)
	dialed := func() net.Conn {
		conn, err := net.Dial("unix", filepath.Join(k.Dir, shim.InitSocket))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	huge := dialed()
	go func() { _, _ = huge.Write(bytes.Repeat([]byte("x"), shim.InitLineLimit+1)) }()
	said, err := bufio.NewReader(huge).ReadString('\n')
	if err != nil || !strings.Contains(said, "longer than 8192 KiB") {
		t.Errorf("a huge frame is answered %.200q, %v", said, err)
	}
	var half []net.Conn
	for range shim.MaxConns {
		conn := dialed()
		// A client is refused while the huge frame still occupies its slot.
		if _, err := io.WriteString(conn, `{"op":"hel`); err != nil && !errors.Is(err, syscall.EPIPE) {
			t.Fatal(err)
		}
		half = append(half, conn)
	}
	for _, conn := range half { // each is disconnected
		if said, err := io.ReadAll(conn); err != nil && !errors.Is(err, syscall.ECONNRESET) || bytes.Contains(said, []byte(`"ok":true`)) {
			t.Errorf("half a frame is answered %.200q, %v", said, err)
		}
	}
	if v, err := k.Hello(t.Context()); err != nil || v != rundir.Version {
		t.Errorf("after that it says %d, %v", v, err)
	}
}
