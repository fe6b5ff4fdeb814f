package program

import (
	"bytes"
	"encoding/json"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// FuzzProtocol sends arbitrary lines to the server, which must answer each with one JSON line, ok
// or an error, and terminate.
func FuzzProtocol(f *testing.F) {
	f.Add([]byte(`{"op":"hello"}` + "\n" + `{"op":"stop","grace_ns":5}` + "\n"))
	f.Add([]byte("\n\n{}\n[]\nnull\n"))
	f.Add([]byte(`{"op":"set","timeout_ns":-1,"signal":"SIG"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		synctest.Test(t, func(t *testing.T) {
			g := &run{config: rundir.Config{Run: "fuzz"}, cause: rundir.CauseSelf, done: make(chan struct{}), changed: make(chan struct{}, 1)}
			close(g.done)
			g.deadline = time.Now() // already ending: a stop sends no signal
			s := &shim.Server{Limit: shim.LineLimit, Answer: func(line []byte) (any, *shim.Hold) {
				var r shim.Request
				if json.Unmarshal(line, &r) == nil && r.Op == shim.OpPause {
					return shim.Refuse(shim.CodeEnding, "not here: it would stop what is below the test"), nil
				}
				return g.answer(line)
			}}
			ours, theirs := net.Pipe()
			go s.Handle(theirs)
			go func() {
				ours.Write(in)
				ours.SetWriteDeadline(time.Now())
				if !bytes.HasSuffix(in, []byte("\n")) {
					ours.SetWriteDeadline(time.Time{})
					ours.Write([]byte("\n"))
				}
			}()
			ours.SetReadDeadline(time.Now().Add(time.Minute))
			want := bytes.Count(in, []byte("\n"))
			if !bytes.HasSuffix(in, []byte("\n")) {
				want++
			}
			got := json.NewDecoder(ours)
			for range want {
				var r shim.Reply
				if err := got.Decode(&r); err != nil {
					if len(in) >= shim.LineLimit {
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
	})
}
