package session

import "testing"

// TestEngineOfRuntimes shows how messages name what holds the sessions of a runtime.
func TestEngineOfRuntimes(t *testing.T) {
	for want, spec := range map[string]RuntimeSpec{
		"tmux":                        {Kind: "tmux"},
		"tmux /tmp/mine":              {Kind: "tmux", Socket: "/tmp/mine"},
		"docker":                      {Kind: "docker", Docker: &DockerConfig{}},
		"docker ssh://far":            {Kind: "docker", Docker: &DockerConfig{Host: "ssh://far"}},
		"kubernetes":                  {Kind: "kubernetes", Kubernetes: &KubernetesConfig{}},
		"kubernetes work":             {Kind: "kubernetes", Kubernetes: &KubernetesConfig{Context: "work"}},
		"kubernetes work/agents":      {Kind: "kubernetes", Kubernetes: &KubernetesConfig{Context: "work", Namespace: "agents"}},
		"kubernetes namespace agents": {Kind: "kubernetes", Kubernetes: &KubernetesConfig{Namespace: "agents"}},
	} {
		if got := spec.Engine(); got != want {
			t.Errorf("%+v: %q, want %q", spec, got, want)
		}
	}
}
