// Package gitserver serves git repositories over HTTP with basic authentication, by git's own
// http-backend.
package gitserver

import (
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Server is a server with one repository, shop.git.
type Server struct {
	URL string // of the repository, without a user
	Dir string // the repository: bare, with one commit on main
}

// Start serves until the test ends, on an address of this machine. password guards the
// repository; empty: everybody reads and writes.
func Start(t testing.TB, address, password string) Server {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "shop.git")
	work := t.TempDir()
	Git(t, root, "init", "-q", "--bare", "-b", "main", dir)
	Git(t, dir, "config", "http.receivepack", "true")
	Git(t, dir, "config", "uploadpack.allowReachableSHA1InWant", "true")
	Git(t, work, "init", "-q", "-b", "main", ".")
	if err := os.WriteFile(filepath.Join(work, "README"), []byte("shop\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	Git(t, work, "add", "README")
	Git(t, work, "commit", "-q", "-m", "first")
	Git(t, work, "push", "-q", dir, "main")
	backend, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	git := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(backend)), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=agent"}}
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if user, given, ok := q.BasicAuth(); password != "" && (!ok || user == "" || given != password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="shop"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		git.ServeHTTP(w, q)
	}))
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return Server{URL: s.URL + "/shop.git", Dir: dir}
}

// Git runs git in a directory and returns what it prints.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=tester", "-c", "user.email=tester@example.invalid"}, args...)...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}
