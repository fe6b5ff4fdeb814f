package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// TestGlanceTellsTheSame checks that ReadLiveness agrees with ReadFacts whatever is in a run's
// directory, except for the fields it leaves empty.
func TestGlanceTellsTheSame(t *testing.T) {
	const run = `{"boot_id":"b","shim":{"pid":1,"start":2},"agent":{"pid":3,"start":4},"started_at":"2026-01-02T03:04:05Z"}`
	for name, files := range map[string]map[string]string{
		"nothing":      {},
		"prepared":     {"launch.json": `{"socket":"/s","spec":{"a":1}}`},
		"claimed":      {"launch.json": `{"socket":"/s"}`, "claim": `{"shim":{"pid":1,"start":2},"boot_id":"b"}`},
		"runs":         {"launch.json": `{"socket":"/s"}`, "claim": "", "run": run},
		"ended":        {"claim": "", "run": run, "exit": `{"cause":"self","code":3}`},
		"not started":  {"claim": "", "exit": `{"cause":"failed_start","code":127}`},
		"garbage run":  {"claim": "", "run": "{"},
		"forged run":   {"claim": "", "run": `{"shim":{"pid":-1},"agent":{"pid":-1}}`},
		"garbage exit": {"claim": "", "run": run, "exit": "{"},
		"all":          {"launch.json": `{"socket":"/s","spec":{"a":1}}`, "claim": "", "run": run, "exit": `{"cause":"self","code":3}`},
	} {
		dir := t.TempDir()
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, wantErr := ReadFacts(dir)
		got, gotErr := ReadLiveness(dir)
		again := Cache{ahead: time.Hour}
		for range 2 { // the second read is from the cache
			if f, err := again.Glance(dir); !reflect.DeepEqual(f, got) || (err == nil) != (gotErr == nil) {
				t.Errorf("%s, again: %+v, %v; want %+v, %v", name, f, err, got, gotErr)
			}
		}
		want.Spec, want.Socket = nil, ""
		if !reflect.DeepEqual(got, want) || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%s: %+v, %v; want %+v, %v", name, got, gotErr, want, wantErr)
		}
	}
}

// TestGlancesSeeWhatIsNew checks that a later look sees what was written since, in place or by a
// rename, and that a run has ended.
func TestGlancesSeeWhatIsNew(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := WriteFile(filepath.Join(dir, name), []byte(text), false); err != nil {
			t.Fatal(err)
		}
	}
	g := Cache{ahead: time.Hour}
	expect := func(what string, agent int, ended bool, remembered int) {
		t.Helper()
		if f, err := g.Glance(dir); err != nil || f.Agent.PID != agent || (f.Exit != nil) != ended || len(g.known) != remembered {
			t.Errorf("%s: %+v, %v, %d remembered", what, f, err, len(g.known))
		}
	}
	expect("nothing", 0, false, 0)
	for agent := 3; agent < 9; agent++ { // of the same length
		tick(t)
		write("run", fmt.Sprintf(`{"shim":{"pid":1,"start":2},"agent":{"pid":%d,"start":4}}`, agent))
		expect("another file", agent, false, 1)
		expect("another file, again", agent, false, 1)
	}
	tick(t)
	if err := os.WriteFile(filepath.Join(dir, "run"), []byte(`{"shim":{"pid":1,"start":2},"agent":{"pid":9,"start":4}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	expect("written in place", 9, false, 1)
	write("exit", `{"cause":"self","code":3}`)
	expect("ended", 9, true, 0)
	expect("ended, again", 9, true, 0)
	if err := os.Remove(filepath.Join(dir, "exit")); err != nil {
		t.Fatal(err)
	}
	g.ahead = 0
	expect("written just now", 9, false, 0)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	expect("gone", 0, false, 0)
}

// tick waits until a newly written file gets a later time than earlier ones.
func tick(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tick")
	written := func() time.Time {
		err := os.WriteFile(path, []byte("x"), 0o600)
		info, statErr := os.Stat(path)
		if err := errors.Join(err, statErr); err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	for first := written(); !written().After(first); {
	}
}
