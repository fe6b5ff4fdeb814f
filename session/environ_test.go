package session_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/session"
)

func TestInherit(t *testing.T) {
	environ := []string{
		"PATH=/bin", "HOME=/home/a", "LC_ALL=C", "XDG_RUNTIME_DIR=/run/a", "SSH_AUTH_SOCK=/run/a/agent", "GOPATH=/go", "JAVA_HOME=/java",
		"http_proxy=http://proxy:8080", "HTTPS_PROXY=http://me:pw@proxy:8080", "GIT_SSH_COMMAND=ssh -i key",
		"ANTHROPIC_API_KEY=a", "ANTHROPIC_BASE_URL=http://localhost:1", "CLAUDE_CONFIG_DIR=/claude", "CLAUDE_CODE_SESSION_ID=outer", "CLAUDECODE=1", "CLAUDE_JOB_DIR=/job",
		"OPENAI_API_KEY=o", "CODEX_HOME=/codex", "GEMINI_API_KEY=g", "GOOGLE_APPLICATION_CREDENTIALS=/file", "GEMINI_CLI_IDE_AUTH_TOKEN=outer",
		"AWS_SECRET_ACCESS_KEY=w", "AWS_REGION=eu", "NPM_TOKEN=n", "MYVAR=1", "DATABASE_URL=postgres://me:pw@db/shop",
		"GIT_DIR=/elsewhere", "GIT_INDEX_FILE=/x", "GIT_AUTHOR_DATE=now", "GIT_AUTHOR_NAME=me", "GIT_EDITOR=:", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=a",
		"GIT_CONFIG_PARAMETERS='a'", "GIT_PREFIX=", "GIT_EXEC_PATH=/git", "GIT_SEQUENCE_EDITOR=:",
		"TMUX=/tmp/x,1,0", "TMUX_PANE=%1", "AGENTFORM_VAR_pw=s", "PWD=/here", "MYVAR=2",
	}
	const basic = "GIT_SSH_COMMAND GOPATH HOME JAVA_HOME LC_ALL PATH SSH_AUTH_SOCK XDG_RUNTIME_DIR http_proxy"
	for name, c := range map[string]struct {
		spec         session.Spec
		env, secrets string // names
	}{
		"a program of one's own": {session.Spec{}, basic, "HTTPS_PROXY"},
		"claude":                 {session.Spec{Agent: session.AgentSpec{Name: "claude"}}, basic + " ANTHROPIC_BASE_URL CLAUDE_CONFIG_DIR", "ANTHROPIC_API_KEY HTTPS_PROXY"},
		"claude by another name": {session.Spec{Agent: session.AgentSpec{Name: "reviewer", Base: "claude", Command: []string{"claude"}}},
			basic + " ANTHROPIC_BASE_URL CLAUDE_CONFIG_DIR", "ANTHROPIC_API_KEY HTTPS_PROXY"},
		"claude on Bedrock": {session.Spec{Agent: session.AgentSpec{Name: "claude"}, Env: map[string]string{"CLAUDE_CODE_USE_BEDROCK": "1"}},
			basic + " ANTHROPIC_BASE_URL AWS_REGION CLAUDE_CONFIG_DIR", "ANTHROPIC_API_KEY AWS_SECRET_ACCESS_KEY HTTPS_PROXY"},
		"claude on Vertex": {session.Spec{Agent: session.AgentSpec{Name: "claude", Env: map[string]string{"CLAUDE_CODE_USE_VERTEX": "1"}}},
			basic + " ANTHROPIC_BASE_URL CLAUDE_CONFIG_DIR GOOGLE_APPLICATION_CREDENTIALS", "ANTHROPIC_API_KEY HTTPS_PROXY"},
		"codex":  {session.Spec{Agent: session.AgentSpec{Name: "codex"}}, basic + " CODEX_HOME", "HTTPS_PROXY OPENAI_API_KEY"},
		"gemini": {session.Spec{Agent: session.AgentSpec{Name: "gemini"}}, basic + " GOOGLE_APPLICATION_CREDENTIALS", "GEMINI_API_KEY HTTPS_PROXY"},
		"more": {session.Spec{InheritEnv: []string{"MYVAR", "AWS_*"}, Agent: session.AgentSpec{InheritEnv: []string{"DATABASE_URL"}}},
			basic + " AWS_REGION MYVAR", "AWS_SECRET_ACCESS_KEY DATABASE_URL HTTPS_PROXY"},
		"all": {session.Spec{InheritEnv: []string{"*"}},
			basic + " ANTHROPIC_BASE_URL AWS_REGION CLAUDE_CONFIG_DIR CODEX_HOME GOOGLE_APPLICATION_CREDENTIALS MYVAR",
			"ANTHROPIC_API_KEY AWS_SECRET_ACCESS_KEY DATABASE_URL GEMINI_API_KEY GEMINI_CLI_IDE_AUTH_TOKEN HTTPS_PROXY NPM_TOKEN OPENAI_API_KEY"},
		"a container": {session.Spec{Runtime: session.RuntimeSpec{Kind: "docker"}, Agent: session.AgentSpec{Name: "claude", InheritEnv: []string{"*"}}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := session.Inherit(environ, c.spec, agent.For(c.spec.Agent))
			if got, want := names(in.Env), words(c.env); !slices.Equal(got, want) {
				t.Errorf("environment %v\nwant        %v", got, want)
			}
			if got, want := slices.Sorted(maps.Keys(in.Secrets)), words(c.secrets); !slices.Equal(got, want) {
				t.Errorf("secrets %v\nwant    %v", got, want)
			}
			for _, left := range in.Left {
				if session.NeverInherited(left) {
					t.Errorf("%s is named as what inherit_env would pass on", left)
				}
			}
			if slices.Contains(in.Env, "MYVAR=1") {
				t.Error("the first value of a name counts")
			}
		})
	}
}

