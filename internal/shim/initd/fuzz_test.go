package initd

import (
	"bytes"
	"encoding/json"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/internal/shim"
)

// FuzzRequest sends arbitrary lines to an init, which answers each with one JSON line, ok or a
// refusal, and terminates. Requests that start or end processes are left out; tests in a container
// cover them.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"op":"hello"}` + "\n" + `{"op":"secrets","run":"r"}`))
	f.Add([]byte(`{"op":"look","run_dir":"/nowhere","screen":true}`))
	f.Add([]byte("\n\n{}\n[]\nnull\n"))
	f.Add([]byte(`{"op":"begin","run_dir":"x","secrets":{"A":"b"},"held":["A"]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		synctest.Test(t, func(t *testing.T) {
			k := &container{own: map[int]bool{}}
			k.terminal.init = k
			s := &shim.Server{Limit: shim.LineLimit, Answer: func(line []byte) (any, *shim.Hold) {
				var q shim.InitRequest
				if json.Unmarshal(line, &q) == nil && (q.Op == shim.OpEnd || q.Op == shim.OpTmux || q.Op == shim.OpBegin || q.Op == shim.OpHold || q.Format != "") {
					return shim.Refuse(shim.CodeBusy, "not in this test"), nil
				}
				return k.answer(line)
			}}
			ours, theirs := net.Pipe()
			over := make(chan struct{})
			go func() {
				s.Handle(theirs)
				close(over)
			}()
			lines := append(bytes.TrimSuffix(in, []byte("\n")), '\n')
			ours.SetDeadline(time.Now().Add(10 * time.Second))
			go func() { _, _ = ours.Write(lines) }() // the init closes the connection after a line that is too long
			answers := json.NewDecoder(ours)
			for range bytes.Count(lines, []byte("\n")) {
				var r shim.InitReply
				if err := answers.Decode(&r); err != nil {
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
			<-over
		})
	})
}
