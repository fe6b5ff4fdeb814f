package agenttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/session"
)

// Captures is the environment variable with the folder that captures are written
// to: agent/testdata. Empty: none are.
const Captures = "AGENTFORM_CAPTURES"

// longest is how long a text in a recorded line may be, in bytes: some files begin
// with all that the agent knows, which says nothing about a situation.
const longest = 1 << 10

// shortened is a line of JSON with its longest texts left out; a line that is none
// is empty, and so is what Claude Code attaches for its model to read.
func shortened(line []byte) []byte {
	var v any
	if json.Unmarshal(line, &v) != nil {
		return nil
	}
	if m, is := v.(map[string]any); is && m["type"] == "attachment" {
		return nil
	}
	if len(line) <= longest {
		return line
	}
	b, err := json.Marshal(cut(v))
	if err != nil {
		return nil
	}
	return b
}

func cut(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) > longest {
			return "…"
		}
	case []any:
		for i := range v {
			v[i] = cut(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = cut(v[key])
		}
	}
	return v
}

// Capture records a look in FOLDER/AGENT/SITUATION: the screen, the title, what
// the hooks told and what the agent's own files say, with the paths of the lab
// taken out. The golden tests of package agent read it.
func (r *Run) Capture(folder, situation string, l Look) error {
	dir := filepath.Join(folder, r.Lab.Agent, situation)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var signals, transcript bytes.Buffer
	for _, s := range l.Signals {
		signals.Write(append(bytes.TrimSpace(s.Data), '\n'))
	}
	for _, line := range r.Lines() {
		if line = shortened(line); line != nil {
			transcript.Write(append(line, '\n'))
		}
	}
	exit := ""
	if l.Exit != nil {
		exit = fmt.Sprintln(l.Exit.Code)
	}
	for name, text := range map[string]string{
		"screen.txt":       l.Screen + "\n",
		"title.txt":        r.title(l) + "\n",
		"exit.txt":         exit,
		"version.txt":      r.Lab.Version + "\n",
		"signals.jsonl":    signals.String(),
		"transcript.jsonl": transcript.String(),
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
		filepath.Base(l.root), "work", filepath.Dir(l.Spec.Command[0]), "/usr/local/bin",
	).Replace(text)
}

// CaptureUsage records session files in a folder: those at paths, each with the
// conversation in it, and those of their sub-agents. Beside them is what the model counted.
// The golden tests of package usage read it.
func (l *Lab) CaptureUsage(dir string, paths map[string]string, counted session.Tokens) error {
	files := map[string]string{} // by the path below the folder
	conversations := map[string]string{}
	for path, conversation := range paths {
		all := []string{path}
		if r, is := agent.For(l.Spec).(session.UsageReader); is {
			for _, pattern := range r.UsageFiles(path, conversation, time.Now()) {
				found, err := filepath.Glob(pattern)
				if err != nil {
					return err
				}
				all = append(all, found...)
			}
		}
		for _, file := range all {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			var short bytes.Buffer
			for line := range bytes.Lines(text) {
				if line = shortened(bytes.TrimSuffix(line, []byte("\n"))); line != nil {
					short.Write(append(line, '\n'))
				}
			}
			name, err := filepath.Rel(l.Home, file)
			if err != nil {
				return err
			}
			name = l.anonymous(name)
			files[name] = l.anonymous(short.String())
			if file == path {
				conversations[name] = conversation
			}
		}
	}
	known, err := json.MarshalIndent(map[string]any{"version": l.Version, "conversations": conversations, "counted": counted}, "", "  ")
	if err != nil {
		return err
	}
	files["counted.json"] = string(known) + "\n"
	for name, text := range files {
		path := filepath.Join(dir, strings.ReplaceAll(name, "/.", "/dot-"))
		if strings.HasPrefix(name, ".") {
			path = filepath.Join(dir, "dot-"+name[1:])
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
