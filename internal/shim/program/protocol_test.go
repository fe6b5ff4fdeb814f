//go:build real

package program

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/test/wait"

	"github.com/agentform/agentform/internal/shim/rundir"
)

func TestHelloAndUnsupported(t *testing.T) {
	r := prepare(t, "touch up; exec sleep 60", nil)
	cmd, f := r.running()
	c := r.client()
	h, err := c.Hello(context.Background())
	if err != nil || h != (shim.Hello{Protocol: rundir.Version, Run: r.config.Run, Shim: f.Shim}) {
		t.Errorf("hello is %+v, %v", h, err)
	}
	for _, op := range []string{shim.OpRestart, "dance"} {
		if answer := r.raw(`{"op":"` + op + `"}`); answer.Error == nil || answer.Error.Code != shim.CodeUnsupported {
			t.Errorf("%s: %+v", op, answer)
		}
	}
	s, err := c.Status(context.Background())
	if err != nil || s.Agent != f.Agent || s.Frozen || s.Ending != "" || s.Ran <= 0 {
		t.Errorf("status is %+v, %v", s, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Status(ctx); err == nil {
		t.Error("asked with a cancelled context")
	}
	r.stop("", 0)
	r.ended(cmd)
}

// raw sends one line to the shim and returns its reply.
func (r *room) raw(line string) (answer shim.Reply) {
	r.t.Helper()
	conn, err := net.Dial("unix", r.config.Socket)
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		r.t.Fatal(err)
	}
	if err := json.NewDecoder(conn).Decode(&answer); err != nil {
		r.t.Fatal(err)
	}
	return answer
}

func TestHostileClients(t *testing.T) {
	r := prepare(t, "touch up; exec sleep 60", nil)
	cmd, f := r.running()
	var silent []net.Conn
	for range 3 * shim.MaxConns { // send nothing, half a line, or far too much
		conn, err := net.Dial("unix", r.config.Socket)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		silent = append(silent, conn)
	}
	for i, conn := range silent {
		conn.SetDeadline(time.Now().Add(100 * time.Millisecond))
		if i%2 == 0 {
			io.WriteString(conn, `{"op":`)
		} else {
			conn.Write(bytes.Repeat([]byte{'x'}, 2*shim.LineLimit))
		}
		conn.Close()
	}
	wait.For(t, "their places are free", func() (any, bool) {
		c, err := shim.Dial(r.config.Socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, err = c.Hello(context.Background())
		return err, err == nil
	})
	for _, line := range []string{"\x00\xff", "[]", `"stop"`, `{"op":7}`, `{"op":"stop","signal":"SIGSTOP"}`, `{"op":"set","grace_ns":-1}`, `{"op":"stop","grace_ns":1e99}`, strings.Repeat("[", 60000)} {
		conn, err := net.Dial("unix", r.config.Socket)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, line+"\n")
		var got shim.Reply
		if err := json.NewDecoder(conn).Decode(&got); err != nil || got.OK || got.Error == nil {
			t.Errorf("%.20q was answered %+v, %v", line, got, err)
		}
		conn.Close()
	}
	if !f.Agent.Alive() {
		t.Error("the agent is dead")
	}
	if exit := r.stop("", 0); exit.Cause != rundir.CauseRequested {
		t.Errorf("exit is %+v", exit)
	}
	r.ended(cmd)
}
