package docker

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/shim/install"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

// A session on an engine elsewhere has a volume, which its containers mount at session.VolumeRoot:
// with the shim's program in bin, its runs in runs, its workspace in workspaces.
const (
	labelPath   = "agentform.path"   // of the workspace
	labelBranch = "agentform.branch" // the branch that the workspace was created for
)

// volumeOf returns the name of a workspace's volume.
func (c Config) volumeOf(dir string) string { return contained.Volume(c.Lineage, dir) }

func (c Config) volumeMount(dir string) mount.Mount {
	return mount.Mount{Type: mount.TypeVolume, Source: c.volumeOf(dir), Target: rootOf(dir).Dir, VolumeOptions: &mount.VolumeOptions{NoCopy: true}}
}

// rootOf returns where the volume of a workspace is mounted, for which checkElsewhere has no error.
func rootOf(dir string) layout.Data {
	root, _ := contained.OnVolume(dir)
	return root
}

// checkElsewhere returns why a workspace cannot be on the volume.
func checkElsewhere(dir string) error {
	if _, err := contained.OnVolume(dir); err != nil {
		return fmt.Errorf("docker: %w", err)
	}
	return nil
}

// programs returns the command of the shim as the container of a workspace sees it.
func (c Config) programs(dir string) []string {
	if !c.elsewhere() {
		return c.Shim
	}
	return []string{rootOf(dir).Program(install.Programs(c.Shims).Name())}
}

// shim returns the shim's program for the machine of an engine elsewhere.
func (c Config) shim(ctx context.Context, e engine) (string, error) {
	server, err := e.ServerVersion(ctx)
	if err != nil {
		return "", explain(err)
	}
	return c.shimFor(server.Os, server.Arch)
}

// shimFor returns the shim's program for an engine's platform. The error says where to find it.
func (c Config) shimFor(os, arch string) (file string, err error) {
	if os == "linux" {
		file, err = install.Programs(c.Shims).For(arch)
	} else {
		err = errors.New("agentform-shim runs in containers of Linux")
	}
	if err != nil {
		err = fmt.Errorf("docker: the engine %s is %s/%s: %w", c.Host, os, arch, err)
	}
	return file, err
}

// ensureVolume creates the volume of a session if it does not exist.
func (c Config) ensureVolume(ctx context.Context, e engine, r session.Record) error {
	dir := r.Tree.Path
	_, err := e.VolumeCreate(ctx, volume.CreateOptions{Name: c.volumeOf(dir), Labels: map[string]string{
		labelProject: c.Lineage, labelAddress: string(r.Address), labelID: r.ID, labelPath: dir, labelBranch: r.Tree.Branch,
	}})
	return explain(err)
}

// equip copies to the volume what a container needs: its user's directories, the shim's program
// unless shim is empty or the volume has it, and the directory of a run unless run is empty. The
// workspace dir is on the volume.
func (c Config) equip(ctx context.Context, e engine, id, dir string, of git.Owner, shim, runDir, run string) error {
	program := install.Programs(c.Shims).Name()
	if shim != "" {
		info, err := os.Stat(shim)
		if err != nil {
			return err
		}
		there, err := e.ContainerStatPath(ctx, id, rootOf(dir).Program(program))
		if err != nil && !errdefs.IsNotFound(err) {
			return explain(err)
		}
		if there.Size == info.Size() {
			shim = ""
		}
	}
	pipe, to := io.Pipe()
	go func() {
		w, in := packer{tar.NewWriter(to), of}, layout.Data{}
		err := w.dirs(in.Programs(), in.Runs(), in.Workspaces())
		if err == nil && shim != "" {
			err = w.file(shim, in.Program(program), 0o755)
		}
		if err == nil && run != "" {
			err = w.tree(runDir, in.Run(run))
		}
		_ = to.CloseWithError(errors.Join(err, w.Close()))
	}()
	defer pipe.Close()
	return explain(e.CopyToContainer(ctx, id, rootOf(dir).Dir, pipe, container.CopyToContainerOptions{}))
}

// packer writes files that belong to an owner.
type packer struct {
	*tar.Writer
	of git.Owner
}

func (w packer) header(h *tar.Header) error {
	h.Uid, h.Gid = w.of.UID, max(w.of.GID, 0)
	return w.WriteHeader(h)
}

func (w packer) dirs(names ...string) error {
	for _, name := range names {
		if err := w.header(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o700}); err != nil {
			return err
		}
	}
	return nil
}

func (w packer) file(from, name string, mode int64) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = w.header(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: info.Size()})
	}
	if err == nil {
		_, err = io.CopyN(w, f, info.Size())
	}
	return err
}

// tree writes a directory with its regular files.
func (w packer) tree(from, name string) error {
	return filepath.WalkDir(from, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		to := path.Join(name, filepath.ToSlash(rel))
		switch {
		case e.IsDir():
			return w.dirs(to)
		case e.Type().IsRegular():
			return w.file(p, to, 0o600)
		}
		return nil
	})
}

