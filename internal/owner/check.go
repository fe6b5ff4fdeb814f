package owner

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// UserError says that a data directory belongs to another user.
type UserError struct {
	DataDir string
	UID     int // of its owner
}

// Error names the user and how to run agentform as that user.
func (e *UserError) Error() string {
	return fmt.Sprintf("data directory %s belongs to %s, and this is %s; nothing was changed; run agentform as that user, for example: sudo -u %s agentform status",
		e.DataDir, person(e.UID), person(os.Geteuid()), sudoName(e.UID))
}

// Check refuses a state that may not be used from here: its data directory belongs
// to another user, it is a copy of another one's, the project was moved, or its sessions
// run with another data directory. project is the project's name.
func Check(here session.Owner, project string, st state.State) error {
	if err := CheckUser(here.DataDir); err != nil {
		return err
	}
	if original := st.CopyOf(here.DataDir); original != "" {
		return &state.CopiedError{Path: filepath.Join(here.DataDir, "state.json"), Original: original}
	}
	if from := movedAcross(st, here); from != "" {
		return &state.CopiedError{Path: filepath.Join(here.DataDir, "state.json"), Original: filepath.Join(from, "state.json"), Gone: true}
	}
	if moved := moves(st, here); len(moved) > 0 {
		return moved[0]
	}
	return checkPrevious(here, project)
}

// CheckUser refuses a data directory that belongs to another user. One that does not
// exist belongs to nobody.
func CheckUser(dataDir string) error {
	info, err := os.Stat(dataDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("inspect data directory: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return &UserError{DataDir: dataDir, UID: int(stat.Uid)}
	}
	return nil
}

// person returns a user's name and id.
func person(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return fmt.Sprintf("%s (uid %d)", u.Username, uid)
	}
	return fmt.Sprintf("uid %d", uid)
}

// sudoName returns a user as sudo -u takes it.
func sudoName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return "'#" + strconv.Itoa(uid) + "'"
}
