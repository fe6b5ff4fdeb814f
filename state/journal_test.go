package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	i, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0
	} else if err != nil {
		t.Fatal(err)
	}
	return i.Size()
}

// many is an open state of so many sessions that its last changes stay in the journal.
func many(t *testing.T, path string, n int) *Store {
	t.Helper()
	st := State{Version: Version, Serial: 1, Lineage: NewLineage()}
	for i := range n {
		st.Sessions = append(st.Sessions, record(fmt.Sprintf("s%05d", i)))
	}
	text, err := st.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return open(t, path)
}

// A change writes as much beside ten thousand sessions as beside three hundred.
func TestAChangeIsSmall(t *testing.T) {
	for _, n := range []int{300, 10000} {
		path := filepath.Join(t.TempDir(), "state.json")
		s := many(t, path, n)
		whole, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			r := record("s00007")
			r.Run.Number = i + 1
			put(t, s, r)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if now, err := os.Stat(path); err != nil || !os.SameFile(whole, now) {
			t.Errorf("beside %d sessions the whole file was written for 20 changes: %v", n, err)
		}
		if grown := sizeOf(t, JournalOf(path)); grown == 0 || grown > 20*2048 {
			t.Errorf("beside %d sessions 20 changes wrote %d bytes", n, grown)
		}
		st, err := Read(path)
		if err != nil || len(st.Sessions) != n || st.Sessions[7].Run.Number != 20 {
			t.Errorf("read %d sessions, number %d: %v", len(st.Sessions), st.Sessions[7].Run.Number, err)
		}
		if serial, err := Serial(path); err != nil || serial != st.Serial {
			t.Errorf("serial %d, %v, want %d", serial, err, st.Serial)
		}
		if i, err := os.Stat(JournalOf(path)); err != nil || i.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", i.Mode(), err)
		}
		again := open(t, path) // and goes on with it
		put(t, again, record("new"))
		if err := again.Delete("session.s00008"); err != nil {
			t.Fatal(err)
		}
		if st, err := Read(path); err != nil || len(st.Sessions) != n || cmp.Diff(st, again.State()) != "" {
			t.Errorf("the next store's changes: %d sessions, %v", len(st.Sessions), err)
		}
	}
}

// What a store of few sessions leaves is one whole file.
func TestSmallIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s := open(t, path)
	put(t, s, record("a"), record("b"), record("c"))
	serial := s.State().Serial
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := sizeOf(t, JournalOf(path)); n != 0 {
		t.Errorf("a journal of %d bytes stays", n)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := Decode(text); err != nil || len(st.Sessions) != 3 || st.Serial != serial {
		t.Errorf("the file alone says %+v, %v", st, err)
	}
}

// However a crash tears the journal, what was acknowledged before its last write is
// there, and the next writer goes on.
func TestTornJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s := open(t, path)
	put(t, s, record("a"), record("b"))
	before := sizeOf(t, JournalOf(path))
	put(t, s, record("c"))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	journal, err := os.ReadFile(JournalOf(path))
	if err != nil {
		t.Fatal(err)
	}
	lineage, err := os.ReadFile(lineageOf(path))
	if err != nil {
		t.Fatal(err)
	}
	torn := func(b []byte) string {
		at := filepath.Join(t.TempDir(), "state.json")
		for name, text := range map[string][]byte{at: text, JournalOf(at): b, lineageOf(at): lineage[:36]} {
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return at
	}
	for n := 0; n <= len(journal); n += 7 {
		for _, tail := range []string{"", "\x00\x00\x00", "\x00\n"} {
			want := 1
			if int64(n) >= before {
				want = 2
			}
			if n == len(journal) {
				want = 3
			}
			at := torn(append(journal[:n:n], tail...))
			if st, err := Read(at); err != nil || len(st.Sessions) != want {
				t.Fatalf("torn at %d of %d (%q): %d sessions, want %d: %v", n, len(journal), tail, len(st.Sessions), want, err)
			}
			next := open(t, at)
			put(t, next, record("d"))
			if st, err := Read(at); err != nil || len(st.Sessions) != want+1 {
				t.Fatalf("torn at %d of %d: after the next change %d sessions: %v", n, len(journal), len(st.Sessions), err)
			}
			next.Close()
		}
	}
}

