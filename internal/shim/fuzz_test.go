package shim

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/agentform/agentform/internal/shim/rundir"
)

// FuzzInitReply checks that any answer of an init is an error or a valid reply.
func FuzzInitReply(f *testing.F) {
	f.Add([]byte(`{"ok":true,"protocol":1}`))
	f.Add([]byte(`{"ok":true,"seen":{"process":{"pid":7,"start":1},"exit":{"cause":"self","code":3},"row":"%0 1"}}`))
	f.Add([]byte(`{"ok":true,"tmux":{"code":1,"stdout":"","stderr":"can't find session"}}`))
	f.Add([]byte(`{"error":{"code":"busy","message":"a run\nis under way"}}`))
	f.Fuzz(func(t *testing.T, said []byte) {
		var r InitReply
		if json.Unmarshal(said, &r) != nil {
			return
		}
		if err := r.check(OpInspect); err != nil {
			if refusal, ok := errors.AsType[*Error](err); ok && len(refusal.Message) > 4*refusalLimit {
				t.Errorf("a refusal of %d bytes", len(refusal.Message))
			}
			return
		}
		if !r.OK {
			t.Errorf("no error, and not done: %+v", r)
		}
		if in := r.Seen; in != nil {
			if in.Process.PID < 0 || len(in.BootID) > bootIDLimit || in.Exit != nil && !rundir.KnownCause(in.Exit.Cause) {
				t.Errorf("it is believed that %+v", in)
			}
		}
	})
}
