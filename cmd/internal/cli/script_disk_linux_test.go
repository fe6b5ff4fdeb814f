//go:build real

package cli_test

import "syscall"

func mount(source, target, kind string, flags uintptr, data string) error {
	return syscall.Mount(source, target, kind, flags, data)
}

func unmount(target string) error { return syscall.Unmount(target, syscall.MNT_DETACH) }

// remount changes whether a disk takes writes, as the bind mount of a directory has it:
// files that are open stay as they are.
func remount(target string, readOnly bool) error {
	if !readOnly {
		return unmount(target)
	}
	if err := syscall.Mount(target, target, "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	return syscall.Mount("", target, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, "")
}
