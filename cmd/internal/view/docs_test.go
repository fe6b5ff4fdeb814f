package view

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// described is the description of the JSON documents.
const described = "../../../docs/json.md"

// example is a block of the description with a golden file.
var example = regexp.MustCompile("(?ms)^```(jsonl?) (\\S+)\n(.*?)^```$")

// The examples in the description are exactly the golden files.
func TestExamples(t *testing.T) {
	b, err := os.ReadFile(described)
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	text := example.ReplaceAllStringFunc(string(b), func(block string) string {
		m := example.FindStringSubmatch(block)
		shown = append(shown, m[2])
		golden, err := os.ReadFile(filepath.Join("testdata", m[2]))
		if err != nil {
			t.Fatal(err)
		}
		if m[3] != string(golden) && !*update {
			t.Errorf("%s: the example %s is not what the program writes; -update writes it anew", described, m[2])
		}
		return "```" + m[1] + " " + m[2] + "\n" + string(golden) + "```"
	})
	if *update {
		if err := os.WriteFile(described, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob("testdata/*.json*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := filepath.Base(f); name != "plan-whole.json" && !slices.Contains(shown, name) {
			t.Errorf("%s does not show %s", described, name)
		}
	}
}

// Every field of a document is described. A record's fields are described with the state file.
func TestFieldsDescribed(t *testing.T) {
	b, err := os.ReadFile(described)
	if err != nil {
		t.Fatal(err)
	}
	prose := example.ReplaceAllString(string(b), "")
	files, err := filepath.Glob("testdata/*.json*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if filepath.Base(f) == "state-show.json" {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for d := json.NewDecoder(strings.NewReader(string(b))); d.More(); {
			var v any
			if err := d.Decode(&v); err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			for _, key := range keys(v) {
				if !strings.Contains(prose, "`"+key+"`") {
					t.Errorf("%s: the field `%s` of %s is not described", described, key, f)
				}
			}
		}
	}
}

// keys returns all keys of the objects in a JSON value, except in maps whose keys a user chooses.
func keys(v any) (found []string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			found = append(found, keys(e)...)
		}
	case map[string]any:
		for k, e := range v {
			found = append(found, k)
			if named, is := e.(map[string]any); is && k == "outputs" {
				for _, one := range named {
					found = append(found, keys(one)...)
				}
			} else if !slices.Contains([]string{"before", "after", "counts", "value"}, k) {
				found = append(found, keys(e)...)
			}
		}
	}
	return found
}
