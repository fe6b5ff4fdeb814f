package agentform_test

import (
	"os"
	"testing"

	"github.com/agentform/agentform"
)

var shim []string // of this test's own program

func TestMain(m *testing.M) {
	shim = agentform.Init()
	os.Exit(m.Run())
}
