package stamp

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/tick"
)

// Any change to a settled file or directory changes its stamp.
func TestStampChanges(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	other := filepath.Join(t.TempDir(), "other")
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(os.WriteFile(file, []byte("abc"), 0o600))
	do(os.Symlink("file", link))
	past := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, x := range []struct {
		what, path string
		same       bool
		change     func()
	}{
		{"nothing", file, true, func() {}},
		{"read", file, true, func() { _, err := os.ReadFile(file); do(err) }},
		{"written in place, its time set back", file, false, func() {
			fi, err := os.Stat(file)
			do(err)
			do(os.WriteFile(file, []byte("abd"), 0o600))
			do(os.Chtimes(file, past, fi.ModTime()))
		}},
		{"another in its place", file, false, func() {
			do(os.WriteFile(other, []byte("abe"), 0o600))
			do(os.Rename(other, file))
		}},
		{"longer", file, false, func() { do(os.WriteFile(file, []byte("abef"), 0o600)) }},
		{"its mode", file, false, func() { do(os.Chmod(file, 0o640)) }},
		{"the folder: a file in it written", dir, true, func() { do(os.WriteFile(file, []byte("abf"), 0o600)) }},
		{"the folder: a file more", dir, false, func() { do(os.WriteFile(filepath.Join(dir, "more"), nil, 0o600)) }},
		{"the folder: a file less", dir, false, func() { do(os.Remove(filepath.Join(dir, "more"))) }},
		{"a link: its file", link, true, func() { do(os.WriteFile(file, []byte("abg"), 0o600)) }},
	} {
		tick.Wait(t)
		before, err := Lstat(x.path)
		do(err)
		x.change()
		after, err := Lstat(x.path)
		do(err)
		if (before == after) != x.same {
			t.Errorf("%s: %+v, then %+v", x.what, before, after)
		}
		if x.path == dir && before.Place() != after.Place() {
			t.Errorf("%s: another folder", x.what)
		}
	}
	through, err := Stat(link)
	do(err)
	direct, err := Lstat(file)
	do(err)
	if through != direct {
		t.Errorf("a link: %+v, want %+v", through, direct)
	}
	if _, err := Lstat(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A change within a granule of a time, or after it, is not trusted.
func TestSettled(t *testing.T) {
	at := time.Unix(1000, 0)
	for since, want := range map[time.Duration]bool{
		Granule + 1: true, time.Hour: true, Granule: false, time.Second: false, 0: false, -time.Hour: false,
	} {
		if got := (Stamp{changed: at.Add(-since).UnixNano()}).Settled(at); got != want {
			t.Errorf("changed %s before: %v", since, got)
		}
	}
	if !(Stamp{}).Settled(at) {
		t.Error("what is not there has not changed")
	}
}

// Each field alone makes stamps differ; for a place, only the fields that identify the file do.
func TestStampIsOfAll(t *testing.T) {
	was := Stamp{device: 1, inode: 2, mode: syscall.S_IFREG | 0o600, size: 3, changed: 4}
	for what, is := range map[string]Stamp{
		"device": {device: 9, inode: 2, mode: was.mode, size: 3, changed: 4},
		"inode":  {device: 1, inode: 9, mode: was.mode, size: 3, changed: 4},
		"kind":   {device: 1, inode: 2, mode: syscall.S_IFLNK | 0o600, size: 3, changed: 4},
	} {
		if is == was || is.Place() == was.Place() {
			t.Errorf("another %s is the same", what)
		}
	}
	for what, is := range map[string]Stamp{
		"mode":    {device: 1, inode: 2, mode: syscall.S_IFREG | 0o644, size: 3, changed: 4},
		"size":    {device: 1, inode: 2, mode: was.mode, size: 9, changed: 4},
		"changed": {device: 1, inode: 2, mode: was.mode, size: 3, changed: 9},
	} {
		if is == was || is.Place() != was.Place() {
			t.Errorf("another %s: %+v, in place %+v", what, is, is.Place())
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	var s syscall.Stat_t
	if err := syscall.Stat(file, &s); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(file)
	if err != nil {
		t.Fatal(err)
	}
	got, fi := Of(&s), s.Mode
	if got.device != uint64(s.Dev) || got.inode != s.Ino || got.mode != uint32(fi) || got.size != 3 || time.Unix(0, got.changed).Sub(info.ModTime()).Abs() > time.Minute { //nolint:unconvert // the types are others on macOS
		t.Errorf("%+v of %+v", got, s)
	}
}
