package pipe

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			time.Sleep(time.Hour)
			_, _ = w.Write(body)
		}))
		one, two := Serve(t, http.NotFoundHandler()), &http.Client{Transport: Transport()}
		for range 2 {
			began := time.Now()
			r, err := s.Client().Post(s.URL, "text/plain", io.LimitReader(zeros{}, 1<<20))
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, r.Body)
			r.Body.Close()
			if took := time.Since(began); n != 1<<20 || err != nil || took != time.Hour {
				t.Errorf("%d bytes, %v, after %v", n, err, took)
			}
		}
		if r, err := two.Get(one.URL); err != nil || r.Body.Close() != nil || r.StatusCode != http.StatusNotFound {
			t.Errorf("another server: %v, %v", r, err)
		}
		s.Close()
		if _, err := two.Get(s.URL); !errors.Is(err, syscall.ECONNREFUSED) { //nolint:bodyclose // there is none
			t.Errorf("a server that is closed: %v", err)
		}
	})
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func TestDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Listen()
		ended := make(chan error)
		go func() {
			_, err := l.Accept()
			if err == nil {
				_, err = l.Accept()
			}
			ended <- err
		}()
		c, err := Dial(t.Context(), "tcp", fmt.Sprint(l.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		l.Close()
		if err := <-ended; err == nil {
			t.Error("a closed listener accepts")
		}
	})
}
