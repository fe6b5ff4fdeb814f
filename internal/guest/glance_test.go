package guest

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
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
		want.Spec, want.Socket = nil, ""
		if !reflect.DeepEqual(got, want) || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%s: %+v, %v; want %+v, %v", name, got, gotErr, want, wantErr)
		}
	}
}
