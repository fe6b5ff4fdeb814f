package agenttest

import (
	"fmt"
	"strings"
)

// key is a dummy, longer than the part of it that Claude Code remembers.
const key = "sk-dummy-key-of-the-scripted-model"

// access is the environment that leads an agent to the scripted model.
func access(agent, url string) map[string]string {
	switch agent {
	case "claude":
		return map[string]string{"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": key}
	case "codex":
		return map[string]string{"OPENAI_API_KEY": key}
	case "copilot":
		return map[string]string{"COPILOT_PROVIDER_BASE_URL": url, "COPILOT_PROVIDER_TYPE": "anthropic", "COPILOT_PROVIDER_API_KEY": key,
			"COPILOT_MODEL": "scripted", "COPILOT_OFFLINE": "true"}
	case "opencode":
		return map[string]string{"ANTHROPIC_API_KEY": key}
	case "qwen":
		return map[string]string{"OPENAI_BASE_URL": url + "/v1", "OPENAI_API_KEY": key, "OPENAI_MODEL": "scripted"}
	}
	return map[string]string{"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": key}
}

// home is what lies in the home of a person who has set an agent up, by path.
func home(agent, dir, url string) map[string]string {
	switch agent {
	case "claude":
		return map[string]string{".claude.json": fmt.Sprintf(
			`{"hasCompletedOnboarding":true,"customApiKeyResponses":{"approved":[%q],"rejected":[]},"projects":{%q:{"hasTrustDialogAccepted":true}}}`,
			key[len(key)-20:], dir)}
	case "codex":
		return map[string]string{".codex/config.toml": strings.NewReplacer("URL", url, "DIR", dir).Replace(`model = "gpt-5"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "URL/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = 2
stream_max_retries = 2

[projects."DIR"]
trust_level = "trusted"
`)}
	case "copilot":
		return map[string]string{".copilot/config.json": fmt.Sprintf(`{"appTipShown": true, "trustedFolders": [%q]}`, dir)}
	case "opencode": // it has installed what its plugins may import: 64 MB from npm, for which it waits
		return map[string]string{
			".config/opencode/node_modules/.package-lock.json": `{}`,
			".config/opencode/package-lock.json":               `{"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}`,
			".config/opencode/opencode.json": fmt.Sprintf(`{
  "model": "anthropic/scripted",
  "provider": {"anthropic": {
    "options": {"baseURL": %q, "apiKey": "{env:ANTHROPIC_API_KEY}"},
    "models": {"scripted": {"name": "Scripted"}}
  }},
  "permission": {"bash": "ask"}
}`, url+"/v1"),
		}
	}
	if agent == "qwen" { // it would ask for memories behind the scenes
		return map[string]string{".qwen/settings.json": `{
  "$version": 4,
  "general": {"enableAutoUpdate": false},
  "memory": {"enableManagedAutoMemory": false},
  "privacy": {"usageStatisticsEnabled": false}
}`}
	}
	return map[string]string{".gemini/settings.json": `{
  "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
  "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
  "privacy": {"usageStatisticsEnabled": false}
}`}
}
