package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/session"
)

// Folder returns the session's own directory, DATA_DIR/agents/ROLE/ID.
func Folder(dataDir string, r session.Record) string {
	return FolderIn(layout.Data{Dir: dataDir}.Sessions(), r)
}

// FolderIn returns the session's own directory, OUTPUTS_DIR/ROLE/ID.
func FolderIn(outputsDir string, r session.Record) string {
	return filepath.Join(outputsDir, roleFolder(r.Spec.Role), r.ID)
}

// roleFolder returns a role, or a slug with six hex digits if the role is not a good name.
func roleFolder(role string) string {
	switch {
	case role == "":
		return "default"
	case role[0] != '.' && len(role) <= 100 && !strings.ContainsAny(role, "/\\\x00\n"):
		return role
	}
	sum := sha256.Sum256([]byte(role))
	return session.Slug(role) + "-" + hex.EncodeToString(sum[:3])
}

// mirror writes copies of records into the sessions' directories.
type mirror struct {
	mu     sync.Mutex
	folder string // OUTPUTS_DIR
	own    bool   // outside the data directory, so that git does not ignore it yet
	err    error
}

// MirrorTo moves the sessions' directories below outputsDir, where git ignores them.
func (s *Store) MirrorTo(outputsDir string) {
	s.mirror.mu.Lock()
	defer s.mirror.mu.Unlock()
	s.mirror.folder, s.mirror.own = outputsDir, true
}

// MirrorErr returns the last error of writing a copy of a record, or nil.
func (s *Store) MirrorErr() error {
	s.mirror.mu.Lock()
	defer s.mirror.mu.Unlock()
	return s.mirror.err
}

// reflect copies the current record to the session's directory, or removes the copy if last is
// no longer on record.
func (s *Store) reflect(a session.Address, last session.Record) {
	m := &s.mirror
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	if now, known := s.record(a); known && now.ID == last.ID {
		err = m.write(now)
	} else {
		err = m.forget(last)
	}
	if err != nil {
		m.err = fmt.Errorf("copy the record of %s into its directory: %w", a, err)
	}
}

func (m *mirror) write(r session.Record) error {
	folder := FolderIn(m.folder, r)
	if err := m.settle(folder, r.ID); err != nil {
		return err
	}
	b, err := json.MarshalIndent(mirrorOf(r, folder), "", "  ")
	if err != nil {
		return err
	}
	return overwrite(filepath.Join(folder, "state.json"), append(b, '\n'))
}

const padLimit = 1 << 20

// overwrite writes a file in place: 36 times cheaper than renaming a new one (11 and 400 µs
// on ext4). It pads a shorter text with blank lines, as truncating costs as much, and follows
// no link.
func overwrite(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file (%s): move it away", path, fi.Mode())
	}
	if err == nil {
		if more := fi.Size() - int64(len(text)); more > 0 && more < padLimit {
			text = append(text, bytes.Repeat([]byte("\n"), int(more))...)
		} else if more >= padLimit {
			err = f.Truncate(0)
		}
	}
	if err == nil {
		_, err = f.Write(text)
	}
	return errors.Join(err, f.Close())
}

func (m *mirror) forget(r session.Record) error {
	return removeFile(filepath.Join(FolderIn(m.folder, r), "state.json"))
}

// settle creates the session's directory, or moves it from its former role.
func (m *mirror) settle(folder, id string) error {
	info, missing := os.Lstat(folder)
	if missing == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a directory (%s): move it away", folder, info.Mode())
	}
	role := filepath.Dir(folder)
	err := os.MkdirAll(role, 0o700)
	if err == nil && m.own {
		err = layout.Ignore(role)
	}
	if err != nil || missing == nil {
		return err
	}
	roles, err := os.ReadDir(m.folder)
	if err != nil {
		return err
	}
	for _, other := range roles {
		old := filepath.Join(m.folder, other.Name(), id)
		if _, err := os.Lstat(old); err == nil {
			return os.Rename(old, folder)
		}
	}
	return os.Mkdir(folder, 0o700)
}
