package docker

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/client"
)

// ended is a connection whose command has ended.
type ended struct {
	net.Conn
	said string
}

func (c ended) Read([]byte) (int, error) {
	return 0, errors.New("command [ssh -l ada -- build docker system dial-stdio] has exited with exit status 1, make sure the URL is valid: stderr=" + c.said)
}

func (ended) Write(p []byte) (int, error)     { return len(p), nil }
func (ended) Close() error                    { return nil }
func (ended) SetReadDeadline(time.Time) error { return nil }

// answers is a connection on which something else answers.
type answers struct {
	ended
	text *strings.Reader
}

func (c answers) Read(p []byte) (int, error) { return c.text.Read(p) }

// TestSSHReasons checks that whoever reaches no engine by ssh learns what was said at the other end, and what to do.
func TestSSHReasons(t *testing.T) {
	for said, want := range map[string]string{
		"":                         "ended without a message",
		"sh: 1: docker: not found": "install docker there",
		"ada@build: Permission denied (publickey)":                                                "ssh-copy-id",
		"@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@\nHost key verification failed.": "ssh-keygen -R",
		"dial unix /run/docker.sock: connect: permission denied":                                  "group docker",
		"dial unix /run/docker.sock: connect: no such file or directory":                          "systemctl start docker",
		"connect to host build port 22: connection refused":                                       "port 22: connection refused",
	} {
		if err := reach(t, sshConn{ended{said: said}}); !strings.Contains(err.Error(), "by ssh: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", said, err, want)
		}
	}
	err := reach(t, sshConn{answers{text: strings.NewReader("welcome to build\n")}})
	if !strings.Contains(err.Error(), `malformed HTTP status code "to"`) || !strings.Contains(err.Error(), ".bashrc") {
		t.Error(err)
	}
}

// reach returns the error of a request to an engine over a connection.
func reach(t *testing.T, conn net.Conn) error {
	t.Helper()
	c, err := newClient(client.WithHost("tcp://"+anyEngine), client.WithDialContext(func(context.Context, string, string) (net.Conn, error) { return conn, nil }))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err = c.ServerVersion(t.Context()); err == nil {
		t.Fatal("there is an engine")
	}
	return explain(err)
}
