package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// The files of a run's folder.
const (
	launchFile = "launch.json"
	claimFile  = "claim"
	runFile    = "run"
	exitFile   = "exit"
)

// configLimit bounds launch.json and the secrets file: Linux takes 2 MiB of
// arguments and environment by default, and the spec comes on top.
const configLimit = 8 << 20

// Config is what a guest is to start. Prepare writes it to the run's folder.
type Config struct {
	Version int             `json:"version"` // ProtocolVersion of the writer; Prepare fills it in
	Run     string          `json:"run"`     // run id: letters, digits, dashes, dots, underscores; at most 64
	Address string          `json:"address"` // of the session, for people
	Dir     string          `json:"dir"`     // where the agent starts; absolute
	Socket  string          `json:"socket"`  // of the guest; absolute
	Argv    []string        `json:"argv"`    // Argv[0] is looked up in the agent's own PATH
	Env     []string        `json:"env"`     // KEY=VALUE; a later one wins
	Signal  string          `json:"signal"`  // how a stop begins; empty: SIGTERM
	Grace   time.Duration   `json:"grace_ns"`
	Timeout time.Duration   `json:"timeout_ns"`     // longest run; 0: none
	Spec    json.RawMessage `json:"spec,omitempty"` // kept as it is, for ReadFacts
	// Inherit begins the agent's environment with the guest's own: in a container
	// that is the image's.
	Inherit bool `json:"inherit,omitempty"`
	// Keeper is the socket of the keeper that hands out the secrets; empty: there is
	// none, and they are in SecretsFile.
	Keeper string `json:"keeper,omitempty"`
	// InheritedSecrets names the secrets that are variables of the caller's
	// environment and not declared as secrets: a restart asks for them again.
	InheritedSecrets []string `json:"inherited_secrets,omitempty"`
	// SecretsFile is where the guest finds the secrets, and unlinks them. Prepare
	// fills it in when there are any.
	SecretsFile string `json:"secrets_file,omitempty"`
}

// isRun reports whether a run id is safe in a file name and in an environment.
func isRun(id string) bool {
	if id == "" || len(id) > 64 || id[0] == '.' || id[0] == '-' {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

func (c Config) check() error {
	switch {
	case !isRun(c.Run):
		return fmt.Errorf("invalid run id %q", c.Run)
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return errors.New("no command to start")
	case !filepath.IsAbs(c.Dir):
		return fmt.Errorf("the agent's folder %q is not an absolute path", c.Dir)
	case !filepath.IsAbs(c.Socket):
		return fmt.Errorf("the guest's socket %q is not an absolute path", c.Socket)
	}
	if err := checkSocket(c.Socket); err != nil {
		return err
	}
	_, err := stopSignal(c.Signal)
	return err
}

// Prepare makes a run ready for a guest: it writes launch.json (0600) to the
// run's folder, which it creates (0700) if need be. Secrets go to a 0600 file
// in the socket's folder, that the guest reads and unlinks at once; they are
// never in launch.json. It leaves nothing behind when it fails. A run that is
// then not started needs Discard.
func Prepare(runDir string, c Config, secrets map[string]string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("prepare run %s: %w", c.Run, err)
		}
	}()
	if err := c.check(); err != nil {
		return err
	}
	c.Version, c.SecretsFile = ProtocolVersion, ""
	if err := os.MkdirAll(runDir, 0o700); err != nil {
		return err
	}
	if len(secrets) > 0 {
		c.SecretsFile = secretsFile(c)
	}
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	// Before the secrets: by launch.json Discard finds them, should this process be killed.
	if err := replace(filepath.Join(runDir, launchFile), b, false); err != nil {
		return err
	}
	if len(secrets) > 0 {
		if b, err = json.Marshal(secrets); err == nil {
			err = create(c.SecretsFile, b)
		}
		if err != nil {
			err = errors.Join(err, os.Remove(filepath.Join(runDir, launchFile)))
		}
	}
	return err
}

// Discard removes what a run can leave outside its folder: the file with the
// secrets, if no guest took the run up, and the socket, if its guest was killed.
// It is for runs that nobody lives for any more, and no error if there is
// nothing.
func Discard(runDir string) error {
	c, err := load(runDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	files := []string{secretsFile(c)}
	if info, err := os.Lstat(c.Socket); err == nil && info.Mode().Type() == os.ModeSocket {
		files = append(files, c.Socket)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("discard run %s: %w", c.Run, err)
		}
	}
	return nil
}

// secretsFile is derived and never taken from a file, so that a changed
// launch.json cannot make anyone read or remove something else.
func secretsFile(c Config) string {
	return filepath.Join(filepath.Dir(c.Socket), "s-"+c.Run)
}

// load reads and checks launch.json.
func load(runDir string) (Config, error) {
	var c Config
	err := readJSON(filepath.Join(runDir, launchFile), configLimit, &c)
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return Config{}, fmt.Errorf("read launch.json: %w", err)
	}
	return c, nil
}

// takeSecrets asks the keeper for the secrets, or reads them and unlinks their file,
// also when it cannot be read.
func takeSecrets(c Config) (map[string]string, error) {
	if c.Keeper != "" {
		secrets, err := askSecrets(c.Keeper, c.Run)
		if err != nil {
			return nil, fmt.Errorf("take over secrets: %w", err)
		}
		return secrets, nil
	}
	if c.SecretsFile == "" {
		return nil, nil
	}
	path := secretsFile(c)
	var secrets map[string]string
	err := errors.Join(readJSON(path, configLimit, &secrets), os.Remove(path))
	if err != nil {
		return nil, fmt.Errorf("take over secrets: %w", err)
	}
	return secrets, nil
}

// LaunchEnv returns the environment that a run's agent was started with, as its
// folder keeps it: KEY=VALUE, a later one wins, without secrets; and the names of
// the secrets that it had from the environment of the caller.
func LaunchEnv(runDir string) (env, inherited []string, err error) {
	var launch struct {
		Env       []string `json:"env"`
		Inherited []string `json:"inherited_secrets"`
	}
	if err := readJSON(filepath.Join(runDir, launchFile), configLimit, &launch); err != nil {
		return nil, nil, fmt.Errorf("read launch.json: %w", err)
	}
	return launch.Env, launch.Inherited, nil
}
