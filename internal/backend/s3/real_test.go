//go:build real

package s3

import "testing"

func TestBackendInRealTime(t *testing.T) { suite.Run(t) }
