package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/shim/rundir"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func told(t *testing.T, dir string) []string {
	t.Helper()
	all, err := rundir.ReadSignals(dir)
	if err != nil {
		t.Fatal(err)
	}
	var data []string
	for _, s := range all {
		data = append(data, string(s.Data))
	}
	return data
}

func TestNotify(t *testing.T) {
	dir := t.TempDir()
	if got := told(t, dir); got != nil || rundir.SignalsSize(dir) != 0 {
		t.Errorf("before any: %q", got)
	}
	for _, c := range []struct {
		args  []string
		stdin string
	}{
		{[]string{dir}, "{\n \"hook_event_name\": \"Stop\"\n}\n"},
		{[]string{dir, `{"type":"agent-turn-complete"}`}, "not read"},
		{[]string{dir}, "no JSON"},
		{[]string{dir}, ""},
		{nil, "{}"},
		{[]string{filepath.Join(dir, "gone")}, "{}"},
	} {
		if code := notify(c.args, strings.NewReader(c.stdin), noon); code != 0 {
			t.Errorf("%q, %q: exit %d would keep an agent from its work", c.args, c.stdin, code)
		}
	}
	want := []string{`{"hook_event_name":"Stop"}`, `{"type":"agent-turn-complete"}`}
	if got := told(t, dir); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("told %q, want %q", got, want)
	}
	if all, _ := rundir.ReadSignals(dir); !all[0].At.Equal(noon) {
		t.Errorf("at %v", all[0].At)
	}
	if info, err := os.Stat(filepath.Join(dir, rundir.SignalsFile)); err != nil || info.Mode().Perm() != 0o600 || info.Size() != rundir.SignalsSize(dir) {
		t.Errorf("%v, %v", info, err)
	}
}

func TestNotifyKeepsTheShortMembersOfALongSignal(t *testing.T) {
	dir := t.TempDir()
	said, err := json.Marshal(map[string]any{"hook_event_name": "PreToolUse", "tool_input": strings.Repeat("x", rundir.SignalLimit)})
	if err != nil {
		t.Fatal(err)
	}
	notify([]string{dir}, bytes.NewReader(said), noon)
	if got := told(t, dir); len(got) != 1 || got[0] != `{"hook_event_name":"PreToolUse"}` {
		t.Errorf("told %.200q", got)
	}
}

func TestSignalsAreBounded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, rundir.SignalsFile)
	line := `{"at":"2026-03-14T11:00:00Z","data":{"hook_event_name":"Old"}}` + "\n"
	if err := os.WriteFile(path, []byte(strings.Repeat(line, rundir.SignalsLimit/len(line)+2)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := told(t, dir); len(got) < 1000 || len(got) > rundir.SignalsTail/len(line) {
		t.Errorf("%d signals of a file of %d bytes", len(got), rundir.SignalsSize(dir))
	}
	notify([]string{dir}, strings.NewReader(`{"hook_event_name":"New"}`), noon)
	if got := told(t, dir); len(got) != 1 || !strings.Contains(got[0], "New") {
		t.Errorf("after it was begun anew: %d signals", len(got))
	}
}

func TestSignalsOfManyHooksAtOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 20 {
				notify([]string{dir, fmt.Sprintf(`{"n":%d,"text":%q}`, w*100+i, strings.Repeat("y", 9000))}, nil, noon)
			}
		})
	}
	wg.Wait()
	b, err := os.ReadFile(filepath.Join(dir, rundir.SignalsFile))
	if err != nil || bytes.Count(b, []byte("\n")) != 160 {
		t.Fatalf("%d lines, %v", bytes.Count(b, []byte("\n")), err)
	}
	for line := range bytes.Lines(b) {
		if !json.Valid(line) {
			t.Fatalf("mixed: %.100q", line)
		}
	}
}

func TestSignalsAreNeverReadThroughALink(t *testing.T) {
	dir := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(elsewhere, []byte(`{"at":"2026-03-14T11:00:00Z","data":{}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, rundir.SignalsFile)); err != nil {
		t.Fatal(err)
	}
	if all, err := rundir.ReadSignals(dir); err == nil || len(all) != 0 {
		t.Errorf("read %v, %v", all, err)
	}
	notify([]string{dir}, strings.NewReader(`{"hook_event_name":"Stop"}`), noon)
	if b, err := os.ReadFile(elsewhere); err != nil || strings.Contains(string(b), "Stop") {
		t.Errorf("written through a link: %q, %v", b, err)
	}
}
