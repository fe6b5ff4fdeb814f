package stamp

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Whatever is done to a settled file or folder, its stamp is another.
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
	past := time.Now().Add(-time.Hour)
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
		{"its mode", file, false, func() { do(os.Chmod(file, 0o640)) }},
		{"the folder: a file in it written", dir, true, func() { do(os.WriteFile(file, []byte("abf"), 0o600)) }},
		{"the folder: a file more", dir, false, func() { do(os.WriteFile(filepath.Join(dir, "more"), nil, 0o600)) }},
		{"the folder: a file less", dir, false, func() { do(os.Remove(filepath.Join(dir, "more"))) }},
		{"a link: its file", link, true, func() { do(os.WriteFile(file, []byte("abg"), 0o600)) }},
	} {
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			s, err := Lstat(x.path)
			do(err)
			if s.Settled(time.Now()) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s: it does not settle", x.what)
			}
		}
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
