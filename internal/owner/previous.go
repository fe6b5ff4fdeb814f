package owner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// projectFile is what the name of a file adds to that of the directory of sockets that it
// lies beside. The file names the project that the sockets belong to. It lasts as long
// as the sockets, so that a changed data_dir is recognized while sessions run.
const projectFile = ".project"

// used is the content of such a file.
type used struct {
	Dir     string `json:"dir"`  // the project's directory
	Name    string `json:"name"` // the project's name
	DataDir string `json:"data_dir"`
}

// Keep writes down, beside the directory of the sockets, which project and data
// directory they belong to.
func Keep(sockets string, here session.Owner, project string) error {
	b, err := json.Marshal(used{Dir: here.Project, Name: project, DataDir: here.DataDir})
	if err != nil {
		return err
	}
	path := sockets + projectFile
	if now, err := os.ReadFile(path); err == nil && bytes.Equal(now, b) {
		return os.Chmod(path, 0o600) // whoever opened it to others
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return fmt.Errorf("write down whose sockets these are: %w", err)
	}
	return nil
}

// PreviousError says that sessions of a project run with another data directory than
// the one that is configured now.
type PreviousError struct {
	Previous string // data directory
	Now      string
	Running  []session.Address
}

// Error names the sessions and how to go on.
func (e *PreviousError) Error() string {
	names := make([]string, len(e.Running))
	for i, a := range e.Running {
		names[i] = string(a)
	}
	return fmt.Sprintf("data_dir is now %s, and sessions of this project run with %s: %s; nothing was changed; set data_dir = %q again, or do so, run agentform destroy, and change it then",
		e.Now, e.Previous, strings.Join(names, ", "), e.Previous)
}

// checkPrevious looks for running sessions of the same project in other data
// directories.
func checkPrevious(here session.Owner, project string) error {
	sockets, err := shim.SocketDir(here.DataDir)
	if err != nil {
		return nil // whoever needs the sockets gets this error
	}
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(sockets), "*"+projectFile)) // fails only for a bad pattern
	for _, path := range found {
		var u used
		b, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(b, &u) != nil {
			continue
		}
		if u.Dir != here.Project || u.Name != project || u.DataDir == here.DataDir {
			continue
		}
		if running := running(u.DataDir); len(running) > 0 {
			return &PreviousError{Previous: u.DataDir, Now: here.DataDir, Running: running}
		}
	}
	return nil
}

// running returns the sessions of a data directory's state whose agent runs, as far as
// that can be told without a runtime. A container that was not seen to end counts.
func running(dataDir string) []session.Address {
	st, err := state.Read(filepath.Join(dataDir, "state.json"))
	if err != nil {
		return nil
	}
	var found []session.Address
	for _, r := range st.Sessions {
		f, _ := shim.Glance(filepath.Join(dataDir, "runs", r.Run.ID)) // what cannot be read does not run
		contained := r.Place.Container != "" && f.Exit == nil && r.Run.EndedAt.IsZero()
		if r.Run.ID != "" && (contained || f.Agent.Alive() || f.Guest.Alive()) {
			found = append(found, r.Address)
		}
	}
	return found
}
