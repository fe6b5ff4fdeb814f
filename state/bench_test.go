package state

import (
	"context"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/agentform/agentform/session"
)

// full is an open state with n sessions.
func filled(b *testing.B, n int) (*Store, []session.Record) {
	b.Helper()
	s, err := Open(context.Background(), filepath.Join(b.TempDir(), "state.json"), "demo", "1", Holder{}, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	records := make([]session.Record, n)
	var wg sync.WaitGroup
	for i := range records {
		records[i] = record("s" + strconv.Itoa(i))
		wg.Go(func() {
			if err := s.Put(records[i]); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	return s, records
}

// BenchmarkPut100 is 100 sessions of 1000 that change at the same time.
func BenchmarkPut100(b *testing.B) {
	s, records := filled(b, 1000)
	serial := s.State().Serial
	b.ResetTimer()
	for n := range b.N {
		var wg sync.WaitGroup
		for i := range 100 {
			r := records[i*10]
			r.Run.Number = n + 1
			wg.Go(func() {
				if err := s.Put(r); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
	b.ReportMetric(float64(s.State().Serial-serial)/float64(b.N), "writes/op")
}

// BenchmarkReplace is the floor of every change: the write alone.
func BenchmarkReplace(b *testing.B) {
	s, _ := filled(b, 1000)
	text, err := encode(s.head, s.rows)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := replace(s.path, text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead1000(b *testing.B) {
	s, _ := filled(b, 1000)
	for b.Loop() {
		if _, err := Read(s.path); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSerial(b *testing.B) {
	s, _ := filled(b, 1000)
	for b.Loop() {
		if _, err := Serial(s.path); err != nil {
			b.Fatal(err)
		}
	}
}
