//go:build !linux

package sessionfile

import "github.com/agentform/agentform/session"

// openFiles returns nil: only Linux shows open files without a helper.
func openFiles(session.Process) map[string]bool { return nil }
