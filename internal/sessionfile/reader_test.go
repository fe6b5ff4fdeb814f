package sessionfile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/session"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// scribe is an agent that keeps its sessions below HOME/.scribe, each with a state file. It counts
// the lines that are read.
type scribe struct {
	session.Fileless
	patterns []string
	read     int
}

type line struct {
	ID     string    `json:"id,omitempty"`
	Dir    string    `json:"dir,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Turn   bool      `json:"turn,omitempty"`
	Status string    `json:"status,omitempty"`
}

func (*scribe) Start(session.StartInput) session.Start           { return session.Start{} }
func (*scribe) Ready(string) bool                                { return true }
func (*scribe) Detect(session.Evidence) (none session.Detection) { return none }
func (s *scribe) Files(of session.Lookup) (all []string)         { return s.patterns }

func (s *scribe) Reader() session.TranscriptReader { return &scribed{of: s} }

// scribed is the state read from a scribe's lines.
type scribed struct {
	of *scribe
	n  session.Transcript
}

func (s *scribed) Transcript() session.Transcript { return s.n }

func (s *scribed) Add(text []byte) {
	s.of.read++
	var l line
	if json.Unmarshal(text, &l) != nil {
		return
	}
	if l.ID != "" {
		s.n.Conversation, s.n.Dir, s.n.StartedAt = l.ID, l.Dir, l.At
	}
	if l.Turn {
		s.n.Turns++
	}
	if l.Status != "" {
		s.n.Activity = session.Activity(l.Status)
	}
}

// desk is a home with session files.
type desk struct {
	t    *testing.T
	home string
	*scribe
	of session.Lookup
	Reader
}

func newDesk(t *testing.T) *desk {
	home := t.TempDir()
	return &desk{t: t, home: home,
		scribe: &scribe{patterns: []string{filepath.Join(home, ".scribe", "*", "*.jsonl")}},
		of:     session.Lookup{Dir: "/work/api", Home: home, StartedAt: noon}}
}

// write writes a session file with lines, and sets its time.
func (d *desk) write(name string, at time.Time, lines ...line) string {
	d.t.Helper()
	path := filepath.Join(d.home, ".scribe", name)
	var text strings.Builder
	for _, l := range lines {
		b, err := json.Marshal(l)
		if err != nil {
			d.t.Fatal(err)
		}
		text.WriteString(string(b) + "\n")
	}
	d.put(path, text.String(), at)
	return path
}

func (d *desk) put(path, text string, at time.Time) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) look() *session.Transcript {
	d.t.Helper()
	n, err := d.Reader.Read(d.scribe, "run", d.of)
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

func (d *desk) looks(want string) {
	d.t.Helper()
	got := "none"
	if n := d.look(); n != nil {
		got = fmt.Sprintf("%s %d", n.Conversation, n.Turns)
		if n.Truncated {
			got += " cut"
		}
	}
	if got != want {
		d.t.Errorf("it reads %q, want %q", got, want)
	}
}

func begun(id, dir string, seconds int) line {
	return line{ID: id, Dir: dir, At: noon.Add(time.Duration(seconds) * time.Second)}
}

func TestWhichFileIsTheRuns(t *testing.T) {
	d := newDesk(t)
	d.looks("none")
	later := noon.Add(time.Hour)
	d.write("2025/old.jsonl", noon.Add(-time.Hour), begun("old", "/work/api", -7200))
	d.write("2026/resumed-by-others.jsonl", later, begun("resumed", "/work/api", -7200))
	d.write("2026/elsewhere.jsonl", later, begun("elsewhere", "/work/web", 2))
	d.looks("none")
	d.write("2026/second.jsonl", later.Add(time.Minute), begun("second", "/work/api", 60), line{Turn: true})
	d.write("2026/empty.jsonl", later.Add(2*time.Minute), begun("empty", "/work/api", 120))
	mine := d.write("2026/mine.jsonl", later, begun("mine", "/work/api", 1), line{Turn: true})
	d.looks("mine 1")
	if n := d.look(); n.Path != mine || !n.At.Equal(later) {
		t.Errorf("%+v", n)
	}
	d.of.Conversation = "second"
	d.looks("second 1")
	d.of.Conversation = "resumed"
	d.looks("resumed 0")
	d.of.Conversation = "not-yet"
	d.looks("none")
	if id := Latest(d.scribe, d.of); id != "second" {
		t.Errorf("the latest is %q", id)
	}
}

func TestWhatIsAddedIsRead(t *testing.T) {
	d := newDesk(t)
	path := d.write("a/mine.jsonl", noon, begun("mine", "/work/api", 0), line{Turn: true})
	d.looks("mine 1")
	read := d.read
	d.looks("mine 1")
	if d.read != read {
		t.Error("what has not changed is read again")
	}
	for n := 2; n < 2000; n++ { // longer than what is read as a whole
		add(t, path, fmt.Sprintf(`{"turn":true,"text":%q}`+"\n", strings.Repeat("x", 100)))
	}
	d.looks("mine 1999")
	read = d.read
	d.looks("mine 1999")
	add(t, path, `{"dir":"/work/api"}`+"\n")
	d.looks("mine 1999")
	if d.read != read+1 {
		t.Errorf("one line was added to a long file, and %d were read", d.read-read)
	}
	add(t, path, `{"turn":`)
	d.looks("mine 1999")
	add(t, path, "true}\n")
	d.looks("mine 2000")
	d.write("a/mine.jsonl", noon, begun("mine", "/work/api", 0))
	d.looks("mine 0")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	d.looks("none")
}

func add(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestALongFileIsReadAtItsEnds(t *testing.T) {
	d := newDesk(t)
	path := d.write("a/mine.jsonl", noon, begun("mine", "/work/api", 0))
	turn := `{"turn":true,"text":"` + strings.Repeat("x", 10_000) + `"}` + "\n"
	add(t, path, strings.Repeat(turn, 1000))
	n := d.look()
	if n.Conversation != "mine" || !n.Truncated || n.Turns < 100 || n.Turns > 250 {
		t.Errorf("%s, %d turns, truncated %v", n.Conversation, n.Turns, n.Truncated)
	}
	add(t, path, `{"status":"idle"}`+"\n")
	if n := d.look(); n.Activity != session.Idle {
		t.Errorf("what was added: %+v", n)
	}
	add(t, path, strings.Repeat(turn, 400))
	if n := d.look(); n.Turns > 500 || !n.Truncated {
		t.Errorf("it keeps %d turns", n.Turns)
	}
}

// No text of a long file is kept in memory.
func TestMemoryOfLongFiles(t *testing.T) {
	d := newDesk(t)
	path := d.write("a/mine.jsonl", noon, begun("mine", "/work/api", 0))
	add(t, path, strings.Repeat(`{"turn":true,"text":"`+strings.Repeat("x", 10_000)+`"}`+"\n", 400))
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	d.looks("mine 400")
	if kept := heap() - before; kept > 100_000 {
		t.Errorf("%d bytes are kept of a file of 4 MB", kept)
	}
	runtime.KeepAlive(d)
}

// A rewritten state file belongs to the transcript next to it, and a name without a wildcard is the
// run's own.
func TestSeveralFiles(t *testing.T) {
	d := newDesk(t)
	state := filepath.Join(d.home, ".scribe", "now", "42.json")
	d.patterns = append(d.patterns, state)
	d.of.Conversation = "mine"
	d.write("a/mine.jsonl", noon, begun("mine", "/work/api", 0), line{Turn: true})
	d.put(state, `{"status":"working"}`, noon.Add(-time.Hour)) // of another process with that pid
	if n := d.look(); n.Activity != "" || n.Turns != 1 {
		t.Errorf("a stale state is read: %+v", n)
	}
	for _, status := range []session.Activity{session.Working, session.Idle} {
		d.put(state, fmt.Sprintf(`{"status":%q}`, status), noon.Add(time.Second))
		if n := d.look(); n.Activity != status || n.Turns != 1 {
			t.Errorf("%s: %+v", status, n)
		}
	}
	// A long transcript is not read again because of it.
	path := filepath.Join(d.home, ".scribe", "a", "mine.jsonl")
	add(t, path, strings.Repeat(`{"turn":true}`+"\n", 10_000))
	if n := d.look(); n.Turns != 10_001 {
		t.Errorf("%d turns", n.Turns)
	}
	read := d.read
	d.put(state, `{"status":"working"}`, noon.Add(2*time.Second))
	if n := d.look(); n.Activity != session.Working || n.Turns != 10_001 || d.read != read+1 {
		t.Errorf("%d lines were read again: %s, %d turns", d.read-read, n.Activity, n.Turns)
	}
	// Another conversation was started at its terminal.
	d.write("a/other.jsonl", noon, begun("other", "/work/api", 9), line{Turn: true}, line{Turn: true})
	d.put(state, `{"id":"other","dir":"/work/api","status":"idle"}`, noon.Add(3*time.Second))
	d.looks("other 2")
}

func TestNothingLeadsOutOfTheHome(t *testing.T) {
	d := newDesk(t)
	outside := t.TempDir()
	d.put(filepath.Join(outside, "mine.jsonl"), `{"id":"secret","dir":"/work/api"}`+"\n", noon)
	if err := os.MkdirAll(filepath.Join(d.home, ".scribe"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(d.home, ".scribe", "a")); err != nil {
		t.Fatal(err)
	}
	d.looks("none")
	if err := os.RemoveAll(filepath.Join(d.home, ".scribe")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(d.home, ".scribe")); err != nil {
		t.Fatal(err)
	}
	if n, err := d.Reader.Read(d.scribe, "run", d.of); n != nil || err == nil || !strings.Contains(err.Error(), "outside of the agent's home") {
		t.Errorf("%+v, %v", n, err)
	}
	// If the agent's environment names the directory, it may be anywhere.
	d.patterns = []string{filepath.Join(outside, "*.jsonl")}
	d.looks("secret 0")
	if err := os.Symlink(filepath.Join(outside, "mine.jsonl"), filepath.Join(outside, "link.jsonl")); err != nil {
		t.Fatal(err)
	}
	d.patterns = []string{filepath.Join(outside, "link.jsonl")}
	d.looks("none")
}

func TestTheFileThatTheAgentHasOpen(t *testing.T) {
	d := newDesk(t)
	d.write("a/first.jsonl", noon, begun("first", "/work/api", 1))
	path := d.write("a/second.jsonl", noon, begun("second", "/work/api", 2))
	d.looks("first 0")
	reading, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Close()
	start, ok := proc.StartTime(os.Getpid())
	if !ok {
		t.Fatal("this process is not to be seen")
	}
	d.of.Process = session.Process{PID: os.Getpid(), Start: start}
	d.looks("first 0") // it only reads the other one
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if runtime.GOOS != "linux" {
		d.looks("first 0") // only the conversation's id identifies it there
		return
	}
	d.looks("second 0")
	d.of.Process.Start++ // another process with that pid
	d.looks("first 0")
}

func TestKept(t *testing.T) {
	d := newDesk(t)
	path := d.write("a/mine.jsonl", noon, begun("mine", "/work/api", 0))
	d.of.Conversation = "mine"
	if kept, known := Kept(d.scribe, d.of); kept || !known {
		t.Errorf("nothing said in it: kept %v, known %v", kept, known)
	}
	d.write("a/mine.jsonl", noon, begun("mine", "/work/api", 0), line{Turn: true})
	if !d.Present(d.scribe, d.of) || d.look().Conversation != "mine" {
		t.Error("its file is not seen")
	}
	if kept, known := Kept(d.scribe, d.of); !kept || !known {
		t.Errorf("kept %v, known %v", kept, known)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if d.Present(d.scribe, d.of) {
		t.Error("a file that was removed is seen")
	}
	if kept, known := Kept(d.scribe, d.of); kept || !known {
		t.Errorf("removed: kept %v, known %v", kept, known)
	}
	d.patterns = nil
	if _, known := Kept(d.scribe, d.of); known {
		t.Error("an agent without files cannot tell")
	}
}
