package fakeagent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// claude is what the fake agent keeps and tells in the manner of Claude Code
// 2.1.197, so that the adapter of that reads it: a transcript, a state file, hooks.
type claude struct {
	id         string // of the conversation
	transcript string
	state      string
	hooks      map[string]string // commands by event
}

// newClaude is one that gets its conversation and its settings by flags. Both
// may be empty: it then keeps nothing, or tells nobody.
func newClaude(id, settings string) (*claude, error) {
	c := &claude{id: id, hooks: map[string]string{}}
	home, dir := os.Getenv("HOME"), "."
	if wd, err := os.Getwd(); err == nil {
		dir = wd
	}
	project := regexp.MustCompile(`[^a-zA-Z0-9]`).ReplaceAllString(dir, "-")
	c.transcript = filepath.Join(home, ".claude", "projects", project, id+".jsonl")
	c.state = filepath.Join(home, ".claude", "sessions", fmt.Sprint(os.Getpid())+".json")
	for _, path := range []string{c.transcript, c.state} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
	}
	if settings == "" {
		return c, nil
	}
	text, err := os.ReadFile(settings)
	if err != nil {
		return nil, err
	}
	var file struct {
		Hooks map[string][]struct {
			Hooks []struct{ Command string }
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	for event, all := range file.Hooks {
		c.hooks[event] = all[0].Hooks[0].Command
	}
	return c, nil
}

// tell calls the hook of an event.
func (c *claude) tell(event string, more map[string]any) {
	if c.hooks[event] == "" {
		return
	}
	said := map[string]any{"hook_event_name": event, "session_id": c.id, "transcript_path": c.transcript}
	for k, v := range more {
		said[k] = v
	}
	hook := exec.Command("sh", "-c", c.hooks[event])
	b, err := json.Marshal(said)
	if err != nil {
		return
	}
	hook.Stdin = strings.NewReader(string(b))
	if out, err := hook.CombinedOutput(); err != nil || len(out) > 0 {
		fmt.Printf("hook %s: %v %s\r\n", event, err, out)
	}
}

// keep adds a line to the transcript.
func (c *claude) keep(line map[string]any) {
	line["sessionId"], line["timestamp"] = c.id, time.Now().UTC()
	if dir, err := os.Getwd(); err == nil {
		line["cwd"] = dir
	}
	f, err := os.OpenFile(c.transcript, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_ = json.NewEncoder(f).Encode(line) // a test looks for it
}

// is writes the state of now.
func (c *claude) is(status, waitingFor string) {
	b, err := json.Marshal(map[string]any{"pid": os.Getpid(), "sessionId": c.id, "kind": "interactive", "status": status,
		"waitingFor": waitingFor, "startedAt": time.Now().UnixMilli(), "statusUpdatedAt": time.Now().UnixMilli()})
	if err == nil {
		_ = os.WriteFile(c.state, b, 0o600)
	}
}

// said is a message: of the user, or of the agent.
func (c *claude) said(who, text string) {
	message := map[string]any{"role": who, "content": text}
	if who == "assistant" {
		message["id"] = fmt.Sprint(time.Now().UnixNano())
		message["model"] = cmp.Or(os.Getenv("FAKE_MODEL"), "fake-1")
		input := 100
		_, _ = fmt.Sscan(os.Getenv("FAKE_TOKENS"), &input) // else 100
		message["usage"] = map[string]any{"input_tokens": input, "output_tokens": input / 10}
	}
	c.keep(map[string]any{"type": who, "message": message})
}

// left takes away what a clean exit does.
func (c *claude) left() {
	_ = os.Remove(c.state)
	c.tell("SessionEnd", map[string]any{"reason": "prompt_input_exit"})
}
