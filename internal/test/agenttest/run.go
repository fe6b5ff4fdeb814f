package agenttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// Run is one start of an agent.
type Run struct {
	Lab   *Lab
	Input session.StartInput // what the adapter was given
	Start session.Start      // what it said
	At    time.Time

	pane
	agent   session.Agent
	signals string // the file that the hooks' words go to
}

// Look is what was seen of a run at one time.
type Look struct {
	session.Evidence
	Detection session.Detection // what the adapter makes of all of it
}

// Start starts the agent as its adapter says, with hooks, and pastes nothing: a
// prompt that the adapter wants typed stands in Run.Start.Paste. The changes are
// made to what the adapter is given.
func (l *Lab) Start(prompt string, changes ...func(*session.StartInput)) *Run {
	l.t.Helper()
	l.number++
	folder := filepath.Join(l.root, "run-"+strconv.Itoa(l.number))
	r := &Run{Lab: l, At: time.Now(), pane: pane{lab: l, number: l.number, exit: filepath.Join(folder, "exit")}}
	private := filepath.Join(folder, "private")
	if err := os.MkdirAll(private, 0o700); err != nil {
		l.t.Fatal(err)
	}
	r.signals = filepath.Join(folder, "signals")
	notify := filepath.Join(folder, "notify")
	// A line for each thing told: on standard input or as the last argument.
	script := "#!/bin/sh\nif [ $# -gt 1 ]; then printf '%s\\n' \"$2\"; else cat; echo; fi >>\"$1\"\n"
	executable.Write(l.t, notify, []byte(script), 0o700)
	// Gemini CLI names a conversation's file by the minute and the first eight digits.
	began := r.At.UnixNano()
	r.Input = session.StartInput{
		Spec:   session.Spec{Agent: l.Spec, Workspace: session.Workspace{Path: l.Dir}},
		Prompt: prompt, Fresh: fmt.Sprintf("%08x-0000-4000-8000-%012d", uint32(began>>16), began%1e12),
		Notify: []string{notify, r.signals}, Private: private, Root: os.Geteuid() == 0,
	}
	for _, change := range changes {
		change(&r.Input)
	}
	r.agent = agent.For(r.Input.Spec.Agent)
	r.Start = r.agent.Start(r.Input)
	for name, text := range r.Start.Files {
		if err := os.WriteFile(filepath.Join(r.Input.Private, name), []byte(text), 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
	r.open(r.Start.Argv, r.env())
	return r
}

// env is all that the run's environment has.
func (r *Run) env() map[string]string {
	env := maps.Clone(r.Lab.Env)
	maps.Copy(env, r.Input.Spec.Agent.Env)
	maps.Copy(env, r.Start.Env)
	return env
}

// Signals are what the hooks told so far.
func (r *Run) Signals() []session.Signal {
	text, err := os.ReadFile(r.signals)
	if err != nil {
		return nil // nothing was told yet
	}
	var all []session.Signal
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); json.Valid(line) {
			all = append(all, session.Signal{Data: line})
		}
	}
	return all
}

// Files are the agent's own session files that are there, as its adapter finds
// them.
func (r *Run) Files() []string {
	of := session.Lookup{
		Dir: r.Lab.Dir, Home: r.Lab.Home, Env: r.env(), Process: r.Process(),
		Conversation: r.Start.Conversation, StartedAt: r.At,
	}
	if of.Conversation == "" {
		of.Conversation = r.Input.Conversation
	}
	var files []string
	for _, pattern := range r.agent.Files(of) {
		found, err := filepath.Glob(pattern)
		if err != nil {
			r.Lab.t.Fatalf("the adapter looks for its files with %q: %v", pattern, err)
		}
		if len(found) > 0 {
			files = append(files, slices.MaxFunc(found, func(a, b string) int { return modified(a).Compare(modified(b)) }))
		}
	}
	return files
}

func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// Lines are the lines of the agent's own session files.
func (r *Run) Lines() [][]byte {
	var all [][]byte
	for _, file := range r.Files() {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it went meanwhile
		}
		for line := range bytes.Lines(text) {
			all = append(all, bytes.TrimSuffix(line, []byte("\n")))
		}
	}
	return all
}

// Transcript is what the agent's own session files say; nil when there are none.
func (r *Run) Transcript() *session.Transcript {
	lines := r.Lines()
	if len(lines) == 0 {
		return nil
	}
	n := session.ReadTranscript(r.agent, lines)
	return &n
}

// Look looks at everything.
func (r *Run) Look() Look {
	r.Lab.t.Helper()
	e := session.Evidence{
		Liveness: session.Alive, Exit: r.Exit(), Title: r.Title(), Screen: strings.TrimSuffix(r.Screen(), "\n"),
		Now: time.Now(), StartedAt: r.At, Prompted: r.Input.Prompt != "",
		Transcript: r.Transcript(), Signals: r.Signals(),
	}
	e.Blank = e.Screen == ""
	if e.Exit != nil {
		e.Liveness = session.Dead
	}
	return Look{Evidence: e, Detection: r.agent.Detect(e)}
}

// Ready reports whether the adapter takes the screen for one that a prompt can be
// typed at.
func (r *Run) Ready() bool { return r.agent.Ready(r.Screen()) }

// afterExit is for how many looks an agent that has exited may still be waited for: its files
// may be late.
const afterExit = 200

// Until looks until it sees what is waited for, and is that look. The test ends,
// with all there is to see, when it does not come, or the agent has exited without it.
func (r *Run) Until(what string, seen func(Look) bool) (l Look) {
	r.Lab.t.Helper()
	exited := 0
	wait.For(r.Lab.t, what+", by "+r.Lab.Agent+" "+r.Lab.Version, func() (any, bool) {
		l = r.Look()
		if seen(l) {
			return nil, true
		}
		if l.Exit != nil {
			exited++
		}
		if exited > afterExit {
			r.Lab.t.Fatalf("it exited without %s:\n%s", what, r.report(l))
		}
		return func() string { return r.report(l) }, false
	})
	return l
}

// report is a look for people.
func (r *Run) report(l Look) string {
	var b strings.Builder
	fmt.Fprintf(&b, "detection  %+v\nexit       %+v\ntitle      %q\n", l.Detection, l.Exit, l.Title)
	if l.Transcript != nil {
		fmt.Fprintf(&b, "transcript %+v\n", *l.Transcript)
	}
	for _, s := range l.Signals {
		fmt.Fprintf(&b, "signal     %.300s\n", s.Data)
	}
	for _, q := range r.Lab.Model.Requests() {
		fmt.Fprintf(&b, "request    %s %s side=%v results=%d prompts=%d %.200q\n", q.At.Format("15:04:05.000"), q.Path, q.Side, q.Results, len(q.Prompts), q.Prompt())
	}
	fmt.Fprintf(&b, "started    %q\n%s\n", r.Start.Argv, l.Screen)
	return b.String()
}
