package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// Whatever stands in a run's folder, a glance tells the same as a full reading,
// but for what it says it leaves out.
func TestGlanceTellsTheSame(t *testing.T) {
	const run = `{"boot_id":"b","guest":{"pid":1,"start":2},"agent":{"pid":3,"start":4},"started_at":"2026-01-02T03:04:05Z"}`
	for name, files := range map[string]map[string]string{
		"nothing":      {},
		"prepared":     {"launch.json": `{"socket":"/s","spec":{"a":1}}`},
		"claimed":      {"launch.json": `{"socket":"/s"}`, "claim": `{"guest":{"pid":1,"start":2},"boot_id":"b"}`},
		"runs":         {"launch.json": `{"socket":"/s"}`, "claim": "", "run": run},
		"ended":        {"claim": "", "run": run, "exit": `{"cause":"self","code":3}`},
		"not started":  {"claim": "", "exit": `{"cause":"failed_start","code":127}`},
		"garbage run":  {"claim": "", "run": "{"},
		"forged run":   {"claim": "", "run": `{"guest":{"pid":-1},"agent":{"pid":-1}}`},
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
		got, gotErr := Glance(dir)
		var again Glances
		for range 3 { // the last time by what was remembered
			if f, err := again.Glance(dir); !reflect.DeepEqual(f, got) || (err == nil) != (gotErr == nil) {
				t.Errorf("%s, again: %+v, %v; want %+v, %v", name, f, err, got, gotErr)
			}
			time.Sleep(110 * time.Millisecond) // what was written has settled
		}
		want.Spec, want.Socket = nil, ""
		if !reflect.DeepEqual(got, want) || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%s: %+v, %v; want %+v, %v", name, got, gotErr, want, wantErr)
		}
	}
}

// Who looks again sees what has been written since, in place or as another file, and
// that a run has ended.
func TestGlancesSeeWhatIsNew(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := replace(filepath.Join(dir, name), []byte(text), false); err != nil {
			t.Fatal(err)
		}
	}
	var g Glances
	expect := func(what string, agent int, ended bool) {
		t.Helper()
		if f, err := g.Glance(dir); err != nil || f.Agent.PID != agent || (f.Exit != nil) != ended {
			t.Errorf("%s: %+v, %v", what, f, err)
		}
	}
	expect("nothing", 0, false)
	for agent := 3; agent < 9; agent++ { // of the same length
		time.Sleep(60 * time.Millisecond) // what was written before has settled, or not
		write("run", fmt.Sprintf(`{"guest":{"pid":1,"start":2},"agent":{"pid":%d,"start":4}}`, agent))
		expect("another file", agent, false)
	}
	time.Sleep(110 * time.Millisecond)
	expect("as it was", 8, false)
	if err := os.WriteFile(filepath.Join(dir, "run"), []byte(`{"guest":{"pid":1,"start":2},"agent":{"pid":9,"start":4}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	expect("written in place", 9, false)
	write("exit", `{"cause":"self","code":3}`)
	expect("ended", 9, true)
	expect("ended, again", 9, true)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	expect("gone", 0, false)
}
