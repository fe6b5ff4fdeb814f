package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestInstall checks that nothing installs cmd/..., which also has the tools of this
// repository: cmd/agentform... is its two programs.
func TestInstall(t *testing.T) {
	all := regexp.MustCompile(`install .*\bcmd/\.\.\..*`)
	for _, root := range []string{"../README.md", "../Makefile", "../examples/ci", "../cmd", "../docker", "../kubernetes", "../internal/shim"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if line := all.FindString(string(text)); line != "" {
				t.Errorf("%s: %s", path, line)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

const install = "go install github.com/agentform/agentform/cmd/agentform@latest github.com/agentform/agentform/cmd/agentform-shim@latest"

// TestWorkflowsInstall checks that each job of a workflow for CI, as a file or in a document,
// installs agentform before its first command of it, with a Go that is there.
func TestWorkflowsInstall(t *testing.T) {
	texts := map[string]string{}
	files, err := filepath.Glob("../examples/ci/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(text)
	}
	for _, path := range documents(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks(t, path, string(text)) {
			if b.lang == "yaml" && strings.Contains(b.text(), "agentform ") {
				texts[b.at] = b.text()
			}
		}
	}
	n := 0
	for at, text := range texts {
		var workflow map[string]any
		if err := yaml.Unmarshal([]byte(text), &workflow); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		if jobs, ok := workflow["jobs"].(map[string]any); ok {
			workflow = jobs
		}
		for name, v := range workflow {
			job, _ := v.(map[string]any)
			lines := jobLines(job)
			first := slices.IndexFunc(lines, regexp.MustCompile(`^agentform `).MatchString)
			if first < 0 {
				continue
			}
			n++
			before := lines[:first]
			done := slices.IndexFunc(before, func(l string) bool { return strings.HasSuffix(l, install) })
			if done < 0 {
				t.Errorf("%s: the job %s does not install agentform before: %s", at, name, lines[first])
				continue
			}
			image, _ := job["image"].(string)
			own := job["tags"] != nil // a runner of one's own, whose shell has Go
			if !own && !strings.HasPrefix(image, "golang:") && !slices.Contains(before[:done], "actions/setup-go@v5") {
				t.Errorf("%s: the job %s has no Go to install agentform with", at, name)
			}
		}
	}
	if n < 9 {
		t.Errorf("only %d jobs run agentform", n)
	}
}

// jobLines returns the lines that a job of GitHub or GitLab runs, and the actions that it uses, in order.
func jobLines(job map[string]any) []string {
	var text strings.Builder
	steps, _ := job["steps"].([]any)
	for _, v := range steps {
		step, _ := v.(map[string]any)
		for _, key := range []string{"uses", "run"} {
			if step[key] != nil {
				fmt.Fprintln(&text, step[key])
			}
		}
	}
	switch script := job["script"].(type) {
	case string:
		fmt.Fprintln(&text, script)
	case []any:
		for _, line := range script {
			fmt.Fprintln(&text, line)
		}
	}
	return strings.Split(text.String(), "\n")
}
