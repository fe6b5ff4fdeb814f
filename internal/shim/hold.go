package shim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/sleep"
)

// Hold makes the init end the processes of a client when the returned connection is closed.
func (k Init) Hold(client string) (*os.File, error) {
	ctx, cancel := context.WithTimeout(context.Background(), AnswerTimeout)
	defer cancel()
	conn, _, err := k.open(ctx, AnswerTimeout, lookLine, InitRequest{Op: OpHold, Client: client})
	if err != nil {
		return nil, err
	}
	file, ok := conn.(*os.File)
	if !ok {
		return nil, errors.Join(errors.New("the init is on another machine"), conn.Close())
	}
	return file, nil
}

const (
	// beat is how often a client on another machine says that it is there, and longestSilence how long the
	// init waits for that before it ends the client's processes.
	beat, longestSilence = 5 * time.Second, 20 * time.Second
	// holdTimeout bounds how long a terminal waits until the init watches over it.
	holdTimeout = 5 * time.Second
)

// HoldThrough is Hold for an init on another machine: it ends the processes of the client when release is called,
// when this process has ended, or when it no longer reaches the init. relay connects two streams to the init's
// socket until one of them or its context ends. If the init does not answer in time, HoldThrough returns all
// the same.
func HoldThrough(ctx context.Context, client string, relay func(ctx context.Context, in io.Reader, out io.Writer)) (release func()) {
	ctx, cancel := context.WithCancel(ctx)
	reader, writer := io.Pipe()
	answered := make(chan struct{})
	go func() {
		defer cancel() // the beat ends
		relay(ctx, reader, &firstLine{arrived: sync.OnceFunc(func() { close(answered) })})
	}()
	go func() {
		requests := json.NewEncoder(writer) // a line each
		next := InitRequest{Op: OpHold, Client: client, Silence: longestSilence}
		for requests.Encode(next) == nil && sleep.For(ctx, beat) {
			next = InitRequest{Op: OpHello}
		}
		_ = writer.Close()
	}()
	select {
	case <-answered:
	case <-ctx.Done():
	case <-time.After(holdTimeout):
	}
	return func() {
		cancel()
		_ = reader.Close()
	}
}

// firstLine is a writer that reports the end of the first line, and drops everything.
type firstLine struct{ arrived func() }

func (w *firstLine) Write(p []byte) (int, error) {
	if bytes.IndexByte(p, '\n') >= 0 {
		w.arrived()
	}
	return len(p), nil
}
