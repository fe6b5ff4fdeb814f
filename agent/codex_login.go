package agent

import (
	"path/filepath"
	"slices"

	"github.com/agentform/agentform/session"
)

// codexLogin checks the login of Codex. A provider in its configuration may need none.
// OPENAI_API_KEY alone is not a login.
func codexLogin(s session.Spec, f LoginFacts) (lack, remedy string) {
	given := slices.Concat(s.Agent.Command, s.Args)
	if f.set(s, "AZURE_OPENAI_", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN") || has(given, "-c", "--config", "--oss", "-p", "--profile") {
		return "", ""
	}
	dir := codexDir(f.At)
	if f.exists(filepath.Join(dir, "auth.json")) {
		return "", ""
	}
	configs := []string{filepath.Join(dir, "config.toml"), "/etc/codex/config.toml", "/etc/codex/managed_config.toml"}
	for _, folder := range f.folders(s) {
		configs = append(configs, filepath.Join(folder, ".codex", "config.toml"))
	}
	for _, path := range configs {
		if f.contains(path, "provider", "env_key", "credentials_store") {
			return "", ""
		}
	}
	lack = "there is no " + filepath.Join(dir, "auth.json")
	if f.set(s, "OPENAI_API_KEY") {
		return lack + ", and OPENAI_API_KEY alone is not a login", "log in: printenv OPENAI_API_KEY | codex login --with-api-key"
	}
	return lack, "log in: codex login"
}

// codexReads returns the variables for logins and files. A provider in its configuration may name
// any other variable in env_key; a manifest must declare that.
func codexReads(func(string) string) []string {
	return []string{
		"OPENAI_*", "AZURE_OPENAI_*", "CODEX_HOME", "CODEX_SQLITE_HOME", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "CODEX_CA_CERTIFICATE",
	}
}

// codexDir returns the own directory of Codex.
func codexDir(of session.Lookup) string { return ownDir(of, "CODEX_HOME", ".codex") }

// codexCredentials has the list of
// https://developers.openai.com/codex/config-file/environment-variables. OPENAI_API_KEY alone is
// not a login, but a provider in its configuration may use it.
var codexCredentials = credentials{
	keys: keysOf("CODEX_API_KEY", "CODEX_ACCESS_TOKEN"),
	also: []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_API_KEY"},
	dir:  codexDir,
}
