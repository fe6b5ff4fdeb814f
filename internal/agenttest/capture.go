package agenttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Captures is the environment variable with the folder that captures are written
// to: agent/testdata. Empty: none are.
const Captures = "AGENTFORM_CAPTURES"

// longest is how long a recorded line may be, in bytes: some files begin with all
// that the agent knows, which says nothing about a situation.
const longest = 8 << 10

// Capture records a look in FOLDER/AGENT/SITUATION: the screen, the title, what
// the hooks told and what the agent's own files say, with the paths of the lab
// taken out. The golden tests of package agent read it.
func (r *Run) Capture(folder, situation string, l Look) error {
	dir := filepath.Join(folder, r.Lab.Agent, situation)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var signals, native bytes.Buffer
	for _, s := range l.Signals {
		signals.Write(append(bytes.TrimSpace(s.Data), '\n'))
	}
	for _, line := range r.Lines() {
		if len(line) <= longest && json.Valid(line) {
			native.Write(append(line, '\n'))
		}
	}
	exit := ""
	if l.Exit != nil {
		exit = fmt.Sprintln(l.Exit.Code)
	}
	for name, text := range map[string]string{
		"screen.txt":    l.Screen,
		"title.txt":     r.title(l) + "\n",
		"exit.txt":      exit,
		"version.txt":   r.Lab.Version + "\n",
		"signals.jsonl": signals.String(),
		"native.jsonl":  native.String(),
	} {
		path := filepath.Join(dir, name)
		if text == "" {
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				return err
			}
			continue
		}
		if err := os.WriteFile(path, []byte(r.Lab.anonymous(text)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// title is the title that the agent has set; before that it is the machine's name,
// which says nothing.
func (r *Run) title(l Look) string {
	if host, err := os.Hostname(); err == nil && l.Title == host {
		return ""
	}
	return l.Title
}

// anonymous is a text without the paths of the lab, which are others each time.
func (l *Lab) anonymous(text string) string {
	slug := func(path string) string { return strings.NewReplacer("/", "-", ".", "-").Replace(path) }
	return strings.NewReplacer(
		l.Model.URL, "http://127.0.0.1:8080", strings.TrimPrefix(l.Model.URL, "http://"), "127.0.0.1:8080",
		l.Dir, "/work/shop", l.Home, "/home/tester", l.root, "/work", slug(l.Dir), "-work-shop", slug(l.root), "-work",
		filepath.Dir(l.Spec.Command[0]), "/usr/local/bin",
	).Replace(text)
}
