package agent

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// credentials determines which of its logins an agent uses.
type credentials struct {
	// keys are the login variables, in order of precedence; with every, the model decides which is
	// used.
	keys  []credentialKey
	every bool
	// also are variables that further identify a key or a login, such as the address of a gateway.
	also []string
	// dir returns the directory of the login used without any of the keys; empty: not known.
	dir func(of session.Lookup) string
}

// credentialKey is a variable with a key or a token, or one that selects a cloud, whose own
// variables select the account.
type credentialKey struct {
	name  string
	cloud []string
}

// CredentialFacts are the facts of a run that Credential needs.
type CredentialFacts struct {
	Salt string   // of the digests, so that the same key differs between projects
	ID   string   // of the session
	Env  []string // NAME=VALUE
	// Secrets are further variables of the run, whose values must not be recorded.
	Secrets map[string]string
}

// Credential returns the credential of a run, or zero if its agent's is not known. A secret that
// the manifest declares is identified by its name, so that its value need not be read: a project
// has one source for each name. Everything else is identified by value.
func Credential(s session.Spec, f CredentialFacts) session.Credential {
	k := kindOf(s.Agent)
	c, who := k.credentials, s.Agent.Program()
	if c.dir == nil {
		return session.Credential{}
	}
	env := map[string]string{}
	for _, kv := range f.Env {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	part := func(name string) string {
		switch {
		case slices.Contains(s.Secrets, name):
			return "secret " + name
		case f.Secrets[name] != "":
			return "value " + f.Secrets[name]
		case env[name] != "":
			return "value " + env[name]
		}
		return ""
	}
	var parts, names []string
	for _, name := range c.also {
		if value := part(name); value != "" {
			parts = append(parts, name+" "+value)
		}
	}
	ownHome := s.Runtime.Traits().OwnHome
	for _, key := range c.keys {
		value := part(key.name)
		if value == "" || len(names) > 0 && !c.every {
			continue
		}
		names = append(names, key.name)
		for _, name := range key.cloud {
			value += "\x00" + part(name)
		}
		if len(key.cloud) > 0 && ownHome { // the rest of its login may be in its home
			value += "\x00" + f.ID
		}
		parts = append(parts, "key "+value)
	}
	key := strings.Join(names, " and ")
	name := who + ", " + key
	if len(names) == 0 {
		of := session.Lookup{Home: env["HOME"], Env: env}
		if ownHome {
			of.Home = cmp.Or(env["HOME"], session.HomeInside)
			parts = append(parts, "own "+f.ID)
		}
		dir := c.dir(of)
		if dir == "" {
			return session.Credential{}
		}
		parts = append(parts, who, s.Profile, "directory "+filepath.Clean(dir))
		name = who + ", " + shortened(filepath.Clean(dir), of.Home)
	}
	return session.Credential{ID: digest(f.Salt, parts), Name: name, Key: key}
}

// shortened returns a path with ~ for the home.
func shortened(path, home string) string {
	if rest, in := strings.CutPrefix(path, strings.TrimSuffix(home, "/")+"/"); in && home != "" {
		return "~/" + rest
	}
	return path
}

// digest returns 16 hex digits that reveal nothing of the parts.
func digest(salt string, parts []string) string {
	h := hmac.New(sha256.New, []byte(salt))
	h.Write([]byte(strings.Join(parts, "\x00\x00")))
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// keysOf returns keys that need no other variables.
func keysOf(names ...string) []credentialKey {
	all := make([]credentialKey, len(names))
	for i, name := range names {
		all[i].name = name
	}
	return all
}

// Renewal returns what to do about a credential of a session's agent that its provider refuses.
func Renewal(s session.AgentSpec, c session.Credential) string {
	k := kindOf(s)
	cloud := slices.ContainsFunc(k.credentials.keys, func(key credentialKey) bool { return key.name == c.Key && len(key.cloud) > 0 })
	switch {
	case cloud:
		return "log in again at the cloud that " + c.Key + " selects"
	case c.Key != "":
		return "renew the key in " + c.Key
	case k.relogin != "":
		return "log in again: " + k.relogin
	}
	return "log in again"
}
