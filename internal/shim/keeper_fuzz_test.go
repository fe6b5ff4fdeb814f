package shim

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"testing"
	"time"
)

// FuzzKeeperReply: whatever a keeper answers is an error, or what a keeper may say.
func FuzzKeeperReply(f *testing.F) {
	f.Add([]byte(`{"ok":true,"protocol":1}`))
	f.Add([]byte(`{"ok":true,"seen":{"process":{"pid":7,"start":1},"exit":{"cause":"self","code":3},"row":"%0 1"}}`))
	f.Add([]byte(`{"ok":true,"tmux":{"code":1,"stdout":"","stderr":"can't find session"}}`))
	f.Add([]byte(`{"error":{"code":"busy","message":"a run\nis under way"}}`))
	f.Fuzz(func(t *testing.T, said []byte) {
		r, err := readReply(bytes.NewReader(said), lookLine)
		if err != nil {
			if refusal, ok := errors.AsType[*Error](err); ok && len(refusal.Message) > 4*refusalLimit {
				t.Errorf("a refusal of %d bytes", len(refusal.Message))
			}
			return
		}
		if !r.OK {
			t.Errorf("no error, and not done: %+v", r)
		}
		if in := r.Seen; in != nil && in.check() == nil {
			if in.Process.PID < 0 || len(in.BootID) > bootIDLimit || in.Exit != nil && !known(in.Exit.Cause) {
				t.Errorf("it is believed that %+v", in)
			}
		}
	})
}

// FuzzKeeperRequest sends anything to a keeper: it answers each line with one JSON
// line that is either ok or a refusal, and comes to an end. What would start or end
// processes is left out; that is for tests in a container.
func FuzzKeeperRequest(f *testing.F) {
	f.Add([]byte(`{"op":"hello"}` + "\n" + `{"op":"secrets","run":"r"}`))
	f.Add([]byte(`{"op":"look","run_dir":"/nowhere","screen":true}`))
	f.Add([]byte("\n\n{}\n[]\nnull\n"))
	f.Add([]byte(`{"op":"begin","run_dir":"x","secrets":{"A":"b"},"held":["A"]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		k := &keeper{own: map[int]bool{}}
		k.terminal.keeper = k
		s := &server{limit: lineLimit, answer: func(line []byte) any {
			var q keeperRequest
			if json.Unmarshal(line, &q) == nil && (q.Op == opEnd || q.Op == opTmux || q.Op == opBegin || q.Op == opHold || q.Format != "") {
				return refuse(CodeBusy, "not in this test")
			}
			return k.answer(line)
		}}
		ours, theirs := net.Pipe()
		over := make(chan struct{})
		go func() {
			s.hear(theirs)
			close(over)
		}()
		lines := append(bytes.TrimSuffix(in, []byte("\n")), '\n')
		ours.SetDeadline(time.Now().Add(10 * time.Second))
		go func() { _, _ = ours.Write(lines) }() // it is hung up on after a line that is too long
		answers := json.NewDecoder(ours)
		for range bytes.Count(lines, []byte("\n")) {
			var r keeperReply
			if err := answers.Decode(&r); err != nil {
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
		<-over
	})
}
