package docker

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// TestAnswering checks that only the first answer on a connection has a timeout: a command may be
// silent later.
func TestAnswering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		began, c := time.Now(), &answering{Conn: near}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != answerTimeout {
			t.Errorf("without an answer: %v after %s", err, time.Since(began))
		}
		go func() {
			_, _ = far.Write([]byte("x"))
			time.Sleep(2 * answerTimeout)
			_, _ = far.Write([]byte("x"))
		}()
		for i := range 2 {
			if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
				t.Errorf("answer %d: %d bytes, %v", i, n, err)
			}
		}
	})
}
