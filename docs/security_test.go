package docs_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	promise = regexp.MustCompile(`(?m)^\| (\d+) \| (.+) \| (.+) \|$`)
	quoted  = regexp.MustCompile("`([^`]+)`")
	tested  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	counted = regexp.MustCompile(`(\d+)(?:–(\d+))?`)
)

// TestSecurity: each promise of security.md names tests that there are, and is
// what holds against somebody.
func TestSecurity(t *testing.T) {
	there := tests(t)
	text, err := os.ReadFile("security.md")
	if err != nil {
		t.Fatal(err)
	}
	promises := promise.FindAllSubmatch(text, -1)
	if len(promises) < 20 {
		t.Fatalf("security.md has %d promises", len(promises))
	}
	for i, p := range promises {
		if got := string(p[1]); got != strconv.Itoa(i+1) {
			t.Errorf("promise %s is the %dth", got, i+1)
		}
		names := quoted.FindAllSubmatch(p[3], -1)
		if len(names) == 0 {
			t.Errorf("promise %s names no test", p[1])
		}
		for _, name := range names {
			if !there[string(name[1])] {
				t.Errorf("promise %s: there is no test %s", p[1], name[1])
			}
		}
	}
	var held []int
	who, _, _ := bytes.Cut(text, []byte("## Promises"))
	for line := range strings.Lines(string(who)) {
		if !strings.HasPrefix(line, "| **") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(line), " |"), " | ")
		for _, m := range counted.FindAllStringSubmatch(cells[len(cells)-1], -1) {
			from, _ := strconv.Atoi(m[1])
			to := from
			if m[2] != "" {
				to, _ = strconv.Atoi(m[2])
			}
			for n := from; n <= to; n++ {
				held = append(held, n)
			}
		}
	}
	for i := range promises {
		if !slices.Contains(held, i+1) {
			t.Errorf("promise %d is held against nobody", i+1)
		}
	}
}

// tests are the names of all tests, fuzz targets and scripts of the repository, and
// of the manifests that are refused.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != "..":
			return fs.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			for _, m := range tested.FindAllSubmatch(text, -1) {
				found[string(m[1])] = true
			}
			return err
		case strings.HasSuffix(path, ".txtar"):
			_, name, _ := strings.Cut(filepath.ToSlash(path), "testdata/script/")
			found[strings.TrimPrefix(name, "scripted/")] = true
		case strings.HasSuffix(path, "want.txt"):
			found[filepath.Base(filepath.Dir(filepath.Dir(path)))+"/"+filepath.Base(filepath.Dir(path))] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
