package docker

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agentform/agentform/session"
)

// owner is a container's user, by number. A GID of -1 is not changed.
type owner struct{ uid, gid int }

// ownerOf returns the user of a container: the configured one, or the caller.
func ownerOf(d *session.DockerConfig) (owner, error) {
	if d == nil || d.User == "" {
		return owner{os.Getuid(), os.Getgid()}, nil
	}
	user, group, grouped := strings.Cut(d.User, ":")
	o := owner{gid: -1}
	var err error
	if o.uid, err = strconv.Atoi(user); err == nil && grouped {
		o.gid, err = strconv.Atoi(group)
	}
	if err != nil {
		return o, fmt.Errorf("user %q of the container is not a number", d.User)
	}
	return o, nil
}

// String returns the user as docker writes it.
func (o owner) String() string {
	if o.gid < 0 {
		return strconv.Itoa(o.uid)
	}
	return strconv.Itoa(o.uid) + ":" + strconv.Itoa(o.gid)
}

// take changes the owner of a path and of everything below it.
func (o owner) take(path string) error {
	if o.uid == os.Geteuid() {
		return nil
	}
	return filepath.WalkDir(path, func(p string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(p, o.uid, o.gid)
		}
		return err
	})
}
