package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/install"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Config selects the cluster and the sessions that a Runtime manages.
type Config struct {
	Kubeconfig string   // a file; empty: kubectl's rules
	Context    string   // of the kubeconfig; empty: its current one
	Namespace  string   // empty: the context's
	DataDir    string   // of the project, on this machine: it has copies of runs' files
	Lineage    string   // Mark.Project of managed sessions; empty: not known
	Project    string   // the name, which says whose sessions are without a lineage; empty: all with a mark are
	Exec       []string // the command that has ExecMain, for the methods Attach and Exec
	// Shims are the shim's programs for nodes by architecture, of install.Programs. Without one no
	// session can be started.
	Shims map[string]string
}

// Runtime is a session.Runtime that keeps sessions in pods. It connects to the cluster on first
// use.
type Runtime struct {
	*volumes
	*sessions
	slots chan struct{} // of commands in pods
	shims func() (programs, error)
	exits sync.Map      // *session.Exit by run, of runs that ended by themselves
	reads chan struct{} // of logs
}

// sessions acts on sessions. With this name, the embedded field is not exported.
type sessions = contained.Sessions

var (
	_ session.Runtime       = (*Runtime)(nil)
	_ session.Executor      = (*Runtime)(nil)
	_ session.Prober        = (*Runtime)(nil)
	_ session.Verifier      = (*Runtime)(nil)
	_ session.TimeoutSetter = (*Runtime)(nil)
	_ session.EventSource   = (*Runtime)(nil)
	_ session.Container     = (*Runtime)(nil)
	_ session.Reverter      = (*Runtime)(nil)
	_ session.Finder        = (*Runtime)(nil)

	_ session.PlaceMaker      = (*Runtime)(nil)
	_ session.WorkspaceHolder = (*Runtime)(nil)
)

// New returns a runtime.
func New(c Config) *Runtime {
	nodes := install.Programs(c.Shims).Only()
	r := &Runtime{volumes: &volumes{config: c, cluster: lazily(c), helpers: helpers{arch: nodes}}, slots: make(chan struct{}, parallelExecs), reads: make(chan struct{}, parallelReads),
		shims: sync.OnceValues(func() (programs, error) { return readPrograms(c.Shims) })}
	r.sessions = &sessions{Running: r.running}
	return r
}

// Traits returns the traits of pods.
func (r *Runtime) Traits() session.Traits { return session.TraitsOf("kubernetes") }

// Close removes the pods for commands, and closes the connections to the cluster.
func (r *Runtime) Close() {
	if c, err := r.cluster(); err == nil {
		r.helpers.close(c)
		c.http.CloseIdleConnections()
	}
}

// target is a managed session and its pod.
type target struct {
	runtime *Runtime
	cluster *cluster
	set     statefulSet
	record  record
	pod     string
}

// target returns the session of a place with its record. The error is session.ErrGone if it does
// not exist.
func (r *Runtime) target(ctx context.Context, p session.Location) (target, error) {
	t, err := find(ctx, r, p)
	if err != nil {
		return t, err
	}
	var lost error
	if t.record, lost = t.set.record(); lost != nil {
		if err := t.recover(ctx); err != nil {
			return t, fmt.Errorf("StatefulSet %s: annotation %s %w: %w", p.Name, annotationRecord, lost, err)
		}
	}
	return t, nil
}

// find returns the session of a place, without its record. The error is session.ErrGone if it does
// not exist.
func find(ctx context.Context, r *Runtime, p session.Location) (target, error) {
	c, err := r.cluster()
	if err != nil {
		return target{}, err
	}
	t := target{runtime: r, cluster: c, pod: podName(p.Name)}
	if p.Name == "" {
		return t, session.ErrGone
	}
	err = c.get(ctx, statefulSets, p.Name, &t.set)
	switch labels := t.set.identity(); {
	case apierrors.IsNotFound(err), err == nil && t.set.Metadata.Deleted != nil:
		return t, session.ErrGone
	case err != nil:
		return t, err
	case labels[labelID] == "":
		return t, fmt.Errorf("StatefulSet %s is not managed by agentform", p.Name)
	case r.config.Lineage != "" && labels[labelProject] != labelValue(r.config.Lineage):
		return t, fmt.Errorf("StatefulSet %s belongs to another project", p.Name)
	}
	return t, nil
}

