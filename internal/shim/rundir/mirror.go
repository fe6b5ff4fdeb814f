package rundir

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/stamp"
)

// Files are the files that a run's shim and hooks write, for transfer to another machine. Their
// content is a claim.
type Files struct {
	Claim []byte `json:"claim,omitempty"`
	Run   []byte `json:"run,omitempty"`
	Exit  []byte `json:"exit,omitempty"`
	// Signals is the content of SignalsFile from byte From on, at most signalsChunk bytes.
	Signals []byte `json:"signals,omitempty"`
	From    int64  `json:"from,omitempty"`
	Head    string `json:"head,omitempty"` // of the workspace: ReadHead
}

// BranchRef is the prefix of a branch name in HEAD.
const BranchRef = "ref: refs/heads/"

// ReadHead returns the content of HEAD, such as "ref: refs/heads/main", of a checkout that is not a
// linked worktree; empty: it cannot be read. While a rebase or a bisect has detached HEAD, it
// returns the branch of that operation.
func ReadHead(path string) string {
	read := func(name string) string {
		b, _, _ := ReadFile(filepath.Join(path, ".git", name), 4<<10) // missing, or not a file
		return string(bytes.TrimRight(b, "\n"))
	}
	head := read("HEAD")
	if head == "" || strings.HasPrefix(head, "ref:") {
		return head
	}
	for _, name := range []string{"rebase-merge/head-name", "rebase-apply/head-name"} {
		if branch, ok := strings.CutPrefix(read(name), "refs/heads/"); ok {
			return BranchRef + branch
		}
	}
	if branch := read("BISECT_START"); branch != "" && !commitForm(branch) {
		return BranchRef + branch
	}
	return head
}

// StampWorkspace returns a digest that most changes of a checkout change: of the stamps of HEAD, its
// branch and agentform's refs, of the index, and of the top and its directories. It is 0 if something has
// changed just now, so that another change may leave it the same.
func StampWorkspace(path string, now time.Time) uint64 {
	in := filepath.Join(path, ".git")
	files := []string{filepath.Join(in, "HEAD"), filepath.Join(in, "index"), filepath.Join(in, "packed-refs"), filepath.Join(in, "refs", "agentform"), path}
	if branch, ok := strings.CutPrefix(ReadHead(path), BranchRef); ok {
		files = append(files, filepath.Join(in, "refs", "heads", filepath.FromSlash(branch)))
	}
	for _, name := range stamp.Directories(path) {
		files = append(files, filepath.Join(path, name))
	}
	sum, settled := stamp.Digest(now, files...)
	if !settled {
		return 0
	}
	return sum
}

// commitForm reports whether a text is a commit's name, as when bisect starts at a detached HEAD.
func commitForm(text string) bool {
	return len(text) >= 40 && strings.Trim(text, "0123456789abcdef") == ""
}

// signalsChunk bounds the signals in one answer, which stays below a MiB as JSON with the rest.
const signalsChunk = 256 << 10

// ReadFiles reads the files of a run, and its signals from a byte on. A file that was started over
// is read from the beginning. What is missing or cannot be read is empty.
func ReadFiles(runDir string, from int64) Files {
	read := func(name string) []byte {
		b, _, _ := ReadFile(filepath.Join(runDir, name), factLimit) // missing, or not a file
		return b
	}
	// Read the exit first: everything written before it is then complete.
	f := Files{Exit: read(ExitFile)}
	f.Run, f.Claim = read(RunFile), read(ClaimFile)
	s, err := os.OpenFile(filepath.Join(runDir, SignalsFile), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return f
	}
	defer s.Close()
	info, err := s.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return f
	}
	if f.From = from; from < 0 || from > info.Size() {
		f.From = 0
	}
	f.Signals, _ = io.ReadAll(io.NewSectionReader(s, f.From, signalsChunk))
	return f
}

// WriteFiles writes the result of a ReadFiles elsewhere to this machine's copy of a run. It keeps
// files that are missing there.
func WriteFiles(runDir string, f Files) error {
	if len(f.Signals) > 0 {
		if err := writeSignals(filepath.Join(runDir, SignalsFile), f.Signals, f.From); err != nil {
			return err
		}
	}
	for _, file := range []struct {
		name string
		text []byte
	}{{ClaimFile, f.Claim}, {RunFile, f.Run}, {ExitFile, f.Exit}} {
		path := filepath.Join(runDir, file.name)
		if len(file.text) == 0 || len(file.text) > factLimit {
			continue
		}
		if old, _, err := ReadFile(path, factLimit); err == nil && bytes.Equal(old, file.text) {
			continue
		}
		if err := WriteFile(path, file.text, false); err != nil {
			return err
		}
	}
	return nil
}

// writeSignals writes signals at an offset of the copy. Signals of a file that was started over
// replace it.
func writeSignals(path string, signals []byte, from int64) error {
	if from == 0 {
		return WriteFile(path, signals, false)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	// Concurrent copies write the same bytes at the same place.
	_, err = f.WriteAt(signals, from)
	return errors.Join(err, f.Close())
}
