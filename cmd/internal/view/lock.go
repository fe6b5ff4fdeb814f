package view

import (
	"io"

	"github.com/agentform/agentform/internal/backend"
)

// LockJSON writes the holder of the state's lock; nil: it is free.
func LockJSON(w io.Writer, i *backend.Info) error {
	return document(w, "lock", i)
}
