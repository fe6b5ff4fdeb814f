// Package postgres starts a PostgreSQL server for a test.
package postgres

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
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

	port := freePort(t)
	// The shell ends the server also when this process is killed: its input ends then.
	server := exec.Command("sh", "-c", `"$@" & read -r _; kill -QUIT $!; wait`, "sh",
		filepath.Join(bin, "postgres"), "-D", data, "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-k", dir, "-c", "fsync=off", "-c", "max_connections=1000")
	var log bytes.Buffer
	server.Dir, server.SysProcAttr, server.Stdout, server.Stderr = dir, account, &log, &log
	input, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		input.Close()
		_ = server.Wait()
		if t.Failed() {
			t.Logf("postgres:\n%s", &log)
		}
	})

	address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	wait.For(t, "postgres is ready", func() (any, bool) {
		out, err := exec.Command(filepath.Join(bin, "pg_isready"), "-h", "127.0.0.1", "-p", strconv.Itoa(port)).CombinedOutput()
		return string(out), err == nil
	})
	return address
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
