package view

import (
	"io"

	"github.com/agentform/agentform/internal/backend"
)

// LockJSON writes who has the lock of the state; nil: nobody.
func LockJSON(w io.Writer, i *backend.Info) error {
	return document(w, "lock", i)
}
