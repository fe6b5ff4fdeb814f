package shim

import (
	"bufio"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestHoldOfSilentClient checks that what a client holds is released once the client has been silent for as
// long as it may be, and not before.
func TestHoldOfSilentClient(t *testing.T) {
	for name, silence := range map[string]time.Duration{"limited": 20 * time.Second, "without a limit": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var released atomic.Bool
				s := &Server{Limit: LineLimit, Answer: func([]byte) (any, *Hold) {
					return InitReply{OK: true}, &Hold{Silence: silence, Release: func() { released.Store(true) }}
				}}
				ours, theirs := net.Pipe()
				go s.Handle(theirs)
				replies := bufio.NewReader(ours)
				for range 3 {
					if _, err := ours.Write([]byte("{}\n")); err != nil {
						t.Fatal(err)
					}
					if _, err := replies.ReadString('\n'); err != nil {
						t.Fatal(err)
					}
					time.Sleep(19 * time.Second)
					synctest.Wait()
					if released.Load() {
						t.Fatal("it was released while the client spoke")
					}
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if released.Load() != (silence > 0) {
					t.Errorf("after an hour released is %t", released.Load())
				}
				ours.Close()
				synctest.Wait()
				if !released.Load() {
					t.Error("it was not released when the connection was closed")
				}
			})
		})
	}
}
