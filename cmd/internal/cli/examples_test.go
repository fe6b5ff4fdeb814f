package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/agentform/agentform/cmd/internal/cli"
)

// job is what GitHub and GitLab call a job, as far as both files use it.
type job struct {
	RunsOn      any      `yaml:"runs-on"`
	If          string   `yaml:"if"`
	Permissions any      `yaml:"permissions"`
	Env         any      `yaml:"env"`
	Steps       []step   `yaml:"steps"`
	Stage       string   `yaml:"stage"`
	Image       string   `yaml:"image"`
	Tags        []string `yaml:"tags"`
	Rules       []any    `yaml:"rules"`
	Variables   any      `yaml:"variables"`
	Script      []string `yaml:"script"`
	Allow       any      `yaml:"allow_failure"`
	Artifacts   any      `yaml:"artifacts"`
}

type step struct {
	Name string         `yaml:"name"`
	ID   string         `yaml:"id"`
	If   string         `yaml:"if"`
	Uses string         `yaml:"uses"`
	Run  string         `yaml:"run"`
	With map[string]any `yaml:"with"`
}

// invocation is a command line of agentform's in a script, without what the
// shell makes of its end.
var invocation = regexp.MustCompile(`(?m)^\s*agentform ([^>|&\n]*)`)

// The files for CI are YAML that has what it must, nothing is in them twice or
// misspelt, and agentform understands every command line in them.
func TestCI(t *testing.T) {
	scripts := map[string][]string{"github.yml": githubScripts(t), "gitlab.yml": gitlabScripts(t)}
	files, err := filepath.Glob("../../../examples/ci/*")
	if err != nil || len(files) != len(scripts) {
		t.Errorf("examples/ci has %q, %v", files, err)
	}
	for file, lines := range scripts {
		drifts := 0
		for _, m := range invocation.FindAllStringSubmatch(strings.Join(lines, "\n"), -1) {
			args := strings.Fields(strings.ReplaceAll(m[1], `"$PROJECT"`, "."))
			if slices.Contains(args, "drift") {
				drifts++
			}
			var said bytes.Buffer
			code := cli.Run(context.Background(), cli.Env{Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said,
				Dir: t.TempDir(), Args: append(args, "--help")})
			if code != 0 {
				t.Errorf("%s: agentform %s: exit %d\n%s", file, m[1], code, said.String())
			}
		}
		if drifts < 4 {
			t.Errorf("%s runs drift %d times", file, drifts)
		}
	}
}

// decode reads a file strictly.
func decode(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../examples/ci", filepath.Base(file)))
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func githubScripts(t *testing.T) (scripts []string) {
	var w struct {
		Name        string
		On          map[string]any
		Permissions map[string]string
		Jobs        map[string]job
	}
	decode(t, "github.yml", &w)
	for name, j := range w.Jobs {
		if j.RunsOn == nil || len(j.Steps) == 0 {
			t.Errorf("github.yml: job %s runs nowhere, or does nothing", name)
		}
		for _, s := range j.Steps {
			if (s.Uses == "") == (s.Run == "") {
				t.Errorf("github.yml: job %s: a step runs or uses something: %+v", name, s)
			}
			scripts = append(scripts, s.Run)
		}
	}
	if live := w.Jobs["drift"]; live.If != "github.event_name != 'pull_request'" {
		t.Errorf("github.yml: the job on the host runs if %q: never what a pull request brings along", live.If)
	}
	return scripts
}

func gitlabScripts(t *testing.T) (scripts []string) {
	var w struct {
		Stages     []string
		Drift      job `yaml:"agentform-drift"`
		NotApplied job `yaml:"agentform-not-applied"`
	}
	decode(t, "gitlab.yml", &w)
	for _, j := range []job{w.Drift, w.NotApplied} {
		if !slices.Contains(w.Stages, j.Stage) || len(j.Rules) == 0 {
			t.Errorf("gitlab.yml: stage %q of %q, rules %v", j.Stage, w.Stages, j.Rules)
		}
		scripts = append(scripts, j.Script...)
	}
	return scripts
}