// podRuns returns the target's pod, and whether commands can be executed in it. The error is why
// that is not known.
func (t target) podRuns(ctx context.Context) (p pod, runs bool, err error) {
	p, runs, err = containerRuns(ctx, t.cluster, t.pod)
	if err == nil && (p.isolated() || p.Metadata.Deleted != nil) {
		return p, false, errors.New(unreachable(p))
	}
	return p, runs, err
}

// running returns the place of a session, unless it has no pod or its node does not report: a command
// would wait for it until it times out.
func (r *Runtime) running(ctx context.Context, p session.Location) (contained.Place, error) {
	t, err := r.target(ctx, p)
	if err == nil && t.set.stopped() {
		err = fmt.Errorf("its StatefulSet is scaled to 0: its pod %w", session.ErrGone)
	}
	if err == nil {
		_, _, err = t.podRuns(ctx)
	}
	return contained.Place{Inside: &inside{t}, Kind: "pod", Pane: contained.Pane}, err
}

// inside gives access to the inside of a pod.
type inside struct{ target }

// Recorded returns the session's last run, and the mode in which it is paused.
func (t *inside) Recorded() (run, paused string, err error) {
	return t.record.Mark.Run, t.record.Paused, nil
}

// SetPaused records the mode in which the session is paused.
func (t *inside) SetPaused(ctx context.Context, mode string) error {
	return t.update(ctx, func(k *record) error {
		k.Paused = mode
		return nil
	})
}

// Look returns the status of the session's last run.
func (t *inside) Look(ctx context.Context) (shim.ContainerRun, error) { return t.look(ctx, false) }

// save writes the record, unless it has changed since the target was read.
func (t *target) save(ctx context.Context, k record) error {
	text, err := k.text()
	if err != nil {
		return err
	}
	err = t.cluster.patch(ctx, statefulSets, t.set.Metadata.Name, object{"metadata": object{
		"resourceVersion": t.set.Metadata.ResourceVersion, "annotations": object{annotationRecord: text}}}, &t.set)
	if err == nil {
		t.record = k
	}
	return err
}

// update changes the record of a session. It retries when the set changes at the same time, as when
// the controller sets its status.
func (t *target) update(ctx context.Context, change func(*record) error) error {
	for {
		k := t.record
		if err := change(&k); err != nil {
			return err
		}
		err := t.save(ctx, k)
		if !apierrors.IsConflict(err) {
			return err
		}
		if err := t.cluster.get(ctx, statefulSets, t.set.Metadata.Name, &t.set); err != nil {
			return err
		}
		if k, lost := t.set.record(); lost == nil {
			t.record = k
		}
	}
}

// look requests the status of the recorded run from the init. It copies the agent's session files
// to this machine and, if the run has a directory here, the files of its shim and hooks.
func (t target) look(ctx context.Context, screen bool) (in shim.ContainerRun, err error) {
	run, data := t.record.Mark.Run, layout.Data{Dir: t.runtime.config.DataDir}
	_, missing := os.Lstat(data.Run(run))
	q := shim.InitRequest{Op: shim.OpInspect, Run: run, RunDir: t.runDir(run), Target: contained.Pane, Format: tmuxwire.PaneFormat, Screen: screen, Files: missing == nil, Copy: true}
	r, err := contained.Inspect(q, data.Runs(), data.Copy(t.record.Mark.ID), func(q shim.InitRequest) (shim.InitReply, error) { return t.ask(ctx, q, execTimeout) })
	if err != nil {
		return in, err
	}
	return *r.Seen, nil
}

