package rundir

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FuzzSignals checks that a hook's report is refused or kept as one bounded line of JSON, which is
// found again whatever else is in the file.
func FuzzSignals(f *testing.F) {
	f.Add([]byte(`{"hook_event_name":"Stop"}`), []byte("{\"at\":\"2026-01-02T03:04:05Z\"}\n{torn"))
	f.Add([]byte("[1,\n2]"), []byte("\n\x00\n"))
	f.Add([]byte(`"\ud800"`), []byte(`{"at":"x"}`))
	f.Fuzz(func(t *testing.T, said, before []byte) {
		dir := t.TempDir()
		if len(before) > 0 && before[len(before)-1] != '\n' {
			before = append(before, '\n')
		}
		if err := os.WriteFile(filepath.Join(dir, SignalsFile), before, 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
		kept := AppendSignal(dir, said, at) == nil
		all, err := ReadSignals(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			if s.At.IsZero() || len(s.Data) > 0 && !json.Valid(s.Data) {
				t.Errorf("signal %+v", s)
			}
		}
		if !kept {
			return
		}
		if last := all[len(all)-1]; !last.At.Equal(at) || len(last.Data) > 2*SignalLimit {
			t.Errorf("the last of %d is %s, %d bytes", len(all), last.At, len(last.Data))
		}
	})
}
