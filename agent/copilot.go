package agent

import (
	"path/filepath"

	"github.com/agentform/agentform/session"
)

// copilot is the GitHub Copilot CLI, measured with 1.0.102 and described in docs/agents/copilot.md.
// Its session file has all activity except retries after a 429 or 500, which nothing shows.
func copilot() kind {
	return kind{
		spec: session.AgentSpec{
			PromptVia:      ViaArgument,
			Ready:          `^❯( |$)`,
			StatusBarLines: 1,
			// Its session file exists before any prompt.
			Observable: AtStart,
		},
		tested: "1.0.102",
		start:  copilotStart,
		paths:  []string{"/@github/copilot"},
		marks: marks{
			composer: `^❯(?: (.*))?$`,
			blocked: []string{
				`^Do you want to .*\?`,
				`Do you trust the files in this folder\?`,
				`^↑/↓ to navigate · enter to select`,
				`^↑/↓ select · enter accept`,
			},
			blockedAPI: []string{`^✗ .*([Rr]ate limit|quota|HTTP 429|^✗ 429)`},
			failed:     []string{`^✗ \S`},
			working:    []string{`^[◉◎●○] Working\b`},
			ui:         []string{`/ commands · \? help|ctrl\+c again to exit`, `esc (esc|again to) (edit prompt|interrupt)`},
			started:    []string{`Copilot v\d`},
			turn:       `^❯ +\S.* \d\d:\d\d`,
			sent:       `\d\d:\d\d$`,
			question:   commandQuestion,
		},
		commands:    "/!",
		shield:      "\u200b", // a zero-width space: blanks before a command are ignored
		files:       copilotFiles,
		transcript:  func() session.TranscriptReader { return &copilotSession{turns: turns{repeats: true}} },
		entries:     copilotEntries,
		usage:       copilotUsage,
		dotfiles:    copilotDotfiles,
		reads:       copilotReads,
		credentials: copilotCredentials,
		login:       copilotLogin,
		relogin:     "start copilot and type /login",
		trust:       []string{FromTranscript},
	}
}

var copilotPermissions = map[string][]string{
	"ask":   nil,
	"edits": {"--allow-tool=write"},
	"all":   {"--allow-all"},
}

func copilotStart(in session.StartInput) session.Start {
	s := in.Spec
	start := session.Start{
		// Otherwise it updates itself during other runs, and then looks different.
		Argv: join(s.Agent.Command, []string{"--no-auto-update"}, copilotPermissions[s.Agent.Permissions]),
		Env:  map[string]string{},
	}
	if s.Agent.Trust && s.Agent.Permissions == "all" {
		// Only full permissions can trust a folder without the settings.
		start.Env["COPILOT_ALLOW_ALL"] = "true"
	}
	switch {
	case in.Conversation != "":
		start.Argv = append(start.Argv, "--resume="+in.Conversation)
		start.Conversation = in.Conversation
	case in.Fresh != "":
		start.Argv = append(start.Argv, "--session-id="+in.Fresh)
		start.Conversation = in.Fresh
	}
	start.Argv = append(start.Argv, s.Args...)
	if in.Prompt != "" {
		// In one word, because the prompt may start with a dash.
		start.Argv = append(start.Argv, "--interactive="+in.Prompt)
	}
	return start
}

// copilotHome returns Copilot CLI's own directory.
func copilotHome(of session.Lookup) string { return ownDir(of, "COPILOT_HOME", ".copilot") }

// copilotDotfiles returns the trust of the folder: at start Copilot CLI asks for it, unless its
// settings have the folder or one above it.
func copilotDotfiles(s session.Spec, of session.Lookup) []DotfileFix {
	if !s.Agent.Trust || s.Agent.Permissions == "all" || s.Workspace.Path == "" {
		return nil
	}
	return []DotfileFix{{
		Path:    filepath.Join(copilotHome(of), "config.json"),
		Problem: "Copilot asks whether to trust the workspace, which only this file can tell it",
		add:     []setting{{path: []string{"trustedFolders"}, value: s.Workspace.Path, list: true}},
	}}
}

// copilotLogin checks the login of Copilot CLI, which also accepts that of GitHub's own command.
func copilotLogin(s session.Spec, f LoginFacts) (lack, remedy string) {
	if f.set(s, "COPILOT_PROVIDER_", "COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN") {
		return "", ""
	}
	config := filepath.Join(copilotHome(f.At), "config.json")
	if f.contains(config, "ogged", "oken") || f.exists(filepath.Join(f.At.Home, ".config", "gh", "hosts.yml")) {
		return "", ""
	}
	return "there is no login in " + config + ", and no token in its environment", "log in: start copilot once and type /login, or set GH_TOKEN"
}

// copilotReads returns the variables for logins, the model and files. It leaves out permissions
// (COPILOT_ALLOW_ALL), which the manifest declares.
func copilotReads(func(string) string) []string {
	return []string{
		"COPILOT_PROVIDER_*", "COPILOT_MODEL", "COPILOT_OFFLINE", "COPILOT_GITHUB_TOKEN", "COPILOT_HOME", "COPILOT_GH_HOST",
		"COPILOT_CUSTOM_INSTRUCTIONS_DIRS", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST",
	}
}

// copilotCredentials has a provider of its own first, then the order of
// https://docs.github.com/en/copilot/how-tos/copilot-cli/set-up-copilot-cli/authenticate-copilot-cli.
var copilotCredentials = credentials{
	keys: append([]credentialKey{{"COPILOT_PROVIDER_API_KEY", []string{"COPILOT_PROVIDER_BASE_URL"}}}, keysOf("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")...),
	also: []string{"COPILOT_PROVIDER_BASE_URL", "COPILOT_GH_HOST"},
	dir:  copilotHome,
}
