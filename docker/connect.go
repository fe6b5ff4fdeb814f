package docker

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/docker/docker/client"
)

// connect opens the engine: of a URL, of a context, or, where neither is named, the
// one that the docker command would use.
func connect(host string) (engine, error) {
	if host == "" && os.Getenv("DOCKER_HOST") == "" {
		host = currentContext()
	}
	options := []client.Opt{client.FromEnv, client.WithAPIVersionNegotiation()}
	if host != "" && !strings.Contains(host, "://") {
		url, err := contextHost(host)
		if err != nil {
			return nil, err
		}
		host = url
	}
	if host != "" {
		options = append(options, client.WithHost(host))
	}
	c, err := client.NewClientWithOpts(options...)
	if err != nil {
		return nil, fmt.Errorf("docker: engine %q: %w", cmp.Or(host, os.Getenv("DOCKER_HOST")), err)
	}
	if !strings.HasPrefix(c.DaemonHost(), "unix://") {
		return nil, errors.Join(fmt.Errorf("docker: the engine %s is not reached by a socket of this machine, so its containers could not mount the workspaces, which are here: run agentform where the engine is (a context or DOCKER_HOST that begins with unix://)", c.DaemonHost()), c.Close())
	}
	return c, nil
}

// configDir is where the docker command keeps its settings.
func configDir() string {
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	home, _ := os.UserHomeDir() // without one there are no settings
	return filepath.Join(home, ".docker")
}

// currentContext is the context that the docker command uses; empty: the default.
func currentContext() string {
	if name := os.Getenv("DOCKER_CONTEXT"); name != "" {
		return named(name)
	}
	var settings struct {
		CurrentContext string `json:"currentContext"`
	}
	text, err := os.ReadFile(filepath.Join(configDir(), "config.json"))
	if err != nil || json.Unmarshal(text, &settings) != nil {
		return ""
	}
	return named(settings.CurrentContext)
}

func named(context string) string {
	if context == "default" {
		return ""
	}
	return context
}

// contextHost is the engine of a context.
func contextHost(name string) (string, error) {
	if named(name) == "" {
		return client.DefaultDockerHost, nil
	}
	sum := sha256.Sum256([]byte(name))
	text, err := os.ReadFile(filepath.Join(configDir(), "contexts", "meta", hex.EncodeToString(sum[:]), "meta.json"))
	if err != nil {
		return "", fmt.Errorf("docker: there is no context %q (docker context ls shows them): %w", name, err)
	}
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	if err := json.Unmarshal(text, &meta); err != nil {
		return "", fmt.Errorf("docker: context %q: %w", name, err)
	}
	host := meta.Endpoints["docker"].Host
	if host == "" {
		return "", fmt.Errorf("docker: context %q names no engine", name)
	}
	return host, nil
}
