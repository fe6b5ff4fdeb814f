//go:build real

package sealed

import "testing"

func TestBackendInRealTime(t *testing.T) { suite.Run(t) }
