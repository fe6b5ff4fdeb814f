package docker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/docker/cli/cli/connhelper"
	"github.com/docker/docker/client"

	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

const (
	// dialTimeout bounds a connection to an engine on another machine, and the list of containers
	// on any engine. An engine that cannot be reached is reported within ten seconds.
	dialTimeout = 8 * time.Second
	// farExecs is how many commands an engine on another machine executes at once. sshd
	// accepts ten sessions in one connection (MaxSessions).
	farExecs, sshExecs = 32, 8
)

// elsewhere reports whether the engine is on another machine.
func (c Config) elsewhere() bool { return isElsewhere(c.Host) }

func isElsewhere(host string) bool { return (&session.DockerConfig{Host: host}).Elsewhere() }

// aliveness detects within eleven seconds that the other end of a connection is gone, even while a
// command is silent.
var aliveness = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}

// unansweredTimeout bounds how long what was sent may stay without an answer: the kernel sends no probes meanwhile.
const unansweredTimeout = 11 * time.Second

// unanswered sets that time for a socket: TCP_USER_TIMEOUT in milliseconds (tcp(7)) on Linux, and
// TCP_RXT_CONNDROPTIME in seconds (netinet/tcp.h) on macOS.
func unanswered(_, _ string, c syscall.RawConn) error {
	option, value := 0x12, int(unansweredTimeout/time.Millisecond)
	if runtime.GOOS == "darwin" {
		option, value = 0x80, int(unansweredTimeout/time.Second)
	}
	var err error
	if unset := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, option, value) }); unset != nil {
		return unset
	}
	return err
}

// anyEngine is the address that requests name: the dialer knows where they go.
const anyEngine = "engine:0"

// connectElsewhere returns a client of an engine on another machine.
func connectElsewhere(c Config) (engine, error) {
	dial, err := c.dialer()
	if err != nil {
		return nil, fmt.Errorf("docker: engine %s: %w", c.Host, err)
	}
	// The dialer encrypts both requests and the streams of commands. The client's own dialer for
	// streams has no timeout.
	return newClient(client.WithHost("tcp://"+anyEngine), client.WithDialContext(dial), client.WithAPIVersionNegotiation())
}

func (c Config) dialer() (func(ctx context.Context, network, addr string) (net.Conn, error), error) {
	if strings.HasPrefix(c.Host, "ssh://") {
		if _, err := exec.LookPath("ssh"); err != nil {
			return nil, errors.New("ssh is not on PATH: install openssh-client")
		}
		// BatchMode keeps ssh from asking for passwords on the terminal. The other connections
		// share the first, since each login takes as long.
		flags := []string{"-o", "BatchMode=yes", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=2", "-o", fmt.Sprintf("ConnectTimeout=%d", dialTimeout/time.Second)}
		// ssh replaces %C with 40 digits and appends 17 characters.
		if socket := filepath.Join(c.SocketDir, "ssh-"); rundir.CheckSocket(socket+strings.Repeat("x", 40+17)) == nil {
			flags = append(flags, "-o", "ControlMaster=auto", "-o", "ControlPersist=15", "-o", "ControlPath="+socket+"%C")
		}
		h, err := connhelper.GetConnectionHelperWithSSHOpts(c.Host, flags)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := h.Dialer(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return sshConn{conn}, nil
		}, nil
	}
	address, config, err := c.tls()
	if err != nil {
		return nil, err
	}
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTimeout, KeepAliveConfig: aliveness, Control: unanswered}, Config: config}
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		conn, err := d.DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, &dialError{c.Host, filepath.Join(c.certificateDir(), certificateFiles[0]), err}
		}
		return conn, nil
	}, nil
}

// sshConn is a connection through ssh, whose errors have what ssh said.
type sshConn struct{ net.Conn }

func (c sshConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, bySSH(err)
}

func (c sshConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, bySSH(err)
}

// CloseWrite says that nothing more is written.
func (c sshConn) CloseWrite() error {
	return c.Conn.(interface{ CloseWrite() error }).CloseWrite() // that of the connection helper has it
}

// bySSH returns an error that says how ssh ended as an *sshError.
func bySSH(err error) error {
	if err == nil {
		return nil
	}
	_, said, ended := strings.Cut(err.Error(), "command [ssh ") // the connection helper's errors have no type
	if !ended {
		return err
	}
	if _, after, ok := strings.Cut(said, "stderr="); ok {
		said = after
	}
	return &sshError{strings.Join(strings.Fields(said), " ")}
}

// sshError is what ssh, or the docker command at its other end, said before it ended. It does not wrap the error it
// was made of: Docker's client drops errors with "dial unix" in their text.
type sshError struct{ said string }

