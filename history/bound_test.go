package history

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// However much an agent's screen changes, its history stays small, and what restarts
// are counted from, what stands and what is reported once stays in it.
func TestAHistoryIsBounded(t *testing.T) {
	folder := t.TempDir()
	tail := TailOf(folder)
	at := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	add := func(e Event) {
		t.Helper()
		at = at.Add(time.Second)
		e.Time = at
		if err := Append(folder, e); err != nil {
			t.Fatal(err)
		}
	}
	var read []Event
	more := func() {
		t.Helper()
		events, err := tail.More()
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, events...)
	}
	screen := strings.Repeat("a line of the screen\n", 150)
	add(Event{Kind: PRDetected, New: "https://github.com/a/b/pull/1"})
	add(Event{Kind: Escalated, Reason: "budget_spent"})
	largest, added := int64(0), 2
	for i := range 3000 {
		if i%50 == 0 {
			add(Event{Kind: Launched, Run: fmt.Sprint(i), Excerpt: screen})
			added++
		}
		add(Event{Kind: StatusChanged, New: fmt.Sprint(i), Excerpt: screen})
		added++
		more()
		largest = max(largest, Size(folder))
	}
	if largest > sizeLimit {
		t.Errorf("the history had %d bytes, want at most %d", largest, sizeLimit)
	}
	if len(read) != added {
		t.Errorf("who reads on has read %d events, want each of %d once", len(read), added)
	}
	events, err := Read(folder, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	count := map[Kind]int{}
	for _, e := range events {
		count[e.Kind]++
	}
	if count[Launched] != 60 || count[PRDetected] != 1 || count[Escalated] != 1 || count[StatusChanged] < 50 {
		t.Errorf("kept: %v", count)
	}
	if !slices.IsSortedFunc(events, func(a, b Event) int { return a.Time.Compare(b.Time) }) {
		t.Error("the events are not in their order")
	}
	if last := events[len(events)-1]; last.New != "2999" || last.Excerpt == "" {
		t.Errorf("the last is %+v", last)
	}
}

// Whoever rewrites a history takes no event away that is added at the same time. In
// virtual time nobody waits ten seconds for a lock only because the machine is slow.
func TestNothingIsLostBesideARewrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		path := filepath.Join(folder, fileName)
		if err := Append(folder, Event{Kind: Launched}); err != nil {
			t.Fatal(err)
		}
		const writers, each = 4, 200
		var all, rewriter sync.WaitGroup
		done, added := make(chan struct{}), make(chan struct{}, 1)
		rewriter.Go(func() {
			for { // who adds gets a turn between two: a history is rewritten rarely
				select {
				case <-done:
					return
				case <-added:
					if err := rewrite(path, func(text []byte) []byte { return text }); err != nil {
						t.Error(err)
					}
				}
			}
		})
		for w := range writers {
			all.Go(func() {
				for i := range each {
					e := Event{Kind: Sent, New: fmt.Sprint(w, " ", i)}
					err := error(nil)
					if w == 0 {
						_, err = Update(folder, func([]Event) []Event { return []Event{e} })
					} else {
						err = Append(folder, e)
					}
					if err != nil {
						t.Error(err)
					}
					select {
					case added <- struct{}{}:
					default:
					}
				}
			})
		}
		all.Wait()
		close(done)
		rewriter.Wait()
		events, err := Read(folder, time.Time{})
		if err != nil || len(events) != 1+writers*each {
			t.Errorf("%d events, %v; want %d", len(events), err, 1+writers*each)
		}
	})
}

// A rewrite that waits long for the disk takes no event away, and nobody waits for it.
func TestNothingIsLostBesideASlowRewrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		path := filepath.Join(folder, fileName)
		if err := Append(folder, Event{Kind: Launched}); err != nil {
			t.Fatal(err)
		}
		rewrites := 0
		err := rewrite(path, func(text []byte) []byte {
			rewrites++
			time.Sleep(time.Minute)
			began := time.Now()
			if err := Append(folder, Event{Kind: Sent}); err != nil {
				t.Error(err)
			}
			if waited := time.Since(began); waited > time.Second {
				t.Errorf("who appends waited %v", waited)
			}
			if rewrites == 1 { // another one replaces it first
				if err := rewrite(path, bytes.ToUpper); err != nil {
					t.Error(err)
				}
			}
			return text
		})
		if err != nil || rewrites != 2 {
			t.Errorf("%d rewrites, %v; want a second one, of the new history", rewrites, err)
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.Count(text, []byte("\n")) != 3 || !bytes.Contains(text, []byte("LAUNCHED")) {
			t.Errorf("%s, %v", text, err)
		}
		if left, err := os.ReadDir(folder); len(left) != 1 || err != nil {
			t.Errorf("left %v, %v", left, err)
		}
	})
}

// What a stopped process has locked is not waited for without end.
func TestLockedForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		f, err := openLocked(filepath.Join(folder, fileName), os.O_CREATE|os.O_RDWR)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := Append(folder, Event{Kind: Ready}); err == nil || !strings.Contains(err.Error(), "has locked") {
			t.Errorf("without the lock: %v", err)
		}
	})
}

// Who reads on after a clock that was wrong misses nothing when the history is cut.
func TestTailAfterAClockThatWasWrong(t *testing.T) {
	folder := t.TempDir()
	tail := TailOf(folder)
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	for _, e := range []Event{{Time: now, Kind: Sent}, {Time: now.Add(10 * time.Hour), Kind: Sent, New: "future"}} {
		if err := Append(folder, e); err != nil {
			t.Fatal(err)
		}
	}
	if events, err := tail.More(); len(events) != 2 || err != nil {
		t.Fatal(events, err)
	}
	if n, err := Trim(folder, now.Add(time.Hour)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if err := Append(folder, Event{Time: now.Add(time.Minute), Kind: Sent, New: "now"}); err != nil {
		t.Fatal(err)
	}
	if events, err := tail.More(); len(events) != 1 || events[0].New != "now" || err != nil {
		t.Errorf("read on: %v, %v", events, err)
	}
}

// A history that is no file is refused, and nobody waits for it.
func TestAppendToWhatIsNoFile(t *testing.T) {
	folder := t.TempDir()
	if err := os.Symlink("/dev/zero", filepath.Join(folder, fileName)); err != nil {
		t.Fatal(err)
	}
	if err := Append(folder, Event{Kind: Sent}); err == nil {
		t.Error("an event was written through a link")
	}
}

// A pipe has no size, as an empty file has, and as what a link may lead to.
func TestReadWhatIsNoFile(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"pipe": func(path string) error { return unix.Mkfifo(path, 0o600) },
		"link": func(path string) error { return os.Symlink("/dev/null", path) },
		"link to an empty file": func(path string) error {
			return errors.Join(os.WriteFile(path+"0", nil, 0o600), os.Symlink(path+"0", path))
		},
	} {
		folder := t.TempDir()
		if err := put(filepath.Join(folder, fileName)); err != nil {
			t.Fatal(err)
		}
		if events, err := Read(folder, time.Time{}); err == nil {
			t.Errorf("read %v from a %s", events, name)
		}
	}
}
