//go:build real && !linux

package cli_test

import "errors"

var errNoMount = errors.New("only Linux has a disk in memory to mount")

func mount(_, _, _ string, _ uintptr, _ string) error { return errNoMount }
func unmount(string) error                            { return errNoMount }
func remount(string, bool) error                      { return errNoMount }
