//go:build real

package http

import "testing"

func TestBackendInRealTime(t *testing.T) { suite.Run(t) }
