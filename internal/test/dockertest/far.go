package dockertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Far is an engine as on another machine: a dockerd in a network namespace of its own, which
// answers by TLS there, and an sshd beside it. Both need root.
type Far struct {
	*Engine
	Address string // IP:PORT with TLS
	Certs   string // a directory as in DOCKER_CERT_PATH
	SSH     string // a URL; programs that find ssh in Bin have its key
	Bin     string
	Near    string // the address of this machine that containers with the network host reach
	netns   string
	sshd    *exec.Cmd
}

// StartFar starts an engine elsewhere. Call Close to end it.
func StartFar() (f *Far, err error) {
	for _, program := range []string{"ip", "nsenter", "dockerd", "/usr/sbin/sshd", "ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%w: the test of an engine elsewhere needs it: apt-get install iproute2 util-linux docker.io openssh-server openssh-client", err)
		}
	}
	dir, err := os.MkdirTemp("", "afe")
	if err != nil {
		return nil, err
	}
	f = &Far{Engine: &Engine{dir: dir}, Certs: filepath.Join(dir, "certs"), Bin: filepath.Join(dir, "bin")}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	ip, err := f.network()
	if err != nil {
		return f, err
	}
	f.Address = net.JoinHostPort(ip, "2376")
	if err := Certify(f.Certs, ip); err != nil {
		return f, err
	}
	if err := f.Start(); err != nil {
		return f, err
	}
	return f, f.serveSSH()
}

// Start starts the engine again, after Kill.
func (f *Far) Start() error {
	f.prefix = []string{"nsenter", "--net=/run/netns/" + f.netns}
	file := func(name string) string { return filepath.Join(f.Certs, name) }
	return f.Engine.Start("--host", "tcp://"+f.Address, "--tlsverify", "--tlscacert", file("ca.pem"), "--tlscert", file("server.pem"), "--tlskey", file("server-key.pem"), "--live-restore")
}

// network makes the namespace and a pair of interfaces, and returns the address within.
func (f *Far) network() (ip string, err error) {
	// A network of its own for each: the first that no other engine has.
	var n int
	for try := range 100 {
		n = (os.Getpid() + try) % (64 * 256)
		f.netns = "af" + strconv.Itoa(n)
		if err = do("ip", "netns", "add", f.netns); err == nil {
			break
		}
		f.netns = ""
	}
	if err != nil {
		return "", err
	}
	b := fmt.Sprintf("10.%d.%d.2", 192+n/256, n%256)
	f.Near = fmt.Sprintf("10.%d.%d.1", 192+n/256, n%256)
	for _, args := range [][]string{
		{"link", "add", f.netns + "a", "type", "veth", "peer", "name", f.netns + "b", "netns", f.netns},
		{"addr", "add", f.Near + "/30", "dev", f.netns + "a"},
		{"link", "set", f.netns + "a", "up"},
		{"-n", f.netns, "addr", "add", b + "/30", "dev", f.netns + "b"},
		{"-n", f.netns, "link", "set", f.netns + "b", "up"},
		{"-n", f.netns, "link", "set", "lo", "up"},
	} {
		if err := do("ip", args...); err != nil {
			return "", err
		}
	}
	return b, nil
}

// Cut ends all traffic to the engine, and Heal lets it through again. Connections stay. The
// far end is cut: without a route, packets would go to wherever others go.
func (f *Far) Cut() error { return do("ip", "-n", f.netns, "link", "set", f.netns+"b", "down") }

// Heal undoes Cut.
func (f *Far) Heal() error { return do("ip", "-n", f.netns, "link", "set", f.netns+"b", "up") }

