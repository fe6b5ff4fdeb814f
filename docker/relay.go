package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/agentform/agentform/internal/excerpt"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// dial connects to a socket in a container on another machine, through a relay that the engine
// executes there.
func (r *far) dial(id, program string) func(ctx context.Context, socket string) (shim.Conn, error) {
	return func(ctx context.Context, socket string) (shim.Conn, error) {
		c, err := r.engine()
		if err != nil {
			return nil, err
		}
		select {
		case r.relays <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		free := sync.OnceFunc(func() { <-r.relays })
		limited, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		_, stream, err := execStream(limited, c, id, true, []string{program, shim.RelayMode, socket})
		if err != nil {
			free()
			return nil, err
		}
		near, far := net.Pipe() // has deadlines, which an ssh connection lacks
		conn := &relayed{Conn: near, stream: stream, done: make(chan struct{})}
		go func() {
			defer close(conn.done)
			defer free()
			said := excerpt.Tail{Limit: 300}
			if _, conn.err = stdcopy.StdCopy(far, &said, stream.Reader); conn.err == nil && said.String() != "" {
				conn.err = fmt.Errorf("%s: %w", strings.TrimSpace(said.String()), syscall.ECONNREFUSED)
			}
			_ = far.Close()
			stream.Close()
		}()
		go func() {
			_, _ = io.Copy(stream.Conn, far) // ends when either end is closed
			_ = stream.CloseWrite()
		}()
		return conn, nil
	}
}

// relayed is a connection through a relay.
type relayed struct {
	net.Conn
	stream types.HijackedResponse
	done   chan struct{} // closed when the relay has ended
	err    error         // of the relay, once done is closed
}

// Read reads from the relay. If the relay has ended, it returns the relay's error.
func (c *relayed) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, c.why(err)
}

// Write writes to the relay. If the relay has ended, it returns the relay's error.
func (c *relayed) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, c.why(err)
}

func (c *relayed) why(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		<-c.done
		return cmp.Or(c.err, err)
	}
	return err
}

// Close ends the relay.
func (c *relayed) Close() error {
	err := c.Conn.Close()
	c.stream.Close()
	<-c.done
	return err
}

// execStream executes a command in a container, and returns its id and its streams.
func execStream(ctx context.Context, c engine, id string, stdin bool, argv []string) (string, types.HijackedResponse, error) {
	made, err := c.ContainerExecCreate(ctx, id, container.ExecOptions{AttachStdin: stdin, AttachStdout: true, AttachStderr: true, Cmd: argv})
	if err != nil {
		return "", types.HijackedResponse{}, explain(err)
	}
	a, err := c.ContainerExecAttach(ctx, made.ID, container.ExecAttachOptions{})
	return made.ID, a, explain(err)
}

// execute executes a command in a container, and returns how it ended and the end of its standard
// error.
func execute(ctx context.Context, c engine, id string, stdin io.Reader, stdout io.Writer, argv []string) (done container.ExecInspect, said string, err error) {
	command, a, err := execStream(ctx, c, id, stdin != nil, argv)
	if err != nil {
		return done, "", err
	}
	if said, err = copyStreams(ctx, a, stdin, stdout); err != nil {
		return done, said, err
	}
	done, err = c.ContainerExecInspect(ctx, command)
	return done, said, explain(err)
}

// relayTimeout bounds a command that copies a workspace.
const relayTimeout = 30 * time.Minute

// execIn executes a command in a running container, with standard input and output.
func (r *far) execIn(ctx context.Context, id string, stdin io.Reader, stdout io.Writer, argv []string) error {
	ctx, cancel := context.WithTimeout(ctx, relayTimeout)
	defer cancel()
	c, err := r.engine()
	if err != nil {
		return err
	}
	done, said, err := execute(ctx, c, id, stdin, stdout, argv)
	if err != nil {
		return err
	}
	if done.Running {
		return session.Unreachable(errors.New("the connection to the engine ended before the command did"))
	}
	return exitError(int64(done.ExitCode), said)
}

func exitError(code int64, said string) error {
	if code == 0 {
		return nil
	}
	return fmt.Errorf("exit status %d: %s", code, said)
}

// copyStreams copies the streams of a command until it closes its output, and returns the end of
// its standard error.
func copyStreams(ctx context.Context, a types.HijackedResponse, stdin io.Reader, stdout io.Writer) (string, error) {
	defer a.Close()
	defer context.AfterFunc(ctx, a.Close)()
	sent := make(chan struct{})
	go func() { // the command may print before it reads
		defer close(sent)
		if stdin != nil { // unread input does not matter: the exit status does
			_, _ = io.Copy(a.Conn, stdin)
			_ = a.CloseWrite()
		}
	}()
	said := excerpt.Tail{Limit: session.TailLimit}
	_, err := stdcopy.StdCopy(stdout, &said, a.Reader)
	a.Close()
	<-sent
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return strings.TrimSpace(said.String()), explain(err)
}
