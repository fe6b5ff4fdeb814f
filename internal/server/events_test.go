package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/session"
)

// Two hundred listen, and each gets everything; when the hub ends all are let go.
func TestManyListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, session.Single("api"), session.Single("web"))
		s.serve()
		const n = 200
		client := s.caller()
		heard, ended := make(chan string, n), make(chan error, n)
		for i := range n {
			go func() {
				err := func() error {
					q, err := http.NewRequestWithContext(t.Context(), "GET", fmt.Sprintf("http://localhost/v1/events?session=%s", []string{"api", "web"}[i%2]), nil)
					if err != nil {
						return err
					}
					r, err := client.Do(q)
					if err != nil {
						return err
					}
					defer r.Body.Close()
					lines := bufio.NewScanner(r.Body)
					lines.Buffer(nil, 1<<20)
					for lines.Scan() {
						if strings.HasPrefix(lines.Text(), "retry:") {
							heard <- "open"
						}
						if strings.Contains(lines.Text(), `"type":"override_set"`) {
							heard <- lines.Text()
						}
					}
					return nil // the end of the stream is the hub's
				}()
				ended <- err
			}()
		}
		next := func(what string) string {
			t.Helper()
			select {
			case x := <-heard:
				return x
			case err := <-ended:
				t.Fatalf("%s: a stream has ended: %v", what, err)
			}
			return ""
		}
		for range n {
			next("all streams open")
		}
		for _, name := range []string{"api", "web"} {
			if _, err := s.client.Tell(t.Context(), name, "stop", nil); err != nil {
				t.Fatal(err)
			}
		}
		of := map[bool]int{}
		for range n {
			of[strings.Contains(next("all hear it"), `"address":"session.api"`)]++
		}
		if of[true] != n/2 || of[false] != n/2 {
			t.Errorf("%d heard of api, %d of web", of[true], of[false])
		}
		s.stop()
		for range n {
			if err := <-ended; err != nil {
				t.Errorf("a stream ended with %v", err)
			}
		}
	})
}

// A client that listens takes up again where it was when the hub was another one
// meanwhile.
func TestListensOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, session.Single("api"))
		s.serve()
		heard := make(chan api.Event, 100)
		listening := make(chan error, 1)
		go func() {
			for e, err := range s.client.Events(t.Context(), "") {
				if err != nil {
					listening <- err
					return
				}
				heard <- e
			}
		}()
		s.until("somebody listens", func() bool {
			r, err := s.caller().Get("http://localhost/metrics")
			if err != nil {
				return false
			}
			defer r.Body.Close()
			text, _ := io.ReadAll(r.Body)
			return strings.Contains(string(text), "agentform_api_event_streams 1")
		})
		if _, err := s.client.Tell(t.Context(), "api", "stop", nil); err != nil {
			t.Fatal(err)
		}
		last := api.Event{}
		for last.Kind != "apply_complete" {
			last = <-heard
		}
		if last.Address != "session.api" || last.By != "ada" || last.ID == "" {
			t.Errorf("heard %+v", last)
		}
		s.stop()
		if err := <-listening; !api.NotThere(err) {
			t.Errorf("with the hub the stream ended with %v", err)
		}
		s.serve()
		if _, err := s.client.Tell(t.Context(), "api", "start", nil); err != nil {
			t.Fatal(err)
		}
		for e, err := range s.client.Events(t.Context(), last.ID) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == last.Kind && e.Action == last.Action {
				t.Errorf("%+v is told twice", e)
			}
			if e.Kind == "launched" {
				break
			}
		}
	})
}
