package agent

import (
	"path/filepath"
	"slices"

	"github.com/agentform/agentform/session"
)

// codexLogin looks for the login of Codex. A provider that its configuration names may
// need none. OPENAI_API_KEY alone is none.
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

// codexReads returns what Codex logs in with and where its files are. A provider of
// its configuration may name any other variable in env_key: a manifest has to declare
// that.
func codexReads(func(string) string) []string {
	return []string{
		"OPENAI_*", "AZURE_OPENAI_*", "CODEX_HOME", "CODEX_SQLITE_HOME", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "CODEX_CA_CERTIFICATE",
	}
}

// codexDir is its own directory.
func codexDir(of session.Lookup) string { return ownDir(of, "CODEX_HOME", ".codex") }

// codexCredentials is what https://developers.openai.com/codex/config-file/environment-variables
// lists. OPENAI_API_KEY alone is no login; a provider of its configuration may use it.
var codexCredentials = credentials{
	keys: keysOf("CODEX_API_KEY", "CODEX_ACCESS_TOKEN"),
	also: []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_API_KEY"},
	dir:  codexDir,
}