func names(env []string) (all []string) {
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		all = append(all, name)
	}
	return all
}

func words(s string) []string { return slices.Sorted(strings.FieldsSeq(s)) }

func TestLooksSecret(t *testing.T) {
	for kv, want := range map[string]bool{
		"GITHUB_TOKEN=x": true, "OPENAI_API_KEY=x": true, "AWS_ACCESS_KEY_ID=x": true, "MY_PASSWORD=x": true, "client_secret=x": true,
		"ANTHROPIC_CUSTOM_HEADERS=Authorization: x": true, "SENTRY_DSN=x": true,
		"DATABASE_URL=postgres://me:pw@db/shop": true, "GOPROXY=https://t0ken@proxy/": true,
		"DATABASE_URL=postgres://db/shop": false, "DOCKER_HOST=ssh://me@host": false, "GOPROXY=https://proxy/a@b": false,
		"HTTP_PROXY=me:pw@proxy:3128": true, "DB=postgres://me:p/w@db/shop": true, "CACHE=redis://:pw@db": true, "MYSQL=me:pw@tcp(db:3306)/shop": true,
		"JDBC_URL=jdbc:postgresql://db/shop?user=me&password=pw": true, "JAVA_OPTS=-Dkey.storePassword=pw": true, "AZ=Name=a;AccountKey=k": true,
		"SSHPASS=x": true, "BLOB=https://a/b?sv=1&sig=x": true, "HOOK=https://hooks.slack.com/services/T/B/x": true, "AUTH=Bearer x": true,
		"OPENAI=sk-proj-0123456789": true, "GH=ghp_0123456789": true, "ID=eyJhbGciOi.eyJzdWIiOiIx": true, "PEM=-----BEGIN RSA PRIVATE KEY-----": true,
		"PASS=x": true, "DB_CREDS=x": true, "OPENAI_KEY2=x": true, "DOCKER_AUTH_CONFIG={}": true, "TWITTER_BEARER=x": true, "STRIPE=sk_live_0123456789": true,
		"MAIL=SG.0123456789": true, "BYPASS=1": false, "SSH_AUTH_SOCK2=/x": false, "TMP_DIR2=/x": false,
		"HTTP_PROXY=proxy:3128": false, "REPO=git@github.com:me/shop.git": false, "REMOTE=ssh://me@host:22/a": false, "TERM=xterm-256color": false,
		"NO_PROXY=localhost:8080,127.0.0.1": false, "PATH=/home/me@work/bin:/bin": false, "JAVA_OPTS=-Xmx1g -Da=b": false, "TASK=task-0123456789": false,
		"PATH=/bin": false, "SSH_AUTH_SOCK=/x": false, "GOOGLE_APPLICATION_CREDENTIALS=/x": false, "AWS_SHARED_CREDENTIALS_FILE=/x": false,
		"CLAUDE_CODE_MAX_OUTPUT_TOKENS=1": false, "KEYBOARD=de": false, "MONKEY=1": false,
	} {
		name, value, _ := strings.Cut(kv, "=")
		if got := session.LooksSecret(name, value); got != want {
			t.Errorf("%s: %v", kv, got)
		}
	}
}

func TestInheritedWith(t *testing.T) {
	in := session.Inherited{Env: []string{"A=1", "B=1"}, Secrets: map[string]string{"KEY": "inherited", "TOKEN": "inherited", "OWN_KEY": "inherited"}}
	env, secrets := in.With(map[string]string{"TOKEN": "declared"}, map[string]string{"B": "2", "C": "2"}, map[string]string{"C": "3", "OWN_KEY": "plain"})
	if want := []string{"A=1", "B=2", "C=3", "OWN_KEY=plain"}; !slices.Equal(env, want) {
		t.Errorf("environment %v, want %v", env, want)
	}
	if want := map[string]string{"KEY": "inherited", "TOKEN": "declared"}; !maps.Equal(secrets, want) {
		t.Errorf("secrets %v, want %v", secrets, want)
	}
}
