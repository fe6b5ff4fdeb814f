package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// hashVersion is incremented when Hash covers other fields. Hashes of different versions
// cannot be compared, and never cause a restart.
const hashVersion = "1"

// Hash returns the fingerprint of a run's configuration, which identifies a live session whose
// record was lost. It covers an explicit list of fields, so that a new field in a later version
// changes no hash.
func (s Spec) Hash() string {
	b, err := json.Marshal(struct {
		Address Address
		Agent   string
		Command []string
		Args    []string
		Env     map[string]string
		Secrets []string
		Prompt  string
		Branch  string
		Path    string
		Mode    string
		Runtime string
	}{s.Address, s.Agent.Name, s.Agent.Command, s.Args, s.Env, s.Secrets, s.Prompt.Digest,
		s.Branch, s.Workspace.Path, s.Workspace.Mode, s.Runtime.Kind + "/" + s.Runtime.Name})
	if err != nil {
		panic(err) // plain strings always marshal
	}
	sum := sha256.Sum256(b)
	return hashVersion + ":" + hex.EncodeToString(sum[:12])
}

// PromptOf returns a prompt with its digest. An empty text is no prompt.
func PromptOf(text string) Prompt {
	if text == "" {
		return Prompt{}
	}
	sum := sha256.Sum256([]byte(text))
	return Prompt{Digest: hex.EncodeToString(sum[:]), Text: text}
}
