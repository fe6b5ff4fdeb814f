package shim

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestHelloAndUnsupported(t *testing.T) {
	r := prepare(t, "touch up; exec sleep 60", nil)
	cmd, f := r.running()
	c := r.client()
	h, err := c.Hello(context.Background())
	if err != nil || h != (Hello{Protocol: ProtocolVersion, Run: r.config.Run, Guest: f.Guest}) {
		t.Errorf("hello is %+v, %v", h, err)
	}
	for _, op := range []string{opRestart, "dance"} {
		if _, err := c.ask(context.Background(), time.Second, request{Op: op}); codeOf(err) != CodeUnsupported {
			t.Errorf("%s: %v", op, err)
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

func TestHostileClients(t *testing.T) {
	r := prepare(t, "touch up; exec sleep 60", nil)
	cmd, f := r.running()
	var silent []net.Conn
	for range 3 * maxConns { // say nothing, half a line, or far too much
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
			conn.Write(bytes.Repeat([]byte{'x'}, 2*lineLimit))
		}
		conn.Close()
	}
	r.until("their places are free", func() bool {
		c, err := Dial(context.Background(), r.config.Socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, err = c.Hello(context.Background())
		return err == nil
	})
	for _, line := range []string{"\x00\xff", "[]", `"stop"`, `{"op":7}`, `{"op":"stop","signal":"SIGSTOP"}`, `{"op":"set","grace_ns":-1}`, `{"op":"stop","grace_ns":1e99}`, strings.Repeat("[", 60000)} {
		conn, err := net.Dial("unix", r.config.Socket)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, line+"\n")
		var got reply
		if err := json.NewDecoder(conn).Decode(&got); err != nil || got.OK || got.Error == nil {
			t.Errorf("%.20q was answered %+v, %v", line, got, err)
		}
		conn.Close()
	}
	if !f.Agent.Alive() {
		t.Error("the agent is dead")
	}
	if exit := r.stop("", 0); exit.Cause != CauseRequested {
		t.Errorf("exit is %+v", exit)
	}
	r.ended(cmd)
}

func TestDialWithoutGuest(t *testing.T) {
	if _, err := Dial(context.Background(), filepath.Join(t.TempDir(), "g-1")); err == nil {
		t.Error("connected to nothing")
	}
}

// A hostile guest cannot keep a client waiting or make it swallow without end.
func TestClientOfAHostileGuest(t *testing.T) {
	for name, answer := range map[string]string{
		"endless": strings.Repeat("x", 2*lineLimit), "garbage": "{]\n", "empty": "{}\n", "lacking": `{"ok":true}` + "\n", "silent": "",
	} {
		ours, theirs := net.Pipe()
		go func() {
			bufio.NewReader(theirs).ReadString('\n')
			io.WriteString(theirs, answer)
		}()
		lines := bufio.NewScanner(ours)
		lines.Buffer(nil, lineLimit)
		c := &Client{conn: ours, lines: lines}
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		if s, err := c.Status(ctx); err == nil {
			t.Errorf("%s: %+v", name, s)
		}
		cancel()
		c.Close()
		theirs.Close()
	}
}

// FuzzProtocol sends anything to the server: it must answer each line with one
// JSON line that is either ok or an error, and come to an end.
func FuzzProtocol(f *testing.F) {
	f.Add([]byte(`{"op":"hello"}` + "\n" + `{"op":"stop","grace_ns":5}` + "\n"))
	f.Add([]byte("\n\n{}\n[]\nnull\n"))
	f.Add([]byte(`{"op":"set","timeout_ns":-1,"signal":"SIG"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		g := &guest{config: Config{Run: "fuzz"}, cause: CauseSelf, done: make(chan struct{}), changed: make(chan struct{}, 1)}
		close(g.done)
		g.deadline = time.Now() // ending already: a stop signals nothing
		s := &server{limit: lineLimit, answer: func(line []byte) any {
			var r request
			if json.Unmarshal(line, &r) == nil && r.Op == opPause {
				return refuse(CodeEnding, "not here: it would stop what is below the test")
			}
			return g.answer(line)
		}}
		ours, theirs := net.Pipe()
		go s.hear(theirs)
		go func() {
			ours.Write(in)
			ours.SetWriteDeadline(time.Now())
			if !bytes.HasSuffix(in, []byte("\n")) {
				ours.SetWriteDeadline(time.Time{})
				ours.Write([]byte("\n"))
			}
		}()
		ours.SetReadDeadline(time.Now().Add(5 * time.Second))
		want := bytes.Count(in, []byte("\n"))
		if !bytes.HasSuffix(in, []byte("\n")) {
			want++
		}
		got := json.NewDecoder(ours)
		for range want {
			var r reply
			if err := got.Decode(&r); err != nil {
				if len(in) >= lineLimit {
					break
				}
				t.Fatalf("answer: %v", err)
			}
			if r.OK == (r.Error != nil) {
				t.Fatalf("answer is %+v", r)
			}
		}
		ours.Close()
	})
}
