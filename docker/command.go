package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/agentform/agentform/internal/shim"
)

// CommandMain executes the docker command for an engine on another machine, over connections that notice
// when the engine is gone and ask for no password, and returns its exit status. args are --host, --certificates and
// --sockets as Config's Host, CertPath and SocketDir, --hold with a container to end there what the command executes
// when this process ends or no longer reaches the engine, two dashes, and the arguments of docker.
func CommandMain(ctx context.Context, args []string, in, out, said *os.File) int {
	var c Config
	var held string
	flags := flag.NewFlagSet("docker-elsewhere", flag.ContinueOnError)
	flags.SetOutput(said)
	flags.StringVar(&c.Host, "host", "", "")
	flags.StringVar(&c.CertPath, "certificates", "", "")
	flags.StringVar(&c.SocketDir, "sockets", "", "")
	flags.StringVar(&held, "hold", "", "")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	command := exec.Command("docker")
	command.Stdin, command.Stdout, command.Stderr = in, out, said
	code, err := runElsewhere(ctx, c, held, command, flags.Args())
	if err != nil {
		fmt.Fprintln(said, "agentform:", err)
	}
	return code
}

// failed is the exit status of the docker command, and of this one, if the engine does not answer.
const failed = 125

func runElsewhere(ctx context.Context, c Config, held string, command *exec.Cmd, args []string) (int, error) {
	client, err := connectElsewhere(c)
	if err != nil {
		return failed, err
	}
	defer client.Close()
	limited, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if _, err := client.Ping(limited); err != nil {
		return failed, explain(err)
	}
	f, err := forwardTo(c)
	if err != nil {
		return failed, err
	}
	defer f.close()
	command.Args = append([]string{"docker", "-H", "unix://" + f.path}, args...)
	command.Env = withoutEngine(os.Environ())
	if held != "" {
		mark := rand.Text()
		command.Env = append(command.Env, shim.ClientVariable+"="+mark)
		// Without the init the terminal is attached all the same.
		defer shim.HoldThrough(ctx, mark, func(ctx context.Context, in io.Reader, out io.Writer) {
			_, _, _ = execute(ctx, client, held, in, out, []string{"/proc/1/exe", shim.RelayMode, shim.InitFolder + "/" + shim.InitSocket})
		})()
	}
	code, err := runAsTerminal(command)
	if code == 0 {
		return 0, nil
	}
	return code, errors.Join(err, f.ended())
}

// withoutEngine returns an environment without the variables that choose an engine.
func withoutEngine(environ []string) (left []string) {
	for _, kv := range environ {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "DOCKER_API_VERSION":
		default:
			left = append(left, kv)
		}
	}
	return left
}

// runAsTerminal runs a command in this process's place, with its terminal, and returns its exit status.
func runAsTerminal(c *exec.Cmd) (int, error) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := c.Start(); err != nil {
		return failed, err
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case s := <-signals:
				if s == syscall.SIGTERM || s == syscall.SIGHUP { // the terminal sends the others to both
					_ = c.Process.Signal(s)
				}
			case <-ended:
				return
			}
		}
	}()
	_ = c.Wait() // the state has how it ended
	if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return c.ProcessState.ExitCode(), nil
}

// forwarder passes the connections to a socket of this machine on to an engine elsewhere.
type forwarder struct {
	path     string
	dir      string
	listener net.Listener
	dial     func(ctx context.Context, network, addr string) (net.Conn, error)

	mu  sync.Mutex
	err error // of the first connection that broke
}

func forwardTo(c Config) (*forwarder, error) {
	dial, err := c.dialer()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "agentform-docker-") // with mode 0700
	if err != nil {
		return nil, err
	}
	f := &forwarder{path: filepath.Join(dir, "s"), dir: dir, dial: dial}
	if f.listener, err = net.Listen("unix", f.path); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	go f.serve()
	return f, nil
}

func (f *forwarder) serve() {
	for {
		near, err := f.listener.Accept()
		if err != nil { // closed
			return
		}
		go f.forward(near)
	}
}

func (f *forwarder) forward(near net.Conn) {
	defer near.Close()
	far, err := f.dial(context.Background(), "", "")
	if err != nil {
		f.broke(err)
		return
	}
	defer far.Close()
	go func() {
		_, _ = io.Copy(far, near) // an error ends the other direction, too
		if w, ok := far.(interface{ CloseWrite() error }); ok {
			_ = w.CloseWrite()
		}
	}()
	from := source{Reader: far}
	if _, _ = io.Copy(near, &from); from.err != nil { // what the command does not read does not matter
		f.broke(from.err)
	}
}

// source keeps the error with which a reader ends.
type source struct {
	io.Reader
	err error
}

func (r *source) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF && !errors.Is(err, net.ErrClosed) {
		r.err = err
	}
	return n, err
}

// broke ends the command, since the engine is gone: the listener takes no more connections.
func (f *forwarder) broke(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
	_ = f.listener.Close()
}

// ended returns why the engine is gone, or nil.
func (f *forwarder) ended() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return explain(f.err)
}

func (f *forwarder) close() {
	_ = f.listener.Close()
	_ = os.RemoveAll(f.dir) // in the directory for temporary files
}
