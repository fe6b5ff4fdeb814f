//go:build real

package docker_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/session"
)

// TestElsewhereErrors checks that an engine elsewhere that cannot be reached is reported within ten
// seconds, with a remedy.
func TestElsewhereErrors(t *testing.T) {
	f, err := far()
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	if err := dockertest.Certify(filepath.Join(other, "certs"), "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	mixed := t.TempDir() // the engine's CA, and a client certificate of another engine
	for name, from := range map[string]string{"ca.pem": f.Certs, "cert.pem": filepath.Join(other, "certs"), "key.pem": filepath.Join(other, "certs")} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(mixed, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ip, _, _ := strings.Cut(f.Address, ":")
	for name, c := range map[string]struct{ host, certs, want string }{
		"another CA":              {"tcp://" + f.Address, filepath.Join(other, "certs"), "the engine's certificate is not accepted"},
		"a foreign certificate":   {"tcp://" + f.Address, mixed, "does not accept the client's certificate"},
		"no such directory":       {"tcp://" + f.Address, "/none", "/none/ca.pem: no such file"},
		"nobody listens":          {"tcp://" + ip + ":1", f.Certs, "nothing listens on its port"},
		"no such host":            {"tcp://none.invalid:2376", f.Certs, "tcp://none.invalid:2376 cannot be reached: "},
		"ssh, nobody listens":     {"ssh://root@127.0.0.1:1", "", "cannot be reached by ssh"},
		"ssh, no such user":       {strings.Replace(f.SSH, "root@", "none@", 1), "", "ssh-copy-id"},
		"ssh, no engine there":    {f.SSH + ".none", "", "sudo systemctl start docker"},
		"ssh, another host's key": {strings.Replace(f.SSH, "127.0.0.1", "localhost", 1), "", "Host key verification failed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := docker.New(docker.Config{Host: c.host, CertPath: c.certs, SocketDir: t.TempDir(), DataDir: t.TempDir()})
			defer r.Close()
			began := time.Now()
			_, err := r.Observe(t.Context(), false)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if is, want := errors.Is(err, session.ErrUnreachable), name != "no such directory"; is != want {
				t.Errorf("%v is unreachable: %v, want %v", err, is, want)
			}
			t.Logf("told after %v", time.Since(began))
		})
	}
}
