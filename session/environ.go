package session

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// EnvReader is an Agent that reads variables of its caller's environment.
type EnvReader interface {
	// Reads returns the names of the variables; a star stands for any number of
	// characters. They may depend on the values of others, which lookup returns.
	Reads(lookup func(name string) string) []string
}

// Inherited is the part of an environment that a session gets.
type Inherited struct {
	Env     []string          // NAME=VALUE, sorted; may be written down
	Secrets map[string]string // must not be written where they stay
	Left    []string          // the names of variables that inherit_env would pass on, sorted
}

// Inherit returns the part of an environment (NAME=VALUE, the last of a name counts)
// that a session gets: the variables that every program needs, those that the agent reads,
// and those that inherit_env names, but none that belong to a call of git, to a terminal
// or to agentform. A container gets nothing: its image has an environment.
func Inherit(environ []string, s Spec, a Agent) Inherited {
	if s.Runtime.Traits().OwnHome {
		return Inherited{}
	}
	values := variables(environ)
	wanted := slices.Concat(basicPatterns, s.InheritEnv, s.Agent.InheritEnv)
	if r, ok := a.(EnvReader); ok {
		wanted = append(wanted, r.Reads(func(name string) string {
			for _, layer := range []map[string]string{s.Env, s.Agent.Env, values} {
				if v, set := layer[name]; set {
					return v
				}
			}
			return ""
		})...)
	}
	return selected(values, func(name string) bool { return basicVariables()[name] || matches(wanted, name) })
}

// With returns the environment of a session (NAME=VALUE, sorted) and its secrets. Layers
// override what it inherits and earlier layers.
func (in Inherited) With(declared map[string]string, layers ...map[string]string) (env []string, secrets map[string]string) {
	values, secrets := variables(in.Env), map[string]string{}
	maps.Copy(secrets, in.Secrets)
	for _, layer := range layers {
		for name, value := range layer {
			values[name] = value
			delete(secrets, name)
		}
	}
	maps.Copy(secrets, declared)
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, secrets
}

// SplitSecrets returns a whole environment without what is never passed on.
func SplitSecrets(environ []string) Inherited {
	return selected(variables(environ), func(string) bool { return true })
}

func variables(environ []string) map[string]string {
	values := make(map[string]string, len(environ))
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
			values[name] = value
		}
	}
	return values
}

func selected(values map[string]string, wanted func(name string) bool) Inherited {
	in := Inherited{Secrets: map[string]string{}}
	for name, value := range values {
		switch {
		case ownVariable(name):
		case !wanted(name):
			in.Left = append(in.Left, name)
		case LooksSecret(name, value):
			in.Secrets[name] = value
		default:
			in.Env = append(in.Env, name+"="+value)
		}
	}
	slices.Sort(in.Env)
	slices.Sort(in.Left)
	return in
}

// basicPatterns and basicVariables are the variables that every program gets.
var basicPatterns = []string{"LC_*", "TERM_*", "XDG_*"}

var basicVariables = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(basicNames) {
		all[name] = true
	}
	return all
})

const basicNames = `
	PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR
	TERM TERMINFO TERMINFO_DIRS COLORTERM NO_COLOR SSH_AUTH_SOCK

	HTTP_PROXY HTTPS_PROXY ALL_PROXY FTP_PROXY NO_PROXY http_proxy https_proxy all_proxy ftp_proxy no_proxy
	SSL_CERT_FILE SSL_CERT_DIR NIX_SSL_CERT_FILE NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO
	GIT_SSH GIT_SSH_COMMAND GIT_SSH_VARIANT GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM

	GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOENV GOTOOLCHAIN
	JAVA_HOME JDK_HOME MAVEN_HOME M2_HOME GRADLE_HOME GRADLE_USER_HOME SDKMAN_DIR
	ANDROID_HOME ANDROID_SDK_ROOT ANDROID_NDK_HOME FLUTTER_ROOT
	NVM_DIR NVM_BIN FNM_DIR FNM_MULTISHELL_PATH N_PREFIX VOLTA_HOME PNPM_HOME COREPACK_HOME
	BUN_INSTALL DENO_DIR DENO_INSTALL
	ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR MISE_CONFIG_DIR MISE_CACHE_DIR MISE_STATE_DIR
	PYENV_ROOT VIRTUAL_ENV CONDA_PREFIX CONDA_EXE CONDA_DEFAULT_ENV PIPX_HOME POETRY_HOME UV_CACHE_DIR
	RBENV_ROOT RVM_PATH rvm_path GEM_HOME GEM_PATH BUNDLE_PATH
	CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN
	DOTNET_ROOT NUGET_PACKAGES STACK_ROOT OPAMROOT OPAM_SWITCH_PREFIX COMPOSER_HOME
	PERL5LIB PERL_LOCAL_LIB_ROOT NIX_PATH NIX_PROFILES HOMEBREW_PREFIX HOMEBREW_CELLAR HOMEBREW_REPOSITORY`