// Error returns that the connection ended; explain adds what was said.
func (e *sshError) Error() string { return "ssh has ended" }

// dialError is why an engine elsewhere cannot be reached. Docker's client drops the reason of
// errors such as a timeout or a refused connection.
type dialError struct {
	host string
	ca   string // the file with the CA of the engine's certificate
	err  error
}

// Error returns the reason.
func (e *dialError) Error() string {
	if errors.Is(e.err, syscall.ECONNREFUSED) {
		return "nothing listens on its port"
	}
	return e.err.Error()
}

// Unwrap returns the error of the connection.
func (e *dialError) Unwrap() error { return e.err }

// tls returns the address of an engine with TLS, and its TLS configuration.
func (c Config) tls() (address string, _ *tls.Config, err error) {
	u, err := url.Parse(c.Host)
	if err != nil {
		return "", nil, err
	}
	if u.Port() == "" {
		u.Host += ":2376"
	}
	own, err := c.readCertificates()
	if err != nil {
		return "", nil, err
	}
	return u.Host, &tls.Config{RootCAs: own.roots, Certificates: []tls.Certificate{own.pair}, MinVersion: tls.VersionTLS12, ServerName: u.Hostname()}, nil
}

// explainElsewhere adds a remedy to an error of a connection to another machine, or returns nil for
// another error.
func explainElsewhere(err error) error {
	text := err.Error()
	var verification *tls.CertificateVerificationError
	var dialing *net.OpError
	var unreachable *dialError
	var ended *sshError
	switch {
	case errors.As(err, &ended):
		return fmt.Errorf("docker: the engine cannot be reached by ssh: %s", sshAdvice(ended.said))
	case errors.As(err, &verification) && errors.As(err, &unreachable):
		return fmt.Errorf("docker: the engine's certificate is not accepted: %w (%s has to be of who signed it, and the host has to be a name in it)", verification.Err, unreachable.ca)
	case strings.Contains(text, "tls: ") && errors.As(err, &dialing) && dialing.Op == "remote error":
		return fmt.Errorf("docker: the engine does not accept the client's certificate: %w (cert.pem has to be signed by the engine's --tlscacert, and not to have expired)", dialing.Err)
	case strings.Contains(text, "first record does not look like a TLS handshake"):
		return errors.New("docker: the engine's port does not speak TLS: start the engine with --tlsverify")
	case errors.As(err, &unreachable):
		return fmt.Errorf("docker: the engine %s cannot be reached: %w", unreachable.host, unreachable)
	case strings.Contains(text, "Cannot connect to the Docker daemon at tcp://"+anyEngine): // the client drops the reason
		return errors.New("docker: no daemon answers on the engine's machine (start it there: sudo systemctl start docker)")
	case strings.Contains(text, "malformed HTTP"):
		return fmt.Errorf("docker: the machine of the engine prints a text before docker answers, %s: its shell must print nothing for commands by ssh (as its .bashrc may)", text[strings.LastIndex(text, "malformed HTTP"):])
	case strings.Contains(text, anyEngine):
		return fmt.Errorf("docker: the connection to the engine ended: %s", text[strings.LastIndex(text, ": ")+len(": "):])
	case errors.As(err, &dialing) && strings.HasPrefix(dialing.Net, "tcp"):
		return fmt.Errorf("docker: the connection to the engine ended: %w", dialing)
	}
	return nil
}

// sshAdvice returns what ssh or the remote shell said, with a remedy.
func sshAdvice(said string) string {
	remedy := "does ssh with that user and host work?"
	switch {
	case said == "":
		return "it ended without a message (" + remedy + ")"
	case strings.Contains(said, "HOST IDENTIFICATION HAS CHANGED"):
		return "its host key has changed (if that was expected: ssh-keygen -R HOST, and connect once with ssh)"
	case strings.Contains(said, "Permission denied (") || strings.Contains(said, "Too many authentication failures"):
		remedy = "add your key there: ssh-copy-id, or to the agent: ssh-add"
	case strings.Contains(said, "Host key verification failed"):
		remedy = "connect once with ssh and compare its key"
	case strings.Contains(said, "docker: not found"), strings.Contains(said, "docker: command not found"):
		remedy = "install docker there, on the PATH of commands by ssh"
	case strings.Contains(said, "permission denied"):
		remedy = "add the user to the group docker there, and wait 15 seconds for the end of its login"
	case strings.Contains(said, "Cannot connect to the Docker daemon"), strings.Contains(said, "dial-stdio"), strings.Contains(said, "dial unix"):
		remedy = "start the engine there: sudo systemctl start docker"
	}
	return said + " (" + remedy + ")"
}
