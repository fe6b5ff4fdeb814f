package state

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const good = `{"version":1,"serial":7,"lineage":"l","project":"p","agentform":"1.0.0","sessions":[
{"id":"b2","address":"session.b","origin":"manifest","spec":{},"workspace":{},"created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z"},
{"id":"a1","address":"session.a[\"k\"]","origin":"run","spec":{},"workspace":{},"created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z"}]}`

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	s, err := Read(file(t, good))
	if err != nil {
		t.Fatal(err)
	}
	if s.Serial != 7 || s.Lineage != "l" || len(s.Sessions) != 2 || s.Sessions[0].ID != "a1" || s.Sessions[1].ID != "b2" {
		t.Errorf("Read = %+v, want serial 7 and two sessions sorted by address", s)
	}
	if _, err := Read(filepath.Join(t.TempDir(), "state.json")); !errors.Is(err, ErrNone) {
		t.Errorf("Read of no file = %v, want ErrNone", err)
	}
	if _, err := Read(t.TempDir()); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("Read of a folder = %v, want an error that is not ErrNone", err)
	}
}

func TestSerial(t *testing.T) {
	for text, want := range map[string]uint64{
		good: 7,
		`{"version":1,"sessions":[],"lineage":"` + strings.Repeat("x", 1000) + `","serial":12}`: 12, // not as we write it
	} {
		if got, err := Serial(file(t, text)); err != nil || got != want {
			t.Errorf("Serial(%.40s…) = %d, %v, want %d", text, got, err, want)
		}
	}
	if got, err := Serial(filepath.Join(t.TempDir(), "none")); err != nil || got != 0 {
		t.Errorf("Serial of no file = %d, %v, want 0, nil", got, err)
	}
	if _, err := Serial(file(t, "{")); err == nil {
		t.Error("Serial of a truncated file has no error")
	}
}

// What cannot be understood is refused by Read and Open alike, with advice, and
// left as it is.
func TestCorrupt(t *testing.T) {
	bad := map[string]string{
		"empty":              "",
		"blank":              " \n\x00"[:2],
		"zeros":              strings.Repeat("\x00", 64),
		"garbage":            "#!/bin/sh\n",
		"truncated":          good[:len(good)/2],
		"two files":          good + good,
		"a list":             "[]",
		"null":               "null",
		"no version":         `{"serial":1,"lineage":"l","sessions":[]}`,
		"version 0":          `{"version":0,"lineage":"l"}`,
		"version text":       `{"version":"1","lineage":"l"}`,
		"no lineage":         `{"version":1,"sessions":[]}`,
		"wrong type":         `{"version":1,"lineage":"l","sessions":{"a":1}}`,
		"duplicate":          strings.Replace(good, `session.b`, `session.a[\"k\"]`, 1),
		"address":            strings.Replace(good, `session.b`, `session.b[`, 1),
		"no address":         strings.Replace(good, `session.b`, ``, 1),
		"id leads elsewhere": strings.Replace(good, `"b2"`, `"../b2"`, 1),
		"no id":              strings.Replace(good, `"b2"`, `""`, 1),
		"bad duration":       strings.Replace(good, `"spec":{}`, `"spec":{"timeout":"soon"}`, 1),
	}
	for name, text := range bad {
		t.Run(name, func(t *testing.T) {
			path := file(t, text)
			_, err := Read(path)
			var corrupt *CorruptError
			if !errors.As(err, &corrupt) || corrupt.Backup != "" || !strings.Contains(err.Error(), "agentform state rebuild") {
				t.Fatalf("Read = %v, want a CorruptError that says how to rebuild the state", err)
			}
			if err := os.WriteFile(path+".backup", []byte(good), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = Open(t.Context(), path, "p", "1", Holder{}, 0)
			if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "cp "+path+".backup "+path) {
				t.Fatalf("Open = %v, want a CorruptError that names the backup", err)
			}
			if b, err := os.ReadFile(path); err != nil || string(b) != text {
				t.Fatalf("the file is now %q, %v", b, err)
			}
			// The lock was given back: mended, it opens.
			if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(t.Context(), path, "p", "1", Holder{}, 0)
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
		})
	}
}

func TestNewer(t *testing.T) {
	const text = `{"version":2,"agentform":"9.1.0","sessions":{"quite":"different"},"lineage":4}`
	path := file(t, text)
	for _, err := range []error{
		func() error { _, err := Read(path); return err }(),
		func() error { _, err := Open(t.Context(), path, "p", "1", Holder{}, 0); return err }(),
	} {
		var newer *NewerError
		if !errors.As(err, &newer) || newer.Version != 2 || newer.Agentform != "9.1.0" || !strings.Contains(err.Error(), "upgrade agentform") {
			t.Errorf("error = %v, want a NewerError for format 2", err)
		}
	}
	if b, _ := os.ReadFile(path); string(b) != text {
		t.Errorf("the file is now %q", b)
	}
}

func FuzzState(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(good[:100]))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`{"version":1,"lineage":"l"}`))
	f.Add([]byte(`{"version":1,"lineage":"l","sessions":[{"id":"x","address":"session.a[0]","spec":{"depends_on":["session.b"]},"override":{}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decode("state.json", b, nil)
		if err != nil {
			var corrupt *CorruptError
			var newer *NewerError
			if !errors.As(err, &corrupt) && !errors.As(err, &newer) {
				t.Fatalf("decode = %T %v", err, err)
			}
			return
		}
		var rows []*row
		for _, r := range s.Sessions {
			r.Address.Key() // may not panic on what was let in
			raw, err := json.Marshal(r)
			if err != nil {
				t.Skip("a time or number that JSON reads and does not write")
			}
			rows = append(rows, &row{r, raw})
		}
		text, err := encode(s, rows)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode("state.json", text, nil)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, text)
		}
		once, _ := json.Marshal(s)
		twice, _ := json.Marshal(again)
		if d := cmp.Diff(string(once), string(twice)); d != "" {
			t.Fatalf("changed by writing and reading:\n%s", d)
		}
	})
}