// Tmux runs a tmux command in the pod. The error is session.ErrGone if no init was started there.
func (t *inside) Tmux(ctx context.Context, stdin string, args ...string) (shim.TmuxReply, error) {
	r, err := t.ask(ctx, shim.InitRequest{Op: shim.OpTmux, Args: args, Stdin: stdin}, execTimeout)
	if errors.Is(err, errNoProgram) {
		err = fmt.Errorf("%w: the session %w", err, session.ErrGone)
	}
	if err != nil {
		return shim.TmuxReply{}, err
	}
	return *r.Tmux, nil
}

// AskShim calls do with a client of the shim of a run, through the init.
func (t *inside) AskShim(ctx context.Context, run string, do func(*shim.Client, context.Context) error) error {
	return do(shim.PassedClient(func(ctx context.Context, q shim.Request, limit time.Duration) (shim.Reply, error) {
		r, err := t.ask(ctx, shim.InitRequest{Op: shim.OpShim, Run: run, RunDir: t.runDir(run), Request: &q}, limit+execTimeout)
		if err != nil {
			return shim.Reply{}, err
		}
		return *r.Shim, nil
	}), ctx)
}

// runDir returns the directory of a run, as the pod sees it.
func (t target) runDir(run string) string { return layout.Data{Dir: t.record.Root}.Run(run) }

// Attach returns the command that attaches a terminal to the session. The terminal is detached however
// the command ends. Every image with tmux has the terminfo of its TERM.
func (r *Runtime) Attach(p session.Location) []string {
	return slices.Concat(r.config.execCommand(p.Name, true, true), []string{"env", "TERM=xterm-256color"}, tmuxwire.Attach("tmux", shim.TmuxSocket, tmuxwire.Session(p.Name)))
}

// Exec returns the command that runs another command in the session's pod.
func (r *Runtime) Exec(p session.Location, c session.Command) []string {
	argv := r.config.execCommand(p.Name, c.Terminal, false, c.Env...)
	return append(argv, contained.InDir(cmp.Or(c.Dir, "/"), c.Argv...)...)
}

// execCommand returns the command line that executes the appended command in a session's pod. held
// ends the command when its client no longer reaches the pod. env
// are names of variables: values would appear in lists of processes, and in the request, which API
// servers log.
func (c Config) execCommand(name string, terminal, held bool, env ...string) []string {
	argv := slices.Clone(c.Exec)
	for _, flag := range [][2]string{{"--kubeconfig", c.Kubeconfig}, {"--context", c.Context}, {"--namespace", c.Namespace}} {
		if flag[1] != "" {
			argv = append(argv, flag[0]+"="+flag[1])
		}
	}
	if terminal {
		argv = append(argv, "--tty")
	}
	if held {
		argv = append(argv, "--hold")
	}
	for _, name := range env {
		argv = append(argv, "--env="+name)
	}
	return append(argv, podName(name), "--")
}

// Events calls happened whenever a pod of the project changes, until ctx ends or an error occurs.
func (r *Runtime) Events(ctx context.Context, happened func()) error {
	c, err := r.cluster()
	if err != nil {
		return err
	}
	// Version 0 starts with the API server's cache. The default, the newest version, may be missing
	// from it for long: the cache of pods follows only changes of pods.
	w, err := c.of(pods).Watch(ctx, metav1.ListOptions{LabelSelector: r.config.selector(), ResourceVersion: "0"})
	if err != nil {
		return c.explain(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if e.Type == "ERROR" && ctx.Err() == nil {
			return fmt.Errorf("kubernetes: watch pods: %w", apierrors.FromObject(e.Object))
		}
		happened()
	}
	if ctx.Err() != nil {
		return nil
	}
	return errors.New("kubernetes: watch pods: the API server closed the connection")
}

// selector selects the pods of the project.
func (c Config) selector() string {
	if c.Lineage == "" {
		return labelProject
	}
	return labelProject + "=" + labelValue(c.Lineage)
}