func do(program string, args ...string) error {
	out, err := asRoot(append([]string{program}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %v: %w: %s", program, args, err, out)
	}
	return nil
}

// Close ends the engine and removes all of it.
func (f *Far) Close() (err error) {
	if f.sshd != nil {
		err = errors.Join(f.sshd.Process.Kill())
		_ = f.sshd.Wait() // it was killed
	}
	if f.command != nil || f.prefix != nil {
		if f.command == nil {
			err = errors.Join(err, f.Start())
		}
		err = errors.Join(err, f.Engine.Close())
	}
	if f.netns != "" {
		err = errors.Join(err, do("ip", "netns", "del", f.netns))
	}
	return errors.Join(err, os.RemoveAll(f.dir))
}

// serveSSH starts an sshd on the loopback, with keys of its own.
func (f *Far) serveSSH() error {
	dir := filepath.Join(f.dir, "ssh")
	for _, d := range []string{dir, f.Bin} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	for _, key := range []string{"host", "user"} {
		if err := do("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	host, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err != nil {
		return err
	}
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		return err
	}
	for path, text := range map[string]string{
		// With HOME the shell reads no settings of the user's, of which a killed command may
		// leave locks.
		dir + "/sshd_config": fmt.Sprintf("SetEnv HOME=%s\nPort %d\nListenAddress 127.0.0.1\nHostKey %s/host\nAuthorizedKeysFile %s/user.pub\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\nMaxStartups 100\n", dir, port, dir, dir),
		dir + "/known_hosts": fmt.Sprintf("[127.0.0.1]:%d %s", port, host),
		dir + "/config":      fmt.Sprintf("IdentityFile %s/user\nIdentitiesOnly yes\nUserKnownHostsFile %s/known_hosts\nStrictHostKeyChecking yes\n", dir, dir),
		// ssh reads the settings of the user whom the system knows, whatever HOME is.
		f.Bin + "/ssh": fmt.Sprintf("#!/bin/sh\nexec %s -F %s/config \"$@\"\n", ssh, dir),
	} {
		mode := os.FileMode(0o600)
		if path == f.Bin+"/ssh" {
			mode = 0o700
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			return err
		}
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	f.sshd = exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(dir, "sshd_config"))
	f.sshd.Stderr = log
	if err := f.sshd.Start(); err != nil {
		return err
	}
	f.SSH = fmt.Sprintf("ssh://root@127.0.0.1:%d%s", port, filepath.Join(f.dir, "s"))
	for end := time.Now().Add(engineTimeout); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return c.Close()
		}
		if time.Now().After(end) {
			said, _ := os.ReadFile(log.Name())
			return fmt.Errorf("start sshd: %w\n%s", err, said)
		}
	}
}

// Certify makes a CA, a certificate of the engine at ip and of its client.
func Certify(dir, ip string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	now := time.Now()
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if err := sign(filepath.Join(dir, "ca.pem"), "", ca, ca, caKey, caKey); err != nil {
		return err
	}
	for n, c := range []struct {
		cert, key string
		usage     x509.ExtKeyUsage
	}{{"server.pem", "server-key.pem", x509.ExtKeyUsageServerAuth}, {"cert.pem", "key.pem", x509.ExtKeyUsageClientAuth}} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return err
		}
		of := &x509.Certificate{SerialNumber: big.NewInt(int64(n + 2)), Subject: pkix.Name{CommonName: "test"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
			ExtKeyUsage: []x509.ExtKeyUsage{c.usage}, IPAddresses: []net.IP{net.ParseIP(ip), net.IPv4(127, 0, 0, 1)}}
		if err := sign(filepath.Join(dir, c.cert), filepath.Join(dir, c.key), of, ca, key, caKey); err != nil {
			return err
		}
	}
	return nil
}

// sign writes a certificate, and its key unless that file is empty.
func sign(file, keyFile string, of, by *x509.Certificate, key, byKey *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, of, by, &key.PublicKey, byKey)
	if err == nil {
		err = os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
	}
	if err != nil || keyFile == "" {
		return err
	}
	if der, err = x509.MarshalECPrivateKey(key); err != nil {
		return err
	}
	return os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}