// ownVariable reports whether a variable belongs to the call that agentform was started
// in. Git sets GIT_DIR, GIT_INDEX_FILE and others for hooks and aliases: an agent that got
// them would commit to the caller's checkout.
func ownVariable(name string) bool {
	if strings.HasPrefix(name, "GIT_") {
		return !matches(gitSettings, name)
	}
	return matches(callVariables, name)
}

// IsVariablePattern reports whether a text is a pattern of variables: letters, digits,
// underscores, and stars that stand for any number of characters.
func IsVariablePattern(s string) bool {
	for i, r := range s {
		letter := r == '_' || r == '*' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// NeverInherited reports whether inherit_env cannot pass a variable on.
func NeverInherited(name string) bool { return !strings.Contains(name, "*") && ownVariable(name) }

var (
	gitSettings = []string{
		"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_SSL_*", "GIT_PROXY_COMMAND", "GIT_ASKPASS", "GIT_TERMINAL_PROMPT",
		"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_ALLOW_PROTOCOL", "GIT_LFS_*",
	}
	callVariables = []string{
		"AGENTFORM_*", "TMUX", "TMUX_PANE", "PWD", "OLDPWD", "SHLVL", "_",
		// Claude Code sets these for what it starts. A Claude Code with them is a child, whose
		// conversation cannot be resumed (2.1.197).
		"CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_EXECPATH",
		"CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST", "CLAUDE_CODE_SDK_HAS_OAUTH_REFRESH", "CLAUDE_JOB_DIR",
	}
)

// LooksSecret reports whether a variable's value looks like a secret: by its name, or by
// a password or a well-known form of token in it. Paths are none.
func LooksSecret(name, value string) bool {
	upper := strings.ToUpper(name)
	ends := "_" + strings.TrimRight(upper, "0123456789") // PASS and API_KEY2 end as DB_PASS does
	has := func(ending string) bool { return strings.HasSuffix(ends, ending) }
	switch {
	case slices.ContainsFunc(locationEndings, has), strings.Contains(upper, "_MAX_"):
	case slices.ContainsFunc(secretEndings, has), slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(upper, w) }):
		return true
	}
	return secretValue(value)
}

// secretValue reports whether a value has a password (user:password@, https://TOKEN@host,
// password=…), the address of a webhook, or a token with a known prefix.
func secretValue(value string) bool {
	if strings.Contains(value, "@") && secretPatterns()[0].MatchString(value) || strings.Contains(value, "=") && secretPatterns()[1].MatchString(value) {
		return true
	}
	if slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(value, part) }) {
		return true
	}
	for _, start := range tokenStarts {
		i := strings.Index(value, start)
		if i > 0 && wordByte(value[i-1]) || i < 0 {
			continue
		}
		if token := value[i+len(start):]; len(token) >= 8 && strings.IndexFunc(token[:8], func(r rune) bool { return r > 0x7f || !wordByte(byte(r)) && r != '.' }) < 0 {
			return true
		}
	}
	return false
}

func wordByte(b byte) bool {
	return b == '-' || b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

var secretPatterns = sync.OnceValue(func() [2]*regexp.Regexp {
	return [2]*regexp.Regexp{
		regexp.MustCompile(`(?:^|//)[^\s/:@]*:[^\s/@][^\s@]*@\S|https?://[^\s/@]+@`),
		regexp.MustCompile(`(?i:passw(?:or)?d|pwd|secret|token|access_?key|account_?key|api_?key)=[^\s;&]|[?&;]sig=`),
	}
})

var (
	secretWords   = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY", "_KEY_", "_AUTH_", "BEARER"}
	secretEndings = []string{"_KEY", "_KEYS", "_PASS", "_PW", "_PWD", "_CREDS", "_AUTH", "_PAT", "_DSN", "_JWT", "_COOKIE", "SSHPASS", "CONNECTION_STRING", "HEADERS"}
	secretParts   = []string{"hooks.slack.com/services/", "discord.com/api/webhooks/", " PRIVATE KEY-----", "Bearer ", "Basic "}
	tokenStarts   = []string{
		"sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xoxa-", "AKIA", "ASIA", "AIza", "hf_", "npm_", "pypi-", "eyJ",
		"sk_live_", "sk_test_", "rk_live_", "dop_v1_", "dckr_pat_", "shpat_", "sbp_", "SG.", "HRKU-", "AGE-SECRET-KEY-",
	}
	locationEndings = []string{"_FILE", "_FILES", "_PATH", "_DIR", "_HOME", "_SOCK", "GOOGLE_APPLICATION_CREDENTIALS"}
)

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if !strings.Contains(p, "*") {
			return p == name
		}
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}
