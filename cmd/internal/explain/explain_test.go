package explain_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/explain"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/session"
)

// TestEveryTopic checks that every path of the schema is found, fits the width, and has a valid
// example.
func TestEveryTopic(t *testing.T) {
	s := explain.Read()
	all := s.Topics()
	if len(all) < 150 {
		t.Fatalf("the schema has %d topics", len(all))
	}
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "prices.json"), []byte(`{"models": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, topic := range all {
		t.Run(topic.Path, func(t *testing.T) {
			if found, err := s.Find(topic.Path); err != nil || found.Path != topic.Path {
				t.Errorf("found %q, %v", found.Path, err)
			}
			for _, width := range []int{60, 100} {
				text := topic.Text(width)
				description, example, _ := strings.Cut(text, "Example:\n")
				if !strings.HasPrefix(description, topic.Path) || strings.Contains(description, "](") || strings.Contains(description, "..") {
					t.Errorf("description:\n%s", text)
				}
				if topic.Attribute != nil && !strings.Contains(description, "Type:") {
					t.Errorf("no type:\n%s", text)
				}
				if a := topic.Attribute; a != nil && a.Default != "" && !strings.Contains(strings.Join(strings.Fields(description), " "), "Default: "+a.Default) {
					t.Errorf("no default:\n%s", text)
				}
				if topic.Title() == "" {
					t.Error("no title")
				}
				_, rest, _ := strings.Cut(example, "\n\n")
				for line := range strings.Lines(description + rest) {
					if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > width && strings.Contains(strings.TrimSpace(line), " ") {
						t.Errorf("wider than %d: %s", width, line)
					}
				}
			}
			checkExample(t, dir, topic)
		})
	}
}

func checkExample(t *testing.T, dir string, topic explain.Topic) {
	t.Helper()
	example := topic.Example()
	if a := topic.Attribute; a != nil && !strings.Contains(example, a.Name) {
		t.Errorf("the example lacks it:\n%s", example)
	}
	if formatted, err := config.Format([]byte(example)); err != nil || string(formatted) != example {
		t.Errorf("not formatted: %v\n%s", err, example)
	}
	manifest := example
	for _, name := range []string{"api", "db", "worker"} { // that examples refer to
		if !strings.Contains(example, "session \""+name+"\"") {
			manifest += "session \"" + name + "\" {\n  agent = \"claude\"\n  branch = \"agents/" + name + "${" + instance(name) + "}\"\n" + instances(name) + "}\n"
		}
	}
	manifest += "variable \"release\" {\n  default = \"1\"\n}\n"
	if !strings.Contains(example, "variable \"ticket\"") {
		manifest += "variable \"ticket\" {\n  default = \"SHOP-1\"\n}\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "agentform.hcl"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	_, problems := config.Load(config.Options{Dir: dir, Builtins: agent.Builtins(), Version: "dev", Environ: []string{"HOME=" + dir}, Vars: []config.Var{{Name: "ticket", Value: "SHOP-1"}}})
	for _, d := range problems {
		if d.Severity == session.Error {
			t.Errorf("%s: %s\n%s", d.Summary, d.Detail, manifest)
		}
	}
}

func instance(name string) string {
	if name == "worker" {
		return "each.key"
	}
	return `""`
}

func instances(name string) string {
	if name == "worker" {
		return "  for_each = toset([\"web\", \"docs\"])\n"
	}
	return ""
}

// TestValues checks that each value of an enumeration has its own line.
func TestValues(t *testing.T) {
	topic, err := explain.Read().Find("session.restart.policy")
	if err != nil {
		t.Fatal(err)
	}
	const want = `
Values:
  never       the hub leaves it, however it ended
  on-failure  the hub restarts it, unless it exited with 0
  always      the hub restarts it, unless it is a one-shot agent that is done
`
	if text := topic.Text(80); !strings.Contains(text, want) {
		t.Errorf("got:\n%s\nwant in it:\n%s", text, want)
	}
}

func TestFind(t *testing.T) {
	s := explain.Read()
	for typed, want := range map[string]string{
		"backoff":                        "agent.restart.backoff or session.restart.backoff?",
		"session.restrat":                "Did you mean session.restart?",
		"sesion":                         "Did you mean session?",
		"session.restart.bakoff.initial": "session.restart.backoff.initial?",
		"Session":                        "Did you mean session?",
		"runtime.memory":                 "runtime.docker.memory",
		"image":                          "runtime.docker.image or runtime.kubernetes.image?",
		"nothing-of-the-kind":            "agentform explain lists them",
	} {
		if _, err := s.Find(typed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", typed, err)
		}
	}
}

func TestComplete(t *testing.T) {
	s := explain.Read()
	for typed, want := range map[string]string{
		"ses":                       "session",
		"session.re":                "session.refresh session.restart",
		"session.restart.b":         "session.restart.backoff",
		"session.restart.backoff.f": "session.restart.backoff.factor",
		"runtime.d":                 "runtime.docker",
		"x":                         "",
	} {
		var found []string
		for _, topic := range s.Complete(typed) {
			found = append(found, topic.Path)
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%s: %q, want %q", typed, got, want)
		}
	}
	if n := len(s.Complete("")); n != len(s.Blocks) {
		t.Errorf("%d blocks are offered of %d", n, len(s.Blocks))
	}
}

func TestOverview(t *testing.T) {
	s := explain.Read()
	text := s.Overview(60)
	for _, b := range s.Blocks {
		if !strings.Contains(text, "\n  "+b.Type+" ") {
			t.Errorf("the overview lacks %s", b.Type)
		}
	}
}
