package install

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/executable"
)

func TestInstall(t *testing.T) {
	data := t.TempDir()
	_, argv, err := Install(data) // there is no shim next to a test binary
	self, _ := os.Executable()
	if err != nil || len(argv) != 2 || argv[0] != self || argv[1] != "shim" {
		t.Errorf("the fallback is %q, %v", argv, err)
	}
	program := filepath.Join(data, Binary)
	executable.Write(t, program, []byte("#!/bin/sh\necho usage\nexit 2\n"), 0o700)
	first, err := keep(program, filepath.Join(data, "bin"), Prefix)
	if err != nil {
		t.Fatal(err)
	}
	was, _ := os.Stat(first)
	second, err := keep(program, filepath.Join(data, "bin"), Prefix)
	if now, _ := os.Stat(second); err != nil || !os.SameFile(was, now) {
		t.Errorf("copied again: %s, %s, %v", first, second, err)
	}
	a, _ := os.ReadFile(program)
	b, _ := os.ReadFile(first)
	if !bytes.Equal(a, b) || was.Mode().Perm() != 0o700 {
		t.Errorf("the copy differs or has mode %v", was.Mode())
	}
	if out, err := exec.Command("sh", "-c", `exec "$0"`, first).CombinedOutput(); err == nil || !strings.Contains(string(out), "usage") {
		t.Errorf("the copy says %q, %v", out, err)
	}
	if files, _ := os.ReadDir(filepath.Join(data, "bin")); len(files) != 1 {
		t.Errorf("the folder holds %v", files)
	}
	os.WriteFile(filepath.Join(data, "text"), nil, 0o600)
	if _, err := keep(filepath.Join(data, "text"), data, Prefix); !errors.Is(err, errNoBinary) {
		t.Errorf("a file that is no program: %v", err)
	}
}
