// Command receipt says what came of an area of make check.
//
//	receipt AREA STATUS SECONDS COMMIT   writes dist/check/AREA.json from the events in dist/check/AREA
//	receipt summary AREA...              writes dist/check/summary.md from their receipts, and prints it
//
// An area is ok if its commands ended with 0, no test failed in the end, and no package did
// without one. An area's log of the first failure of each flaky test is in
// dist/check/AREA/flaky.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dir is where the receipts are.
const dir = "dist/check"

// flakes lists the flaky tests that are known.
const flakes = "internal/test/flakes.md"

// module is left out of the names of packages.
const module = "github.com/agentform/agentform/"

// Receipt says what came of an area.
type Receipt struct {
	Area    string    `json:"area"`
	Commit  string    `json:"commit"` // ends in -dirty if the work tree had changes
	Ended   time.Time `json:"ended"`
	OK      bool      `json:"ok"`
	Seconds int       `json:"seconds"`
	Load    string    `json:"load"` // of the last minute, five and fifteen minutes, at the end
	Tests   int       `json:"tests"`
	Failed  []string  `json:"failed"`
	Flaky   []Flake   `json:"flaky"`
	Slowest []Timed   `json:"slowest"` // at most ten
}

// Flake is a test that failed and then passed.
type Flake struct {
	Test string `json:"test"`
	New  bool   `json:"new"` // it is not in internal/test/flakes.md
	Line string `json:"line"`
	Log  string `json:"log"`
}

// Timed is a test and how long it took.
type Timed struct {
	Test    string  `json:"test"`
	Seconds float64 `json:"seconds"`
}

// event is what go test -json writes.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// outcome is what came of a test in all of its runs.
type outcome struct {
	pkg   string
	name  string   // with the package
	open  bool     // its last run has not ended
	runs  []string // pass, fail or skip
	first []string // what it printed in its first run
	took  float64  // seconds, of the first run
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "receipt:", err)
		os.Exit(1)
	}
}

// run does what the command line says.
func run(args []string) error {
	switch {
	case len(args) > 1 && args[0] == "summary":
		return summary(os.Stdout, args[1:])
	case len(args) == 4:
		return write(args[0], args[1], args[2], args[3])
	}
	return errors.New("usage: receipt AREA STATUS SECONDS COMMIT or receipt summary AREAS")
}

