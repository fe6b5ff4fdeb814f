//go:build real

package sharedstate_test

import "testing"

func TestLocalInRealTime(t *testing.T) { suite.Run(t) }
