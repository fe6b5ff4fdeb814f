package docker

import (
	"cmp"
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
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// CommandMain executes the docker command for an engine on another machine, over connections that notice
// when the engine is gone and ask for no password, and returns its exit status. args are --host, --certificates and
// --sockets as Config's Host, CertPath and SocketDir, --docker and --path with the docker command and the directories in
// which ssh is, --hold with a container to end there what the command executes when this process ends or no longer
// reaches the engine, two dashes, and the arguments of docker. The environment is for them.
func CommandMain(ctx context.Context, args []string, in, out, said *os.File) int {
	var c Config
	var docker, path, held string
	flags := flag.NewFlagSet("docker-elsewhere", flag.ContinueOnError)
	flags.SetOutput(said)
	flags.StringVar(&c.Host, "host", "", "")
	flags.StringVar(&c.CertPath, "certificates", "", "")
	flags.StringVar(&c.SocketDir, "sockets", "", "")
	flags.StringVar(&docker, "docker", "", "")
	flags.StringVar(&path, "path", "", "")
	flags.StringVar(&held, "hold", "", "")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if docker == "" {
		fmt.Fprintln(said, "agentform: the command docker, which is needed for attach and exec, is not on PATH: install it (docker.io, docker-ce-cli, brew install docker)")
		return shim.ExitNotFound
	}
	environ := os.Environ()
	if err := os.Setenv("PATH", path); err != nil {
		fmt.Fprintln(said, "agentform:", err)
		return failed
	}
	command := exec.Command(docker, handedOn(flags.Args(), environ)...)
	command.Stdin, command.Stdout, command.Stderr, command.Env = in, out, said, withoutTLS(environ)
	code, err := runElsewhere(ctx, c, held, command)
	if err != nil {
		fmt.Fprintln(said, "agentform:", err)
	}
	return code
}

// command returns the command line of the engine's client for this process to run. held is the container in
// which CommandMain ends what it executed; empty: in none.
func (c Config) command(held string) []string {
	if !c.forwards() {
		return c.client()
	}
	docker, _ := exec.LookPath("docker") // CommandMain reports that there is none
	return slices.Concat(c.Exec, []string{"--host", c.Host, "--certificates", c.certificateDir(), "--sockets", c.SocketDir,
		"--docker", docker, "--path", os.Getenv("PATH"), "--hold", held, "--"})
}

// tlsVariables make the docker command speak TLS, also to the socket.
var tlsVariables = []string{"DOCKER_TLS", "DOCKER_TLS_VERIFY"}

func withoutTLS(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(tlsVariables, name)
	})
}

// handedOn returns the arguments of docker exec with the values of those variables that the command would take from an
// environment that lacks them. They are no secrets.
func handedOn(args, environ []string) []string {
	args = slices.Clone(args)
	for i := 1; i+1 < len(args) && strings.HasPrefix(args[i], "-"); i++ {
		switch args[i] {
		case "-w":
			i++
		case "-e":
			i++
			at := slices.IndexFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, args[i]+"=") })
			if at >= 0 && slices.Contains(tlsVariables, args[i]) {
				args[i] = environ[at]
			}
		}
	}
	return args
}

// failed is the exit status of the docker command, and of this one, if the engine does not answer.
const failed = 125

func runElsewhere(ctx context.Context, c Config, held string, command *exec.Cmd) (int, error) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(signals)
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
	defer f.listener.Close()
	command.Args = slices.Insert(command.Args, 1, "-H", "unix://"+f.path)
	if held != "" {
		mark := rand.Text()
		command.Env = append(command.Env, shim.ClientVariable+"="+mark)
		// Without the init the terminal is attached all the same.
		defer shim.HoldThrough(ctx, mark, func(ctx context.Context, in io.Reader, out io.Writer) {
			_, _, _ = execute(ctx, client, held, in, out, []string{"/proc/1/exe", shim.RelayMode, shim.InitFolder + "/" + shim.InitSocket})
		})()
	}
	code, err := runAsTerminal(command, signals)
	if code == 0 {
		return 0, nil
	}
	return code, errors.Join(err, f.ended())
}

// runAsTerminal runs a command in this process's place, with its terminal, and returns its exit status.
func runAsTerminal(c *exec.Cmd, signals <-chan os.Signal) (int, error) {
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
	listener net.Listener
	dial     func(ctx context.Context, network, addr string) (net.Conn, error)

	mu  sync.Mutex
	err error // why the engine could not be reached any more
}

// forwardedSocket is how the name of a forwarder's socket begins.
const forwardedSocket = "docker-"

func forwardTo(c Config) (*forwarder, error) {
	dial, err := c.dialer()
	if err != nil {
		return nil, err
	}
	forgetSockets(c.SocketDir)
	f := &forwarder{path: filepath.Join(c.SocketDir, forwardedSocket+rand.Text()[:8]), dial: dial}
	if err := rundir.CheckSocket(f.path); err != nil {
		return nil, err
	}
	if f.listener, err = net.Listen("unix", f.path); err != nil { // in a directory of this user
		return nil, err
	}
	go f.serve()
	return f, nil
}

// forgetSockets removes the sockets of processes that were killed.
func forgetSockets(dir string) {
	old, _ := filepath.Glob(filepath.Join(dir, forwardedSocket+"*")) // the pattern is valid
	for _, path := range old {
		conn, err := net.Dial("unix", path)
		switch info, gone := os.Stat(path); {
		case err == nil:
			_ = conn.Close()
		case errors.Is(err, syscall.ECONNREFUSED) && gone == nil && time.Since(info.ModTime()) > time.Minute: // else it may not listen yet
			_ = os.Remove(path)
		}
	}
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

// forward passes one connection on. If it breaks, the docker command makes another one; if there is none, the engine is
// gone.
func (f *forwarder) forward(near net.Conn) {
	defer near.Close()
	far, err := f.dial(context.Background(), "", "")
	if err != nil {
		f.gone(err)
		_ = f.listener.Close()
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
	_, _ = io.Copy(near, &from)
	if ssh, is := errors.AsType[*sshError](from.err); is { // ssh connects only when it is read from
		f.gone(ssh)
	}
}

// source keeps the error with which a reader ends.
type source struct {
	io.Reader
	err error
}

func (r *source) Read(p []byte) (n int, err error) {
	n, err = r.Reader.Read(p)
	r.err = cmp.Or(r.err, err)
	return n, err
}

func (f *forwarder) gone(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = cmp.Or(f.err, err)
}

// ended returns why the engine is gone, or nil.
func (f *forwarder) ended() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return explain(f.err)
}
