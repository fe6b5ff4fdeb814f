// Package postgres starts a PostgreSQL server for a test.
package postgres

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/agentform/agentform/internal/test/wait"
)

// Password is that of the server's superuser, postgres.
const Password = "s3cret"

// Start starts a server on loopback that ends with the test, and returns its address,
// host:port.
func Start(t *testing.T) (address string) {
	t.Helper()
	bin := programs(t)
	dir, err := os.MkdirTemp("", "pg") // short, for the socket in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	account := account(t, dir)

	passwords := filepath.Join(dir, "password")
	if err := os.WriteFile(passwords, []byte(Password), 0o644); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "--pgdata", data, "--username", "postgres",
		"--auth", "scram-sha-256", "--pwfile", passwords, "--encoding", "UTF8", "--locale", "C", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = dir, account
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}

	one := &server{bin: bin, dir: dir, account: account, port: strconv.Itoa(freePort(t))}
	one.start(t)
	t.Cleanup(func() {
		one.stop()
		if t.Failed() {
			t.Logf("postgres:\n%s", &one.log)
		}
	})
	address = net.JoinHostPort("127.0.0.1", one.port)
	servers.Store(address, one)
	return address
}

// Stop ends the server at an address at once, as a crash does. start starts it again.
func Stop(t *testing.T, address string) (start func()) {
	t.Helper()
	one, _ := servers.Load(address)
	one.(*server).stop()
	return func() { one.(*server).start(t) }
}

// servers are the servers of this process, by address.
var servers sync.Map

type server struct {
	bin, dir, port string
	account        *syscall.SysProcAttr
	log            bytes.Buffer
	input          io.Closer
	process        *exec.Cmd
}

func (s *server) start(t *testing.T) {
	t.Helper()
	// The shell ends the server also when this process is killed: its input ends then.
	s.process = exec.Command("sh", "-c", `"$@" & read -r _; kill -QUIT $!; wait`, "sh",
		filepath.Join(s.bin, "postgres"), "-D", filepath.Join(s.dir, "data"), "-h", "127.0.0.1", "-p", s.port, "-k", s.dir, "-c", "fsync=off", "-c", "max_connections=1000")
	s.process.Dir, s.process.SysProcAttr, s.process.Stdout, s.process.Stderr = s.dir, s.account, &s.log, &s.log
	input, err := s.process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.input = input
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "postgres is ready", func() (any, bool) {
		out, err := exec.Command(filepath.Join(s.bin, "pg_isready"), "-h", "127.0.0.1", "-p", s.port).CombinedOutput()
		return string(out), err == nil
	})
}

func (s *server) stop() {
	s.input.Close()
	_ = s.process.Wait()
}

// programs returns where PostgreSQL is. Debian has it outside of PATH.
func programs(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); len(found) == 0 && err == nil {
		found = []string{path}
	}
	if len(found) == 0 {
		t.Fatal("PostgreSQL is missing: apt-get install postgresql")
	}
	return filepath.Dir(found[len(found)-1])
}

// account gives dir to the account that the server runs as, since PostgreSQL refuses root.
func account(t *testing.T, dir string) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	var as *user.User
	var err error
	for _, name := range []string{"postgres", "nobody"} {
		if as, err = user.Lookup(name); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(as.Uid)
	gid, _ := strconv.Atoi(as.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// ConnStr returns the connection string of the superuser.
func ConnStr(address string) string {
	return fmt.Sprintf("postgres://postgres:%s@%s/postgres?sslmode=disable", Password, address)
}
