package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestJudge reads two files of events: a test that passes when it runs again, one that never
// does, and one that was running when go test was killed.
func TestJudge(t *testing.T) {
	folder := t.TempDir()
	for name, lines := range map[string][]string{"1.json": {
		`{"Action":"run","Package":"p","Test":"TestFlaky"}`,
		`{"Action":"output","Package":"p","Test":"TestFlaky","Output":"=== RUN   TestFlaky\n"}`,
		`{"Action":"output","Package":"p","Test":"TestFlaky","Output":"    x_test.go:1: too late\n"}`,
		`{"Action":"fail","Package":"p","Test":"TestFlaky","Elapsed":3}`,
		`{"Action":"fail","Package":"p","Test":"TestTable/red","Elapsed":1}`,
		`{"Action":"pass","Package":"p","Test":"TestTable/green","Elapsed":2}`,
		`{"Action":"fail","Package":"p","Test":"TestTable","Elapsed":4}`,
		`{"Action":"skip","Package":"p","Test":"TestSkipped"}`,
		`{"Action":"fail","Package":"p","Elapsed":9}`,
		`{"Action":"output","Package":"p","Test":"TestFlaky","Output":"again\n"}`,
		`{"Action":"pass","Package":"p","Test":"TestFlaky","Elapsed":1}`,
		`{"Action":"fail","Package":"p","Test":"TestTable/red","Elapsed":1}`,
	}, "2.json": {
		`{"Action":"run","Package":"q","Test":"TestKilled"}`,
		`{"Action":"pass","Package":"q","Test":"TestFlaky","Elapsed":5}`,
		`{"Action":"fail","Package":"q","Elapsed":9}`,
		`{"Action":"output","Package":"r","Output":"LEFT BEHIND: process 7\n"}`,
		`{"Action":"fail","Package":"r","Elapsed":9}`,
		`{"Action":"pass","Package":"s","Elapsed":9}`,
		`{"Action":"ou`,
	}} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, broken, err := outcomes(folder)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"r: LEFT BEHIND: process 7", "q.TestKilled (did not end)", "r (the package)"}, broken); diff != "" {
		t.Error(diff)
	}
	want := Receipt{
		Tests: 5, Failed: []string{"p.TestTable/red"},
		Flaky:   []Flake{{Test: "p.TestFlaky", New: true, Line: "x_test.go:1: too late"}},
		Slowest: []Timed{{"q.TestFlaky", 5}, {"p.TestTable", 4}, {"p.TestFlaky", 3}, {"p.TestTable/green", 2}, {"p.TestTable/red", 1}},
	}
	if diff := cmp.Diff(want, judge(all, "")); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(filepath.Join(folder, "CUT"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, broken, err := outcomes(folder); err != nil || len(broken) != 1 {
		t.Errorf("of what was cut short: %q, %v", broken, err)
	}
	if r := judge(all, "| `p.TestFlaky` | 2026-11-27 | too late | open |"); r.Flaky[0].New {
		t.Error("a known flake is new")
	}
}

func TestSummary(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, r := range []Receipt{
		{Area: "cli", OK: true, Tests: 12, Seconds: 40, Flaky: []Flake{{New: true}, {}}, Commit: "abc"},
		{Area: "tmux", Tests: 7, Seconds: 3, Failed: []string{"TestX"}, Commit: "abc"},
	} {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, r.Area+".json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	if err := summary(&said, []string{"cli"}); err != nil {
		t.Error(err)
	}
	said.Reset()
	err := summary(&said, []string{"cli", "tmux", "hub"})
	if err == nil || err.Error() != "failed: tmux, hub" {
		t.Error(err)
	}
	want := "```\n" +
		"cli         ok       40 s    12 tests  2 FLAKY (1 new)  abc\n" +
		"tmux        FAIL      3 s     7 tests  1 FAIL  abc\n" +
		"hub         no receipt: open dist/check/hub.json: no such file or directory\n```\n"
	if diff := cmp.Diff(want, said.String()); diff != "" {
		t.Error(diff)
	}
}
