package history

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// FuzzRead: whatever stands in a history, each event has a kind and can be written
// again, both ways of reading tell the same, and what is appended is the last.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"time":"2026-01-02T03:04:05Z","address":"session.a","type":"started"}` + "\n" + `{"torn`))
	f.Add([]byte("\n\x00\n{}\n[]\n" + `{"type":"x","elapsed":"9999h"}` + "\n" + `{"type":"y","elapsed":-1}` + "\n"))
	f.Add([]byte(`{"time":"0000-01-01T00:00:00+99:99","type":"z"}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fileName), b, 0o600); err != nil {
			t.Fatal(err)
		}
		last := Event{Time: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Address: "session.last", Kind: "last"}
		if err := Append(dir, last); err != nil {
			t.Fatal(err)
		}
		all, err := Read(dir, time.Time{})
		if err != nil || len(all) == 0 || all[len(all)-1].Address != "session.last" {
			t.Fatalf("read %+v, %v", all, err)
		}
		tail, err := TailOf(dir).More()
		if err != nil || !reflect.DeepEqual(tail, all) {
			t.Errorf("read %+v, by the tail %+v, %v", all, tail, err)
		}
		for _, e := range all {
			line, err := json.Marshal(e)
			if err != nil || e.Kind == "" {
				t.Errorf("%+v cannot be written again: %v", e, err)
			}
			if again, ok := parse(line); !ok || again.Kind != e.Kind || again.Address != e.Address {
				t.Errorf("%+v is %+v when it is read again", e, again)
			}
		}
	})
}

// FuzzParsePlain checks that what parsePlain takes is what encoding/json reads.
func FuzzParsePlain(f *testing.F) {
	for _, line := range []string{
		`{"time":"2026-01-02T03:04:05.123456789+02:00","address":"session.a[\"b\"]","id":"a","type":"sent"}`,
		`{"time":"2026-01-02T03:04:05Z","address":"session.a","type":"held","type":"sent","detail":"é"}` + "\n",
		`{"type":"x","elapsed":"1s"}`, `{"type":"x","detail":"a\nb"}`, `{"type":"x"}}`, `{"type":"x"} `, `{"type":"x",}`, `{"type":"x","Old":"y"}`, `{"type":""}`,
		`{"time":"","type":"x"}`, `{"type":"x","excerpt":""}`, `{"type":"x","old":`, `{"type":"x" ,"old":"y"}`, "{\"type\":\"x\ty\"}", `{"type":"x"`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got, ok := parsePlain(line)
		if !ok {
			return
		}
		var want Event
		if err := json.Unmarshal(line, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %+v, want %+v, %v", line, got, want, err)
		}
	})
}
