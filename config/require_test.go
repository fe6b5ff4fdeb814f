package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRequiredVersion(t *testing.T) {
	dir := t.TempDir()
	text := "agentform {\n  required_version = \">= 0.1\"\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "agentform.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for version, suits := range map[string]bool{
		"0.1.0": true, "v0.2.0": true, "1.0.0-rc1": true, "0.0.9": false,
		// Development builds.
		"dev": true, "0a1b2c3": true, "6df5074": true, "0a1b2c3-dirty": true, "": true,
	} {
		_, problems := Load(Options{Dir: dir, Version: version})
		if got := len(problems) == 0; got != suits {
			t.Errorf("version %q suits: %v, want %v: %v", version, got, suits, problems)
		}
	}
}
