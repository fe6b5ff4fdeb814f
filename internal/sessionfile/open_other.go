//go:build !linux

package sessionfile

import "github.com/agentform/agentform/session"

// openFiles returns none: only Linux tells them without a program of its own.
func openFiles(session.Process) map[string]bool { return nil }
