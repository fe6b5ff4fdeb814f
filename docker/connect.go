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

// connect connects to the engine of a URL or a context; without one to the engine that
// the docker command would use.
func connect(host string) (engine, error) {
	config := cmp.Or(os.Getenv("DOCKER_CONFIG"), filepath.Join(os.Getenv("HOME"), ".docker"))
	if host == "" && os.Getenv("DOCKER_HOST") == "" {
		host = currentContext(config)
	}
	options := []client.Opt{client.FromEnv, client.WithAPIVersionNegotiation()}
	if host != "" && !strings.Contains(host, "://") {
		url, err := contextHost(config, host)
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
		return nil, errors.Join(fmt.Errorf("docker: the engine %s has no socket on this machine, so its containers could not mount the workspaces, which are here: run agentform where the engine is (a context or DOCKER_HOST that begins with unix://)", c.DaemonHost()), c.Close())
	}
	return c, nil
}

// currentContext returns the context that the docker command uses; nothing if it is the
// default one.
func currentContext(config string) string {
	name := os.Getenv("DOCKER_CONTEXT")
	if name == "" {
		var settings struct {
			CurrentContext string `json:"currentContext"`
		}
		text, err := os.ReadFile(filepath.Join(config, "config.json"))
		if err == nil && json.Unmarshal(text, &settings) == nil {
			name = settings.CurrentContext
		}
	}
	if name == defaultContext {
		return ""
	}
	return name
}

const defaultContext = "default"

// contextHost returns the engine of a context.
func contextHost(config, name string) (string, error) {
	if name == defaultContext {
		return client.DefaultDockerHost, nil
	}
	sum := sha256.Sum256([]byte(name))
	text, err := os.ReadFile(filepath.Join(config, "contexts", "meta", hex.EncodeToString(sum[:]), "meta.json"))
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
