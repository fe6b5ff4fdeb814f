package history

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/agentform/agentform/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// event is the nth event of a session: n seconds after noon.
func event(n int) Event {
	return Event{Time: noon.Add(time.Duration(n) * time.Second), Address: "session.api", ID: "a1", Kind: ApplyStart,
		Action: "create", Detail: fmt.Sprintf("line %d\nand \"more\"", n), Elapsed: session.Duration(time.Second)}
}

func appendAll(t *testing.T, folder string, events ...Event) {
	t.Helper()
	for _, e := range events {
		if err := Append(folder, e); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, folder, text string, flag int) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(folder, fileName), os.O_WRONLY|flag, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestAppendAndRead(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "agents", "builder", "a1")
	if events, err := Read(folder, time.Time{}); err != nil || len(events) != 0 {
		t.Errorf("Read of nothing = %v, %v", events, err)
	}
	appendAll(t, folder, event(1), event(2), event(3))
	for since, want := range map[time.Time][]Event{
		{}:                                  {event(1), event(2), event(3)},
		noon.Add(2 * time.Second):           {event(2), event(3)},
		noon.Add(time.Hour):                 {},
		event(3).Time.Add(-time.Nanosecond): {event(3)},
	} {
		got, err := Read(folder, since)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("Read since %v (-want +got):\n%s", since, d)
		}
	}
	for name, want := range map[string]os.FileMode{"": 0o700, fileName: 0o600} {
		if fi, err := os.Stat(filepath.Join(folder, name)); err != nil || fi.Mode().Perm() != want {
			t.Errorf("%q has mode %v, %v, want %v", name, fi.Mode(), err, want)
		}
	}
}

// A crash, a full disk or a stray hand costs the lines it spoils, and no other.
func TestSpoiled(t *testing.T) {
	folder := t.TempDir()
	appendAll(t, folder, event(1))
	write(t, folder, "garbage\n\n{}\n[1]\nnull\n\x00\x00\x00\n"+strings.Repeat("x", 200_000)+"\n", os.O_APPEND)
	appendAll(t, folder, event(2))
	write(t, folder, `{"time":"2026-01-02T12:00:03Z","type":"apply_st`, os.O_APPEND)
	got, err := Read(folder, time.Time{})
	if d := cmp.Diff([]Event{event(1), event(2)}, got); d != "" || err != nil {
		t.Errorf("with a torn line: %v (-want +got):\n%s", err, d)
	}
	appendAll(t, folder, event(4))
	got, err = Read(folder, time.Time{})
	if d := cmp.Diff([]Event{event(1), event(2), event(4)}, got); d != "" || err != nil {
		t.Errorf("after a torn line: %v (-want +got):\n%s", err, d)
	}
}

func TestExcerptIsCut(t *testing.T) {
	folder := t.TempDir()
	e := event(1)
	e.Excerpt = "start" + strings.Repeat("ä", session.TailLimit) + "end"
	appendAll(t, folder, e)
	got, err := Read(folder, time.Time{})
	if err != nil || len(got) != 1 {
		t.Fatalf("Read = %d events, %v", len(got), err)
	}
	x := got[0].Excerpt
	if len(x) > session.TailLimit || len(x) < session.TailLimit-4 || !strings.HasSuffix(x, "äend") || strings.ContainsRune(x, utf8.RuneError) {
		t.Errorf("excerpt has %d bytes and ends in %q", len(x), x[len(x)-10:])
	}
}

func TestAppendFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := Append(filepath.Join(file, "a1"), event(1))
	if err == nil || !strings.HasPrefix(err.Error(), "record event apply_start of session.api: ") {
		t.Errorf("Append below a file = %v", err)
	}
	if _, err := Read(filepath.Join(file, "a1"), time.Time{}); err == nil {
		t.Error("Read below a file has no error")
	}
}

// Many writers at once lose and mix nothing.
func TestConcurrentAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := filepath.Join(t.TempDir(), "a1")
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for i := range 50 {
					e := event(w*1000 + i)
					e.Excerpt = strings.Repeat("x", i*100)
					if err := Append(folder, e); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		events, err := Read(folder, time.Time{})
		if err != nil || len(events) != 400 {
			t.Fatalf("Read = %d events, %v, want 400", len(events), err)
		}
		b, err := os.ReadFile(filepath.Join(folder, fileName))
		if n := bytes.Count(b, []byte("\n")); n != 400 || err != nil {
			t.Errorf("%d lines, %v, want 400", n, err)
		}
	})
}

// A line is read once it is whole, and what retention leaves is not read again.
func TestTail(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a1")
	tail := TailOf(folder)
	var got []string
	for _, step := range []func(){
		func() {}, // no history yet
		func() { appendAll(t, folder, event(1)) },
		func() { appendAll(t, folder, event(2), event(3)) },
		func() { write(t, folder, `{"time":"2026-01-02T12:00:04Z",`, os.O_APPEND) },
		func() { write(t, folder, `"address":"session.api","type":"ready"}`+"\n", os.O_APPEND) }, // the rest of the line
		func() {
			write(t, folder, `{"time":"2026-01-02T12:00:03Z","type":"ready"}`+"\n"+`{"time":"2026-01-02T12:00:09Z","type":"run_ended"}`+"\n", os.O_TRUNC)
		},
	} {
		step()
		events, err := tail.More()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			got = append(got, fmt.Sprintf("%s %d", e.Kind, e.Time.Second()))
		}
		got = append(got, "")
	}
	if d := cmp.Diff([]string{"", "apply_start 1", "", "apply_start 2", "apply_start 3", "", "", "ready 4", "", "run_ended 9", ""}, got); d != "" {
		t.Errorf("read (-want +got):\n%s", d)
	}
}

func TestTailFails(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, fileName), 0o700); err != nil {
		t.Fatal(err)
	}
	if events, err := TailOf(folder).More(); err == nil {
		t.Errorf("a folder was read: %v", events)
	}
}

func BenchmarkAppend(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "a1")
	e := event(1)
	for b.Loop() {
		if err := Append(dir, e); err != nil {
			b.Fatal(err)
		}
	}
}

// Many who see the same thing at once tell it once.
func TestTellOnce(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a1")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := Update(folder, func(past []Event) []Event {
				if len(past) > 0 {
					return nil
				}
				return []Event{event(1), event(2)}
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := Read(folder, time.Time{})
	if d := cmp.Diff([]Event{event(1), event(2)}, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if _, err := Update(filepath.Join(folder, fileName, "x"), nil); err == nil {
		t.Error("told below a file")
	}
}
