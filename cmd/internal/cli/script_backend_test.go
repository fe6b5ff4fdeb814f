//go:build real

package cli_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync/atomic"

	"filippo.io/age"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentform/agentform/internal/test/stateserver"
)

// stateserver VARIABLE: a server of Terraform's protocol for states, whose address is in a
// variable. GET of ADDRESS/down makes it answer 503 to all else, and ADDRESS/up ends that.
func startStateServer(ts *testscript.TestScript, neg bool, args []string) {
	states := stateserver.New()
	var down atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/down", r.URL.Path == "/up":
			down.Store(r.URL.Path == "/down")
		case down.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			states.ServeHTTP(w, r)
		}
	}))
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}

// s3server VARIABLE: a store with the bucket team, whose address is in a variable.
func startS3(ts *testscript.TestScript, neg bool, args []string) {
	memory := s3mem.New()
	ts.Check(memory.CreateBucket("team"))
	s := httptest.NewServer(gofakes3.New(memory).Server())
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
	ts.Setenv("AWS_ACCESS_KEY_ID", "key")
	ts.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
}

// freeport VARIABLE…: sets variables to ports that nobody listens at. A hub that others reach
// must know its own before it listens. The ports are below those that the kernel gives to
// others by itself, so that they stay free.
func freePort(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		for {
			port := strconv.Itoa(20000 + (os.Getpid()*101+int(ports.Add(1)))%12000)
			if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
				ts.Check(l.Close())
				ts.Setenv(name, port)
				break
			}
		}
	}
}

// ports counts the ports that freePort has tried.
var ports atomic.Int32

// agekey PUBLIC SECRET: sets two variables to a key pair of age.
func ageKey(ts *testscript.TestScript, neg bool, args []string) {
	key, err := age.GenerateX25519Identity()
	ts.Check(err)
	ts.Setenv(args[0], key.Recipient().String())
	ts.Setenv(args[1], key.String())
}
