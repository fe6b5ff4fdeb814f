package docker

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// stopReserve is how long after the agent's grace the engine waits, when it stops a
// container, before it kills: what the agent has left behind is ended meanwhile.
const stopReserve = 10 * time.Second

// placing are the settings of the container in which a session lives.
func (r *Runtime) placing(l session.Launch, of owner) (*container.Config, *container.HostConfig) {
	f := r.shared(l.Mark.ID)
	config, host := r.settings(l.Spec, l.Dir, of)
	config.Hostname = l.Name[:min(len(l.Name), 63)] // the longest that Linux has
	config.Entrypoint = append(slices.Clone(r.config.Guest), shim.KeepMode, f.sockets)
	maps.Copy(config.Labels, map[string]string{labelAddress: string(l.Mark.Address), labelID: l.Mark.ID,
		labelRun: l.Mark.Run, labelHash: l.Mark.Hash})
	config.StopSignal = "SIGTERM" // whatever the image says: it is for its own program
	patience := int(math.Ceil((l.Stop.Grace.D() + stopReserve).Seconds()))
	config.StopTimeout = &patience
	host.Mounts = append(host.Mounts, bind(f.runs, filepath.Join(r.config.DataDir, "runs"), false), bind(f.sockets, f.sockets, false))
	host.Tmpfs[shim.KeptFolder] = inMemory(of)
	return config, host
}

// inMemory are the options of the folder that is its user's alone and of no disk.
func inMemory(of owner) string {
	options := "rw,nosuid,nodev,noexec,size=4m,mode=0700,uid=" + strconv.Itoa(of.uid)
	if of.gid >= 0 {
		options += ",gid=" + strconv.Itoa(of.gid)
	}
	return options
}

// settings are those of a container for a session, whatever runs in it.
func (r *Runtime) settings(s session.Spec, dir string, of owner) (*container.Config, *container.HostConfig) {
	d := s.Runtime.Docker
	if d == nil {
		d = &session.DockerConfig{}
	}
	config := &container.Config{
		Image: d.Image, User: of.String(), WorkingDir: dir,
		Labels: map[string]string{labelProject: r.config.Lineage},
		// An image's own check is about its own program, and each is an exec.
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
	host := &container.HostConfig{
		NetworkMode:    container.NetworkMode(d.Network),
		ReadonlyRootfs: d.ReadOnly,
		SecurityOpt:    []string{"no-new-privileges"},
		CapDrop:        []string{"ALL"},
		CapAdd:         capabilities(),
		Tmpfs:          map[string]string{},
		// What the first process prints is for errors: no agent fills a disk with it.
		LogConfig: container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "1m", "max-file": "1"}},
	}
	if d.ReadOnly {
		host.Tmpfs["/tmp"] = "exec,mode=1777"
	}
	if dir != "" {
		host.Mounts = append(host.Mounts, bind(dir, dir, false))
	}
	if len(r.config.Guest) > 0 {
		host.Mounts = append(host.Mounts, bind(r.config.Guest[0], r.config.Guest[0], true))
	}
	host.NanoCPUs = int64(d.CPUs * 1e9)
	host.Memory = d.Memory
	if d.PIDs > 0 {
		host.PidsLimit = &d.PIDs
	}
	if w := s.Workspace; w.TrustGit && w.Mode == session.Worktree {
		host.Mounts = append(host.Mounts, bind(commonDir(w.Repo), commonDir(w.Repo), false))
	}
	for _, m := range d.Mounts {
		host.Mounts = append(host.Mounts, bind(m.Source, m.Target, m.ReadOnly))
	}
	return config, host
}

// capabilities are what root in a container keeps: it gives files away, reads them,
// becomes another user, as package managers do, and opens low ports. Anybody else
// has none.
func capabilities() []string {
	return []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "NET_BIND_SERVICE"}
}

// usable lets another user run the guest's program, whose folder here is closed to
// everybody else.
func (r *Runtime) usable(of owner) error {
	if of.uid == os.Geteuid() {
		return nil
	}
	info, err := os.Stat(r.config.Guest[0])
	if err != nil || info.Mode().Perm()&0o005 == 0o005 {
		return err
	}
	return os.Chmod(r.config.Guest[0], info.Mode().Perm()|0o055)
}

func bind(source, target string, readOnly bool) mount.Mount {
	return mount.Mount{Type: mount.TypeBind, Source: source, Target: target, ReadOnly: readOnly}
}