// write writes the receipt of an area whose commands ended with that exit status. The error
// says that it is not ok.
func write(area, status, seconds, commit string) error {
	took, err := strconv.Atoi(seconds)
	if err != nil {
		return err
	}
	all, broken, err := outcomes(filepath.Join(dir, area))
	if err != nil {
		return err
	}
	known, err := os.ReadFile(flakes)
	if err != nil {
		return err
	}
	r := judge(all, string(known))
	r.Failed = append(r.Failed, broken...)
	r.Area, r.Commit, r.Ended = area, commit, time.Now().UTC().Truncate(time.Second)
	r.OK, r.Seconds, r.Load = status == "0" && len(r.Failed) == 0, took, load()
	for _, o := range all {
		for i, f := range r.Flaky {
			if f.Test != o.name {
				continue
			}
			r.Flaky[i].Log = filepath.Join(dir, area, "flaky", strings.NewReplacer("/", "_", " ", "_").Replace(o.name)+".log")
			if err := os.MkdirAll(filepath.Dir(r.Flaky[i].Log), 0o755); err != nil {
				return err
			}
			text := fmt.Sprintf("load at the end of the area: %s\n%s", r.Load, strings.Join(o.first, ""))
			if err := os.WriteFile(r.Flaky[i].Log, []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, area+".json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	fmt.Println(r.line())
	for _, name := range r.Failed {
		fmt.Println("  FAIL ", name)
	}
	for _, f := range r.Flaky {
		fmt.Printf("  FLAKY %s: %s\n        %s\n", f.Test, f.Line, f.Log)
	}
	if !r.OK {
		return fmt.Errorf("area %s is not ok", area)
	}
	return nil
}

// judge tells failed tests and flaky ones from the others. Tests with subtests that failed
// are left out, since their subtests are named.
func judge(all []*outcome, known string) Receipt {
	r := Receipt{Failed: []string{}, Flaky: []Flake{}, Slowest: []Timed{}}
	for _, o := range all {
		if len(o.runs) == 0 || o.runs[0] == "skip" {
			continue
		}
		r.Tests++
		r.Slowest = append(r.Slowest, Timed{o.name, o.took})
		inside := slices.ContainsFunc(all, func(other *outcome) bool {
			return strings.HasPrefix(other.name, o.name+"/") && slices.Contains(other.runs, "fail")
		})
		switch {
		case inside || !slices.Contains(o.runs, "fail"):
		case o.runs[len(o.runs)-1] == "fail":
			r.Failed = append(r.Failed, o.name)
		default:
			r.Flaky = append(r.Flaky, Flake{Test: o.name, New: !strings.Contains(known, "`"+o.name+"`"), Line: complaint(o.first)})
		}
	}
	slices.SortStableFunc(r.Slowest, func(a, b Timed) int { return cmp.Compare(b.Seconds, a.Seconds) })
	r.Slowest = r.Slowest[:min(10, len(r.Slowest))]
	return r
}

// complaint returns the first line that a failed test printed of itself.
func complaint(lines []string) string {
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			return line
		}
	}
	return ""
}

// leftBehind begins what a TestMain prints of processes, containers and the like that its tests
// left. It is red also if a test of the package was flaky.
const leftBehind = "LEFT BEHIND: "

// outcomes reads the events of all files in a directory. There are none if it does not exist.
// broken are failures that are no test's: of what does not compile, did not end or was left
// behind. With a file CUT the tests were ended early, and what had not ended is no failure.
func outcomes(dir string) (all []*outcome, broken []string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, nil, err
	}
	_, uncut := os.Stat(filepath.Join(dir, "CUT"))
	failed := map[string]bool{} // packages
	by := map[string]*outcome{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, nil, err
		}
		for in := bufio.NewReader(bytes.NewReader(text)); ; {
			line, err := in.ReadBytes('\n')
			if err == io.EOF {
				break // a last line without an end is of a run that was killed
			}
			var e event
			if err := json.Unmarshal(line, &e); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
			pkg := strings.TrimPrefix(e.Package, module)
			switch {
			case e.Test != "":
			case e.Action == "fail":
				failed[pkg] = true
				continue
			case e.Action == "output" && strings.HasPrefix(e.Output, leftBehind):
				broken = append(broken, pkg+": "+strings.TrimSpace(e.Output))
				continue
			default:
				continue
			}
			key := pkg + "." + e.Test
			o := by[key]
			if o == nil {
				o = &outcome{pkg: pkg, name: key}
				by[key], all = o, append(all, o)
			}
			switch e.Action {
			case "run":
				o.open = true
			case "output":
				if len(o.runs) == 0 {
					o.first = append(o.first, e.Output)
				}
			case "pass", "fail", "skip":
				if len(o.runs) == 0 {
					o.took = e.Elapsed
				}
				o.runs, o.open = append(o.runs, e.Action), false
			}
		}
	}
	for _, o := range all {
		if o.open || slices.Contains(o.runs, "fail") {
			delete(failed, o.pkg)
		}
		if o.open && uncut != nil {
			broken = append(broken, o.name+" (did not end)")
		}
	}
	if uncut != nil {
		for _, pkg := range slices.Sorted(maps.Keys(failed)) {
			broken = append(broken, pkg+" (the package)")
		}
	}
	return all, broken, nil
}

// load returns the load averages of the machine; empty: it does not tell.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	return strings.Join(fields[:min(3, len(fields))], " ")
}

// line returns the row of a table for people.
func (r Receipt) line() string {
	result := "ok"
	if !r.OK {
		result = "FAIL"
	}
	text := fmt.Sprintf("%-11s %-5s %5d s %5d tests", r.Area, result, r.Seconds, r.Tests)
	if len(r.Failed) > 0 {
		text += fmt.Sprintf("  %d FAIL", len(r.Failed))
	}
	if n := len(r.Flaky); n > 0 {
		text += fmt.Sprintf("  %d FLAKY", n)
		if added := len(slices.DeleteFunc(slices.Clone(r.Flaky), func(f Flake) bool { return !f.New })); added > 0 {
			text += fmt.Sprintf(" (%d new)", added)
		}
	}
	return text
}

// summary writes the table of areas. It fails if one of them did, or has no receipt.
func summary(w io.Writer, areas []string) error {
	var text strings.Builder
	var red []string
	text.WriteString("```\n")
	for _, area := range areas {
		r := Receipt{Area: area}
		content, err := os.ReadFile(filepath.Join(dir, area+".json"))
		if err == nil {
			err = json.Unmarshal(content, &r)
		}
		if !r.OK {
			red = append(red, area)
		}
		if err != nil {
			fmt.Fprintf(&text, "%-11s no receipt: %v\n", area, err)
			continue
		}
		fmt.Fprintf(&text, "%s  %s\n", r.line(), r.Commit)
	}
	text.WriteString("```\n")
	if err := os.WriteFile(filepath.Join(dir, "summary.md"), []byte(text.String()), 0o644); err != nil {
		return err
	}
	fmt.Fprint(w, text.String())
	if len(red) > 0 {
		return fmt.Errorf("failed: %s", strings.Join(red, ", "))
	}
	return nil
}
