package docker

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

func (c Config) sessionSettings(l session.Launch, f dirs, of git.Owner) (*container.Config, *container.HostConfig) {
	config, host := c.settings(l.Spec, l.Dir, of)
	config.Hostname = l.Name[:min(len(l.Name), 63)] // Linux's limit
	config.Entrypoint = append(slices.Clone(c.programs(l.Dir)), shim.InitMode, f.sockets)
	maps.Copy(config.Labels, map[string]string{labelAddress: string(l.Mark.Address), labelID: l.Mark.ID,
		labelRun: l.Mark.Run, labelHash: l.Mark.Hash})
	config.StopSignal = "SIGTERM" // an image's own is for its own program
	config.StopTimeout = new(contained.KillAfter(l.Stop))
	if c.elsewhere() {
		config.Labels[labelProgram], config.Labels[labelDataDir] = c.programs(l.Dir)[0], c.DataDir
	} else {
		host.Mounts = append(host.Mounts, bind(f.runs, f.run(""), false), bind(f.sockets, f.sockets, false))
	}
	private := "rw,nosuid,nodev,noexec,size=4m,mode=0700,uid=" + strconv.Itoa(of.UID)
	if of.GID >= 0 {
		private += ",gid=" + strconv.Itoa(of.GID)
	}
	host.Tmpfs[shim.InitFolder] = private
	return config, host
}

// settings returns the settings that a session and its one-off commands share.
func (c Config) settings(s session.Spec, dir string, of git.Owner) (*container.Config, *container.HostConfig) {
	d := s.Runtime.Docker
	if d == nil {
		d = &session.DockerConfig{}
	}
	config := &container.Config{
		Image: d.Image, User: of.String(), WorkingDir: dir,
		Labels: map[string]string{labelProject: c.Lineage},
		// An image's own check is for its program, and each check costs an exec.
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
	host := &container.HostConfig{
		NetworkMode:    container.NetworkMode(d.Network),
		ReadonlyRootfs: d.ReadOnly,
		SecurityOpt:    []string{"no-new-privileges"},
		CapDrop:        []string{"ALL"},
		// Root in a container changes owners and reads files of others, becomes another user, as
		// package managers do, and opens low ports. Other users have no capabilities.
		CapAdd: []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "NET_BIND_SERVICE"},
		Tmpfs:  map[string]string{},
		// The init prints errors only.
		LogConfig: container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "1m", "max-file": "1"}},
	}
	if d.ReadOnly {
		host.Tmpfs["/tmp"] = "exec,mode=1777"
	}
	switch {
	case c.elsewhere() && dir != "":
		config.WorkingDir = "" // the engine would create it, as root
		host.Mounts = append(host.Mounts, c.volumeMount(dir))
	case c.elsewhere():
	case dir != "":
		host.Mounts = append(host.Mounts, bind(dir, dir, false))
	}
	if len(c.Shim) > 0 && !c.elsewhere() {
		host.Mounts = append(host.Mounts, bind(c.Shim[0], c.Shim[0], true))
	}
	host.NanoCPUs = int64(d.CPUs * 1e9)
	host.Memory = d.Memory
	if d.PIDs > 0 {
		host.PidsLimit = &d.PIDs
	}
	if w := s.Workspace; w.TrustGit && w.Mode == session.Worktree {
		common, _ := git.CommonDir(w.Repo)
		common = cmp.Or(common, filepath.Join(w.Repo, ".git")) // the engine reports that it does not exist
		host.Mounts = append(host.Mounts, bind(common, common, false))
	}
	for _, m := range d.Mounts {
		host.Mounts = append(host.Mounts, bind(m.Source, m.Target, m.ReadOnly))
	}
	return config, host
}

// share makes the shim's program executable for the container's user.
func (c Config) share(of git.Owner) error {
	if of.UID == os.Geteuid() {
		return nil
	}
	info, err := os.Stat(c.Shim[0])
	if err != nil || info.Mode().Perm()&0o005 == 0o005 {
		return err
	}
	return os.Chmod(c.Shim[0], info.Mode().Perm()|0o055)
}

func bind(source, target string, readOnly bool) mount.Mount {
	return mount.Mount{Type: mount.TypeBind, Source: source, Target: target, ReadOnly: readOnly}
}
