package filecopy

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pod is a file system with an agent's home, and a copy of its session files elsewhere.
type pod struct {
	t          *testing.T
	home, copy string
	folders    []string
	asked      int
	sent       int
}

func newPod(t *testing.T) *pod {
	return &pod{t: t, home: t.TempDir(), copy: filepath.Join(t.TempDir(), "copies", "id"), folders: []string{Home + "/.agent/sessions"}}
}

func (p *pod) write(name, text string, at time.Time) {
	p.t.Helper()
	path := filepath.Join(p.home, ".agent/sessions", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pod) pull() {
	p.t.Helper()
	p.asked, p.sent = 0, 0
	err := Pull(p.copy, func(known []File) ([]File, bool, error) {
		p.asked++
		files, more := Read(p.home, p.folders, known)
		for _, f := range files {
			p.sent += len(f.Data)
		}
		return files, more, nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *pod) expect(name, text string, at time.Time) {
	p.t.Helper()
	path := filepath.Join(p.copy, "~/.agent/sessions", name)
	got, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		p.t.Fatal(err)
	}
	if string(got) != text || !info.ModTime().Equal(at) {
		p.t.Errorf("the copy of %s has %d bytes of %v, want %d of %v", name, len(got), info.ModTime(), len(text), at)
	}
}

func TestPull(t *testing.T) {
	p := newPod(t)
	at := time.Now().Truncate(time.Second)
	p.pull() // there is nothing yet
	if _, err := os.Lstat(p.copy); err == nil {
		t.Error("a copy of nothing exists")
	}
	p.write("2026/11/25/a.jsonl", "one\n", at)
	p.write("b.json", `{"state":"busy"}`, at)
	p.write("notes.txt", "no session file", at)
	p.pull()
	p.expect("2026/11/25/a.jsonl", "one\n", at)
	p.expect("b.json", `{"state":"busy"}`, at)
	if _, err := os.Lstat(filepath.Join(p.copy, "~/.agent/sessions/notes.txt")); err == nil {
		t.Error("another file was copied")
	}

	p.pull()
	if p.sent != 0 || p.asked != 1 {
		t.Errorf("nothing has changed, and %d bytes were sent in %d answers", p.sent, p.asked)
	}

	p.write("2026/11/25/a.jsonl", "one\ntwo\n", at.Add(time.Second))
	p.pull()
	p.expect("2026/11/25/a.jsonl", "one\ntwo\n", at.Add(time.Second))
	if p.sent != len("two\n") {
		t.Errorf("%d bytes were sent of what was added, want %d", p.sent, len("two\n"))
	}

	p.write("b.json", `{"state":"idle","since":1}`, at.Add(time.Second))
	p.pull()
	p.expect("b.json", `{"state":"idle","since":1}`, at.Add(time.Second)) // rewritten
	p.write("b.json", `{}`, at.Add(2*time.Second))
	p.pull()
	p.expect("b.json", `{}`, at.Add(2*time.Second))
}

// TestPullOfALongFile checks that a long file takes several answers and that the next Pull
// continues.
func TestPullOfALongFile(t *testing.T) {
	p := newPod(t)
	at := time.Now().Truncate(time.Second)
	long := strings.Repeat("0123456789abcde\n", (atOnce+2)*chunk/16)
	p.write("long.jsonl", long, at)
	p.write("short.jsonl", "short\n", at.Add(-time.Hour))
	p.pull()
	if p.asked != atOnce || p.sent != atOnce*chunk {
		t.Errorf("%d bytes in %d answers, want %d in %d", p.sent, p.asked, atOnce*chunk, atOnce)
	}
	p.pull()
	p.expect("long.jsonl", long, at)
	p.expect("short.jsonl", "short\n", at.Add(-time.Hour))
}

// TestPullOfRandomFiles checks that the copy is the same whatever is written in whatever order.
func TestPullOfRandomFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := newPod(t)
	names := []string{"a.jsonl", "x/b.jsonl", "x/y/c.json"}
	texts := map[string][]byte{}
	at := time.Now().Truncate(time.Second)
	for range 300 {
		name := names[r.IntN(len(names))]
		added := bytes.Repeat([]byte{byte('a' + r.IntN(26))}, r.IntN(3*tail))
		if r.IntN(5) == 0 {
			texts[name] = nil
		}
		texts[name] = append(texts[name], added...)
		at = at.Add(time.Second)
		p.write(name, string(texts[name]), at)
		if r.IntN(2) == 0 {
			p.pull()
			p.expect(name, string(texts[name]), at)
		}
	}
}

// TestPullOfHostileNames checks that names from a container cannot lead out of the copy.
func TestPullOfHostileNames(t *testing.T) {
	for _, f := range []File{
		{Path: "/../../evil.jsonl", Data: []byte("x")},
		{Path: "/~/.bashrc", Data: []byte("x")},
		{Path: "/~/a.jsonl", From: -1, Data: []byte("x")},
		{Path: "/~/a.jsonl", Data: make([]byte, chunk+1)},
		{Path: "", Data: []byte("x")},
	} {
		top := t.TempDir()
		dir := filepath.Join(top, "copies", "id")
		err := Pull(dir, func([]File) ([]File, bool, error) { return []File{f}, false, nil })
		if _, outside := os.Lstat(filepath.Join(top, "evil.jsonl")); outside == nil || err == nil && !strings.HasPrefix(f.Path, "/..") {
			t.Errorf("%q from %d was written: %v", f.Path, f.From, err)
		}
	}
	top := t.TempDir()
	dir := filepath.Join(top, "copies", "id")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(top, filepath.Join(dir, "~")); err != nil {
		t.Fatal(err)
	}
	err := Pull(dir, func([]File) ([]File, bool, error) {
		return []File{{Path: Home + "/a.jsonl", Data: []byte("x")}}, false, nil
	})
	if _, outside := os.Lstat(filepath.Join(top, "a.jsonl")); err == nil || outside == nil {
		t.Errorf("it was written through a link: %v", err)
	}
}
