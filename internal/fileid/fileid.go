// Package fileid identifies files across renames and links.
package fileid

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Of returns what identifies a file across renames, or "": its inode number and, where the
// file system keeps it, the time of its creation.
func Of(path string) string {
	inode, born, ok := identity(path)
	switch {
	case !ok:
		return ""
	case born == 0:
		return strconv.FormatUint(inode, 16)
	}
	return strconv.FormatUint(inode, 16) + "." + strconv.FormatInt(born, 16)
}

// Place returns what is the same of all paths that lead to one file or directory at the moment,
// also through links and bind mounts, or "" if there is none.
func Place(path string) string {
	fi, err := os.Stat(path)
	if err != nil {
		return ""
	}
	s := fi.Sys().(*syscall.Stat_t)
	return fmt.Sprint(s.Dev, ":", s.Ino)
}

// Resolve follows the links in the part of a path that exists.
func Resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if up := filepath.Dir(path); up != path {
		return filepath.Join(Resolve(up), filepath.Base(path))
	}
	return path
}

// Renamed reports whether what is at path has the identity id and was renamed from old.
func Renamed(id, old, path string) bool {
	return id != "" && Of(path) == id && Of(old) != id
}
