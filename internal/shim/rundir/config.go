package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/agentform/agentform/internal/proc"
)

// Version is the version of Config and of the protocol of shims and container inits. Both only gain
// fields and operations, so that a later agentform can use any shim that is still running.
const Version = 1

// The files of a run's directory.
const (
	LaunchFile = "launch.json"
	ClaimFile  = "claim"
	RunFile    = "run"
	ExitFile   = "exit"
	VerifyLog  = "verify.log" // output of the last verification's command
)

// configLimit bounds launch.json and the secrets file: Linux takes 2 MiB of
// arguments and environment by default, and the spec comes on top.
const configLimit = 8 << 20

// Config is the configuration of a shim. Prepare writes it to the run's directory.
type Config struct {
	Version int             `json:"version"`          // rundir.Version of the writer; Prepare fills it in
	Run     string          `json:"run"`              // run id: letters, digits, dashes, dots, underscores; at most 64
	Address string          `json:"address"`          // of the session, to be displayed
	Dir     string          `json:"dir"`              // where the agent starts; absolute
	Branch  string          `json:"branch,omitempty"` // the declared branch of Dir, for the init of a pod; empty: it is not a checkout
	Socket  string          `json:"socket"`           // of the shim; absolute
	Argv    []string        `json:"argv"`             // Argv[0] is looked up in the agent's own PATH
	Env     []string        `json:"env"`              // KEY=VALUE; a later one wins
	Signal  string          `json:"signal"`           // first signal of a stop; empty: SIGTERM
	Grace   time.Duration   `json:"grace_ns"`
	Timeout time.Duration   `json:"timeout_ns"`     // longest run; 0: none
	Spec    json.RawMessage `json:"spec,omitempty"` // unchanged, for ReadFacts
	// Inherit starts the agent's environment with the shim's own: in a container the image's.
	Inherit bool `json:"inherit,omitempty"`
	// SessionFolders are the directories with the agent's session files, if only its container has
	// them: filecopy.Read.
	SessionFolders []string `json:"session_folders,omitempty"`
	// Init is the socket of the init that hands out the secrets; empty: they are in SecretsFile.
	Init string `json:"init,omitempty"`
	// InheritedSecrets names the secrets from the caller's environment that are not declared as
	// secrets: a restart needs them again.
	InheritedSecrets []string `json:"inherited_secrets,omitempty"`
	// SecretsFile is the file with the secrets, which the shim unlinks. Prepare sets it if there
	// are any.
	SecretsFile string `json:"secrets_file,omitempty"`
}

func (c Config) check() error {
	switch {
	case !proc.ValidRun(c.Run):
		return fmt.Errorf("invalid run id %q", c.Run)
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return errors.New("no command to start")
	case !filepath.IsAbs(c.Dir):
		return fmt.Errorf("the agent's directory %q is not an absolute path", c.Dir)
	case !filepath.IsAbs(c.Socket):
		return fmt.Errorf("the shim's socket %q is not an absolute path", c.Socket)
	}
	if err := CheckSocket(c.Socket); err != nil {
		return err
	}
	_, err := proc.ParseSignal(c.Signal)
	return err
}

// Prepare prepares a run for a shim: it writes launch.json (0600) to the run's directory, which it
// creates (0700) if needed. Secrets go to a 0600 file in the socket's directory, which the shim
// reads and unlinks at once; they are never in launch.json. If Prepare fails, it leaves nothing
// behind. A prepared run that is not started needs Discard.
func Prepare(runDir string, c Config, secrets map[string]string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("prepare run %s: %w", c.Run, err)
		}
	}()
	if err := c.check(); err != nil {
		return err
	}
	c.Version, c.SecretsFile = Version, ""
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
	// Write launch.json before the secrets: with it Discard finds them if this process is killed.
	if err := WriteFile(filepath.Join(runDir, LaunchFile), b, false); err != nil {
		return err
	}
	if len(secrets) > 0 {
		if b, err = json.Marshal(secrets); err == nil {
			err = create(c.SecretsFile, b)
		}
		if err != nil {
			err = errors.Join(err, os.Remove(filepath.Join(runDir, LaunchFile)))
		}
	}
	return err
}

// Discard removes the files of a run outside its directory: the secrets, if no shim took them, and
// the socket, if its shim was killed. The run must have no processes. It is not an error if there
// are no files.
func Discard(runDir string) error {
	c, err := Load(runDir)
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

// secretsFile derives the path and never reads it from a file, so that a changed launch.json cannot
// make a caller read or remove another file.
func secretsFile(c Config) string {
	return filepath.Join(filepath.Dir(c.Socket), "s-"+c.Run)
}

// Load reads and checks launch.json.
func Load(runDir string) (Config, error) {
	var c Config
	err := readJSON(filepath.Join(runDir, LaunchFile), configLimit, &c)
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return Config{}, fmt.Errorf("read launch.json: %w", err)
	}
	return c, nil
}

// TakeSecrets reads and removes the file with the secrets of a run, if it exists.
func (c Config) TakeSecrets() (secrets map[string]string, err error) {
	if c.SecretsFile != "" {
		path := secretsFile(c)
		err = errors.Join(readJSON(path, configLimit, &secrets), os.Remove(path))
	}
	return secrets, err
}

// LaunchEnv returns the environment of a run's agent as recorded in its directory, without secrets
// (KEY=VALUE, a later one wins), and the names of the secrets from the caller's environment.
func LaunchEnv(runDir string) (env, inherited []string, err error) {
	var launch struct {
		Env       []string `json:"env"`
		Inherited []string `json:"inherited_secrets"`
	}
	if err := readJSON(filepath.Join(runDir, LaunchFile), configLimit, &launch); err != nil {
		return nil, nil, fmt.Errorf("read launch.json: %w", err)
	}
	return launch.Env, launch.Inherited, nil
}

// socketLimit is the longest path of a unix socket, without its NUL: 108 bytes
// on Linux, 104 on macOS.
func socketLimit() int {
	if runtime.GOOS == "darwin" {
		return 103
	}
	return 107
}

func CheckSocket(path string) error {
	if n, limit := len(path), socketLimit(); n > limit {
		return fmt.Errorf("the socket's path has %d bytes, the limit is %d: %s", n, limit, path)
	}
	return nil
}

// The environment variables with which an agent can ask agentform about itself: the address of its
// session and the project's directory.
const (
	SessionVariable = "AGENTFORM_SESSION"
	ProjectVariable = "AGENTFORM_PROJECT"
)