// A journal that cannot be understood, or is of another state file, is refused and left
// as it is; one of an earlier state file, which holds nothing new, counts for nothing.
func TestForeignJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s := open(t, path)
	put(t, s, record("a"))
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, record("b"), record("c"))
	journal, err := os.ReadFile(JournalOf(path))
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	last, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lay := func(state, journal []byte) {
		for name, text := range map[string][]byte{path: state, JournalOf(path): journal} {
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	flipped := append([]byte{}, journal...)
	flipped[len(flipped)/2] ^= 1
	for name, c := range map[string]struct{ state, journal []byte }{
		"damaged in the middle": {first, flipped},
		"no header":             {first, []byte("hello\nworld\n")},
		"another state file":    {[]byte(strings.Replace(string(first), `"demo"`, `"memo"`, 1)), journal},
	} {
		lay(c.state, c.journal)
		for _, err := range []error{
			func() error { _, err := Read(path); return err }(),
			func() error { _, err := Open(t.Context(), path, "p", "1", Holder{}, 0); return err }(),
		} {
			var wrong *JournalError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "mv "+JournalOf(path)) {
				t.Errorf("%s: %v, want a JournalError that says how to go on", name, err)
			}
		}
		if b, err := os.ReadFile(JournalOf(path)); err != nil || string(b) != string(c.journal) {
			t.Errorf("%s: the journal was touched: %v", name, err)
		}
	}
	newer, err := line(header{Version: 2, Agentform: "9.1.0"})
	if err != nil {
		t.Fatal(err)
	}
	lay(first, newer)
	var later *NewerError
	if _, err := Read(path); !errors.As(err, &later) || later.Agentform != "9.1.0" {
		t.Errorf("a newer journal: %v", err)
	}
	lay(last, journal)
	if st, err := Read(path); err != nil || len(st.Sessions) != 3 {
		t.Errorf("an earlier journal: %+v, %v", st, err)
	}
	again := open(t, path)
	put(t, again, record("d"))
	if st, err := Read(path); err != nil || len(st.Sessions) != 4 || st.Serial != again.State().Serial {
		t.Errorf("after a change beside an earlier journal: %d sessions, %v", len(st.Sessions), err)
	}
}

// A reader beside a writer sees the state grow, and never an earlier one again,
// whenever the file is written whole.
func TestReadBeside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s := open(t, path)
	put(t, s, record("a"))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := range 600 {
			r := record("a")
			r.Run.Number = i + 1
			if err := s.Put(r); err != nil {
				t.Error(err)
			}
		}
	}()
	var serial uint64
	wholes, last := 0, int64(0)
	for going := true; going; {
		select {
		case <-ended:
			going = false
		default:
		}
		st, err := Read(path)
		if err != nil || st.Serial < serial || uint64(st.Sessions[0].Run.Number)+1 != st.Serial {
			t.Fatalf("serial %d after %d, number %d: %v", st.Serial, serial, st.Sessions[0].Run.Number, err)
		}
		serial = st.Serial
		now := sizeOf(t, JournalOf(path))
		if now < last {
			wholes++
		}
		last = now
	}
	if serial != 601 || wholes == 0 {
		t.Errorf("the last serial was %d; the file was written whole %d times", serial, wholes)
	}
}

func FuzzJournal(f *testing.F) {
	st := State{Version: Version, Serial: 1, Lineage: "l", Sessions: []session.Record{record("a")}}
	text, err := st.Encode()
	if err != nil {
		f.Fatal(err)
	}
	head, err := line(header{Version: Version, Continues: wholeOf(1, text)})
	if err != nil {
		f.Fatal(err)
	}
	write, err := line(entry{Serial: 2, Forget: []session.Address{"session.a"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(head, write...))
	f.Add(head)
	f.Add([]byte("00000000 {}\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		j, err := parseJournal(b)
		if err != nil {
			return
		}
		was := st
		was.Sessions = append([]session.Record{}, st.Sessions...)
		got, _, err := j.onto("state.json", was, text)
		if err != nil {
			return
		}
		for _, r := range got.Sessions {
			if err := check(r); err != nil {
				t.Error(err)
			}
		}
	})
}
