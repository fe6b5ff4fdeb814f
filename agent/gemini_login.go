package agent

import (
	"path/filepath"
	"slices"

	"github.com/agentform/agentform/session"
)

// geminiLogin checks the login of Gemini CLI, which also reads the first .env at or above its
// directory.
func geminiLogin(s session.Spec, f LoginFacts) (lack, remedy string) {
	if f.set(s, geminiKey, "GEMINI_DEFAULT_AUTH_TYPE", "GEMINI_CLI_SYSTEM_", "GEMINI_CLI_USE_COMPUTE_ADC", "GOOGLE_", "CLOUDSDK_CONFIG", "CODE_ASSIST_ENDPOINT", "CLOUD_SHELL") {
		return "", ""
	}
	home, dir := geminiHome(f.At), geminiDir(f.At)
	settings := []string{filepath.Join(dir, "settings.json"), "/etc/gemini-cli/settings.json", "/Library/Application Support/GeminiCli/settings.json"}
	variables := []string{filepath.Join(dir, ".env"), filepath.Join(home, ".env")}
	for _, folder := range f.folders(s) {
		settings = append(settings, filepath.Join(folder, ".gemini", "settings.json"))
		variables = append(variables, filepath.Join(folder, ".gemini", ".env"), filepath.Join(folder, ".env"))
	}
	found := func(path string) bool {
		return f.contains(path, `"auth"`, `"selectedType"`, `"enforcedType"`, `"selectedAuthType"`)
	}
	if f.exists(filepath.Join(dir, "oauth_creds.json"), filepath.Join(dir, "gemini-credentials.json")) || f.exists(variables...) || slices.ContainsFunc(settings, found) {
		return "", ""
	}
	return "there is no " + filepath.Join(dir, "oauth_creds.json") + ", and no key in its environment", "log in: start gemini once, or set GEMINI_API_KEY"
}

// geminiReads returns the variables for logins and files. It leaves out the way to an editor
// (GEMINI_CLI_IDE_…), which is the caller's.
func geminiReads(func(string) string) []string {
	return []string{
		"GEMINI_API_KEY", "GEMINI_API_KEY_AUTH_MECHANISM", "GEMINI_DEFAULT_AUTH_TYPE", "GEMINI_MODEL", "GEMINI_CLI_HOME",
		"GEMINI_CLI_CUSTOM_HEADERS", "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_TRUSTED_FOLDERS_PATH", "GEMINI_CLI_USE_COMPUTE_ADC",
		"GOOGLE_*", "GCLOUD_PROJECT", "CLOUDSDK_CONFIG", "CODE_ASSIST_ENDPOINT",
	}
}

// geminiCredentials has the list of https://geminicli.com/docs/get-started/authentication. Gemini's
// settings select a key or its login.
var geminiCredentials = credentials{
	keys: append(keysOf(geminiKey), credentialKey{"GOOGLE_API_KEY", []string{"GOOGLE_CLOUD_PROJECT"}},
		credentialKey{"GOOGLE_APPLICATION_CREDENTIALS", []string{"GOOGLE_CLOUD_PROJECT"}}),
	also: []string{"GEMINI_DEFAULT_AUTH_TYPE", "GOOGLE_GENAI_USE_VERTEXAI"},
	dir:  geminiDir,
}
