package agent

import (
	"bytes"
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// LoginFacts is what MissingLogin needs to know of the machine that an agent runs on.
type LoginFacts struct {
	OS   string                   // as runtime.GOOS
	At   session.Lookup           // Dir, Home and Env, with the values of secrets as far as they are known
	Read func(path string) []byte // returns the text of a file; nil: it cannot be read
}

// MissingLogin returns what the agent of a session lacks to log in, and how to log in.
// Both are empty when a login was found, and whenever there may be one that it does not
// know: it knows the built-in agents by their own commands, and their files.
func MissingLogin(s session.Spec, f LoginFacts) (lack, remedy string) {
	k := kindOf(s.Agent)
	name := cmp.Or(s.Agent.Base, s.Agent.Name)
	if k.login == nil || f.At.Home == "" || s.Profile != "" || len(s.Agent.Command) == 0 || filepath.Base(s.Agent.Command[0]) != name {
		return "", ""
	}
	return k.login(s, f)
}

// set reports whether the agent of a session gets a variable whose name starts with one
// of the prefixes.
func (f LoginFacts) set(s session.Spec, prefixes ...string) bool {
	starts := func(name string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	}
	for name, value := range f.At.Env {
		if value != "" && starts(name) {
			return true
		}
	}
	return slices.ContainsFunc(s.Secrets, starts)
}

// exists reports whether one of some files can be read.
func (f LoginFacts) exists(paths ...string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return f.Read(path) != nil })
}

// contains reports whether a file has one of some words in it.
func (f LoginFacts) contains(path string, words ...string) bool {
	text := f.Read(path)
	return slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(text, []byte(w)) })
}

// folders returns the workspace of a session, or its repository while the workspace does
// not exist, and every folder above them.
func (f LoginFacts) folders(s session.Spec) []string {
	var all []string
	for _, dir := range []string{f.At.Dir, s.Workspace.Repo} {
		for dir != "" && !slices.Contains(all, dir) {
			all = append(all, dir)
			dir = filepath.Dir(dir)
		}
	}
	return all
}

// claudeLogin looks for the login of Claude Code. On macOS it is in the keychain.
func claudeLogin(s session.Spec, f LoginFacts) (lack, remedy string) {
	given := slices.Concat(s.Agent.Command, s.Args)
	if f.OS == "darwin" || f.set(s, "ANTHROPIC_", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_") || has(given, "--settings") {
		return "", ""
	}
	dir, state := filepath.Join(f.At.Home, ".claude"), filepath.Join(f.At.Home, ".claude.json")
	if own := f.At.Env["CLAUDE_CONFIG_DIR"]; own != "" {
		dir, state = own, filepath.Join(own, ".claude.json")
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
	return "there is no " + filepath.Join(dir, ".credentials.json") + ", and its environment has no key", "log in: start claude once, or set ANTHROPIC_API_KEY"
}

// codexLogin looks for the login of Codex. A provider that its configuration names may
// need none. OPENAI_API_KEY alone is none.
func codexLogin(s session.Spec, f LoginFacts) (lack, remedy string) {
	given := slices.Concat(s.Agent.Command, s.Args)
	if f.set(s, "AZURE_OPENAI_", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN") || has(given, "-c", "--config", "--oss", "-p", "--profile") {
		return "", ""
	}
	dir := cmp.Or(f.At.Env["CODEX_HOME"], filepath.Join(f.At.Home, ".codex"))
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
		return lack + ", and OPENAI_API_KEY alone is no login", "log in: printenv OPENAI_API_KEY | codex login --with-api-key"
	}
	return lack, "log in: codex login"
}

// geminiLogin looks for the login of Gemini CLI, which also reads the first .env above its
// folder.
func geminiLogin(s session.Spec, f LoginFacts) (lack, remedy string) {
	if f.set(s, geminiKey, "GEMINI_DEFAULT_AUTH_TYPE", "GEMINI_CLI_SYSTEM_", "GEMINI_CLI_USE_COMPUTE_ADC", "GOOGLE_", "CLOUDSDK_CONFIG", "CODE_ASSIST_ENDPOINT", "CLOUD_SHELL") {
		return "", ""
	}
	home := geminiHome(f.At)
	dir := filepath.Join(home, ".gemini")
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
	return "there is no " + filepath.Join(dir, "oauth_creds.json") + ", and its environment has no key", "log in: start gemini once, or set GEMINI_API_KEY"
}