// copyFiles reads the files of a run from a container, running or not.
func copyFiles(ctx context.Context, e engine, id, dir string) (f rundir.Files, err error) {
	body, _, err := e.CopyFromContainer(ctx, id, dir)
	if err != nil {
		return f, explain(err)
	}
	defer body.Close()
	for r := tar.NewReader(io.LimitReader(body, 2*rundir.SignalsLimit+1<<20)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return f, err
		}
		var into *[]byte
		switch path.Base(h.Name) {
		case rundir.ClaimFile:
			into = &f.Claim
		case rundir.RunFile:
			into = &f.Run
		case rundir.ExitFile:
			into = &f.Exit
		}
		if h.Typeflag == tar.TypeLink && into == &f.Run {
			f.Run = f.Claim // the run file is a link to the claim
			continue
		}
		if into == nil || h.Typeflag != tar.TypeReg || strings.Count(path.Clean(h.Name), "/") != 1 {
			continue
		}
		var b bytes.Buffer
		if _, err := io.Copy(&b, io.LimitReader(r, 64<<10)); err != nil {
			return f, err
		}
		*into = b.Bytes()
	}
}

// Workspaces returns the workspaces on volumes of the project, as described by the engine without a
// container: each with the branch it was created for.
func (r *far) Workspaces(ctx context.Context) ([]session.Checkout, error) {
	c, err := r.engine()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	all, err := c.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("label", labelProject+"="+r.config.Lineage))})
	if err != nil {
		return nil, fmt.Errorf("list volumes: %w", explain(err))
	}
	var found []session.Checkout
	for _, v := range all.Volumes {
		dir := v.Labels[labelPath]
		if dir == "" || v.Name != r.config.volumeOf(dir) {
			continue
		}
		found = append(found, contained.Made(dir, v.Labels[labelBranch]))
	}
	return found, nil
}

// RunIn runs a command at a session's workspace: in its container or, if that is not running, in a
// temporary one.
func (r *far) RunIn(ctx context.Context, rec session.Record, stdin io.Reader, stdout io.Writer, argv ...string) error {
	c, err := r.engine()
	if err != nil {
		return err
	}
	if err := checkElsewhere(rec.Tree.Path); err != nil {
		return err
	}
	if rec.Location.Container != "" {
		i, err := inspect(ctx, c, rec.Location.Container)
		switch {
		case errors.Is(err, session.ErrGone):
		case err != nil:
			return err
		case i.State.Running && !i.State.Paused:
			return r.execIn(ctx, i.ID, stdin, stdout, argv)
		}
	}
	if err := r.config.ensureVolume(ctx, c, rec); err != nil {
		return err
	}
	return r.commands.runOnVolume(ctx, c, rec, stdin, stdout, argv)
}

// runOnVolume runs a command with access to the session's volume.
func (m *commands) runOnVolume(ctx context.Context, c engine, rec session.Record, stdin io.Reader, stdout io.Writer, argv []string) error {
	user, err := git.OwnerOf(rec.Spec.Runtime.Docker)
	if err != nil {
		return err
	}
	config, host := m.config.settings(rec.Spec, rec.Tree.Path, user)
	if !session.Remote(rec.Tree.Repo) { // otherwise git contacts the server
		host.NetworkMode = "none"
	}
	config.Entrypoint, config.Env = homed(argv), nil
	config.AttachStdin, config.OpenStdin, config.StdinOnce = stdin != nil, stdin != nil, stdin != nil
	config.AttachStdout, config.AttachStderr = true, true
	return m.within(ctx, c, config, host, func(id string) error {
		if err := m.config.equip(ctx, c, id, rec.Tree.Path, user, "", "", ""); err != nil {
			return err
		}
		a, err := c.ContainerAttach(ctx, id, container.AttachOptions{Stream: true, Stdin: stdin != nil, Stdout: true, Stderr: true})
		if err != nil {
			return explain(err)
		}
		waiting, stop := context.WithCancel(ctx)
		defer stop()
		ended, failed := c.ContainerWait(waiting, id, container.WaitConditionNextExit)
		if err := c.ContainerStart(ctx, id, container.StartOptions{}); err != nil {
			a.Close()
			return explain(err)
		}
		said, err := copyStreams(ctx, a, stdin, stdout)
		if err != nil {
			return err
		}
		select {
		case e := <-ended:
			return exitError(e.StatusCode, said)
		case failure := <-failed:
			return explain(cmp.Or(ctx.Err(), failure))
		}
	})
}

// homed returns a command with a home, since a user whom the image does not have has / as its home.
func homed(argv []string) []string {
	return append([]string{"sh", "-c", `[ "$HOME" != / ] || export HOME=/tmp; exec "$@"`, "sh"}, argv...)
}

// WorkspaceName names the volume of a workspace and its engine.
func (r *far) WorkspaceName(dir string) string {
	return "volume " + r.config.volumeOf(dir) + " of " + r.config.Host
}

// RemoveWorkspace removes the volume of a session and its content. It is not an error if the volume
// does not exist.
func (r *far) RemoveWorkspace(ctx context.Context, dir string) error {
	c, err := r.engine()
	if err != nil {
		return err
	}
	err = c.VolumeRemove(ctx, r.config.volumeOf(dir), false)
	if errdefs.IsNotFound(err) {
		return nil
	}
	return explain(err)
}
