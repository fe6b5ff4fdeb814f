package agent

import "slices"

// claudeReads returns what Claude Code logs in with, where its files are, and which of
// its connections are turned off. It leaves out what Claude Code sets for the programs
// that it starts (CLAUDE_CODE_SESSION_ID, CLAUDE_CODE_SSE_PORT …): agentform may be
// called by one of those.
func claudeReads(lookup func(string) string) []string {
	names := []string{
		"ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
		"CLAUDE_CODE_USE_*", "CLAUDE_CODE_SKIP_*_AUTH", "CLAUDE_CODE_CLIENT_*", "CLAUDE_CODE_CERT_STORE", "CLAUDE_CODE_MAX_*",
		"CLAUDE_CODE_DISABLE_*", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING",
	}
	set := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return lookup(name) != "" })
	}
	if set("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_MANTLE", "CLAUDE_CODE_USE_ANTHROPIC_AWS") {
		names = append(names, "AWS_*")
	}
	if set("CLAUDE_CODE_USE_VERTEX") {
		names = append(names, "GOOGLE_*", "GCLOUD_PROJECT", "CLOUDSDK_CONFIG", "CLOUD_ML_REGION", "VERTEX_REGION_*")
	}
	if set("CLAUDE_CODE_USE_FOUNDRY") {
		names = append(names, "AZURE_*")
	}
	return names
}

// codexReads returns what Codex logs in with and where its files are. A provider of
// its configuration may name any other variable in env_key: a manifest has to declare
// that.
func codexReads(func(string) string) []string {
	return []string{
		"OPENAI_*", "AZURE_OPENAI_*", "CODEX_HOME", "CODEX_SQLITE_HOME", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "CODEX_CA_CERTIFICATE",
	}
}

// geminiReads returns what Gemini CLI logs in with and where its files are. It leaves
// out how it finds an editor (GEMINI_CLI_IDE_…): that is the caller's.
func geminiReads(func(string) string) []string {
	return []string{
		"GEMINI_API_KEY", "GEMINI_API_KEY_AUTH_MECHANISM", "GEMINI_DEFAULT_AUTH_TYPE", "GEMINI_MODEL", "GEMINI_CLI_HOME",
		"GEMINI_CLI_CUSTOM_HEADERS", "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_TRUSTED_FOLDERS_PATH", "GEMINI_CLI_USE_COMPUTE_ADC",
		"GOOGLE_*", "GCLOUD_PROJECT", "CLOUDSDK_CONFIG", "CODE_ASSIST_ENDPOINT",
	}
}
