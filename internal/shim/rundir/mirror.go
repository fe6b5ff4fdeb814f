package rundir

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Files are the files of a run that its shim and hooks write, as one machine sends them to
// another. What they hold is a claim.
type Files struct {
	Claim []byte `json:"claim,omitempty"`
	Run   []byte `json:"run,omitempty"`
	Exit  []byte `json:"exit,omitempty"`
	// Signals is what SignalsFile has from the byte From on, at most signalsChunk bytes.
	Signals []byte `json:"signals,omitempty"`
	From    int64  `json:"from,omitempty"`
	Head    string `json:"head,omitempty"` // of the workspace: ReadHead
}

// BranchRef is what HEAD has before the name of a branch.
const BranchRef = "ref: refs/heads/"

// ReadHead returns what the file HEAD of a checkout has that is no linked worktree, such as
// "ref: refs/heads/main"; empty: it cannot be read. While a rebase or a bisect has detached
// HEAD, it returns the branch that the operation is about.
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

// commitForm reports whether a text is the name of a commit: bisect began at a detached HEAD.
func commitForm(text string) bool {
	return len(text) >= 40 && strings.Trim(text, "0123456789abcdef") == ""
}

// signalsChunk bounds the signals of one answer: with the rest, and as JSON, it stays below
// a MiB.
const signalsChunk = 256 << 10

// ReadFiles reads the files of a run, and of its signals what follows the byte from. A file
// that was begun anew is read from its start. What is missing or cannot be read is empty.
func ReadFiles(runDir string, from int64) Files {
	read := func(name string) []byte {
		b, _, _ := ReadFile(filepath.Join(runDir, name), factLimit) // missing, or not a file
		return b
	}
	// The exit first: with it, what was written before it is complete.
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

// WriteFiles writes what ReadFiles has read elsewhere to this machine's copy of a run. A
// file that is missing there stays.
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

// writeSignals writes signals at a byte of the copy. Those of a file that was begun anew
// replace it.
func writeSignals(path string, signals []byte, from int64) error {
	if from == 0 {
		return WriteFile(path, signals, false)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	// Two that copy at the same time write the same bytes to the same place.
	_, err = f.WriteAt(signals, from)
	return errors.Join(err, f.Close())
}
