package agent

import (
	"path/filepath"
	"slices"

	"github.com/agentform/agentform/session"
)

// claudeLogin checks the login of Claude Code. On macOS it is in the keychain.
func claudeLogin(s session.Spec, f LoginFacts) (lack, remedy string) {
	given := slices.Concat(s.Agent.Command, s.Args)
	if f.OS == "darwin" || f.set(s, "ANTHROPIC_", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_") || has(given, "--settings") {
		return "", ""
	}
	dir, state := claudeDir(f.At), filepath.Join(f.At.Home, ".claude.json")
	if own := f.At.Env["CLAUDE_CONFIG_DIR"]; own != "" {
		state = filepath.Join(own, ".claude.json")
	}
	if f.exists(filepath.Join(dir, ".credentials.json")) || f.contains(state, `"primaryApiKey"`, `"oauthAccount"`) {
		return "", ""
	}
	settings := []string{filepath.Join(dir, "settings.json"), filepath.Join(dir, "remote-settings.json"), "/etc/claude-code/managed-settings.json"}
	for _, folder := range f.folders(s) {
		settings = append(settings, filepath.Join(folder, ".claude", "settings.json"), filepath.Join(folder, ".claude", "settings.local.json"))
	}
	for _, path := range settings {
		if f.contains(path, `"apiKeyHelper"`, `"ANTHROPIC_`, `"CLAUDE_CODE_`) {
			return "", ""
		}
	}
	return "there is no " + filepath.Join(dir, ".credentials.json") + ", and no key in its environment", "log in: start claude once, or set ANTHROPIC_API_KEY"
}

// claudeReads returns the variables for logins, files and disabled connections. It leaves out those
// that Claude Code sets for the programs it starts (CLAUDE_CODE_SESSION_ID, CLAUDE_CODE_SSE_PORT
// …), since one of them may call agentform.
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

// claudeDir returns Claude Code's own directory.
func claudeDir(of session.Lookup) string { return ownDir(of, "CLAUDE_CONFIG_DIR", ".claude") }

var awsKeys = []string{"AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_REGION"}

// claudeCredentials has the order of https://code.claude.com/docs/en/authentication: clouds, a
// token for a gateway, a key, a subscription's token, its login. A helper in the settings is not
// detected.
var claudeCredentials = credentials{
	keys: append([]credentialKey{
		{"CLAUDE_CODE_USE_BEDROCK", awsKeys},
		{"CLAUDE_CODE_USE_VERTEX", []string{"ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG"}},
		{"CLAUDE_CODE_USE_FOUNDRY", []string{"ANTHROPIC_FOUNDRY_API_KEY", "ANTHROPIC_FOUNDRY_RESOURCE"}},
	}, keysOf("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN")...),
	also: []string{"ANTHROPIC_BASE_URL"},
	dir:  claudeDir,
}
