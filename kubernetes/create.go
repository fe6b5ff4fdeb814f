package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/internal/kubeclient"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/install"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

const (
	// podTimeout bounds the start of a scheduled pod. Pulling a large image takes minutes.
	podTimeout = 10 * time.Minute
	// controllerDelay is how long the controller may take to create a pod before its events are
	// read.
	controllerDelay = 2 * time.Second
	// mountDelay is how long a scheduled pod may take to start before its events are read.
	mountDelay = 5 * time.Second
	// launchTimeout bounds the start of the agent in a running pod.
	launchTimeout = 90 * time.Second
	// DefaultScheduleTimeout is how long the cluster may take to find a node and a volume.
	DefaultScheduleTimeout = 10 * time.Second
)

// create creates an object. The caller's context does not end the request, since its reply must be
// awaited. If the reply is lost, create looks the object up.
func (c *cluster) create(ctx context.Context, r schema.GroupVersionResource, o *unstructured.Unstructured, into any) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	making, cancel := contained.Detached(ctx)
	defer cancel()
	made, err := c.of(r).Create(making, o, metav1.CreateOptions{FieldManager: "agentform", FieldValidation: metav1.FieldValidationStrict})
	if kubeclient.Unanswered(err) {
		if found := c.lookUp(making, r, o); found != nil {
			made, err = found, nil
		}
	}
	if err != nil {
		return c.explain(err)
	}
	return decode(made.Object, into)
}

// lookUp returns the object of a creation whose reply was lost, or nil if it does not exist. An API
// server that was killed is back within seconds.
func (c *cluster) lookUp(ctx context.Context, r schema.GroupVersionResource, o *unstructured.Unstructured) *unstructured.Unstructured {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for {
		found, err := c.of(r).Get(ctx, o.GetName(), metav1.GetOptions{})
		switch {
		case err == nil && contains(found.GetLabels(), o.GetLabels()) && contains(found.GetAnnotations(), o.GetAnnotations()):
			return found
		case err == nil, !kubeclient.Unanswered(err):
			return nil
		}
		if !sleep.For(ctx, 200*time.Millisecond) {
			return nil
		}
	}
}

func contains(all, some map[string]string) bool {
	for k, v := range some {
		if is, ok := all[k]; !ok || is != v {
			return false
		}
	}
	return true
}

func (c *cluster) patch(ctx context.Context, r schema.GroupVersionResource, name string, change object, into any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	b, err := json.Marshal(change)
	if err != nil {
		return err
	}
	changed, err := c.of(r).Patch(ctx, name, types.MergePatchType, b, metav1.PatchOptions{FieldManager: "agentform"})
	if err != nil {
		return c.explain(err)
	}
	return decode(changed.Object, into)
}

// Create creates the StatefulSet of a session, unless MakePlace did, and starts the run in its pod.
// It reuses the claim of an earlier place of the session.
func (r *Runtime) Create(ctx context.Context, l session.Launch) (at session.Location, err error) {
	defer contained.Annotate(&err, "start", l.Name)
	return r.place(ctx, l, func(t target, n newPlace) error {
		switch {
		case n.prepared:
			err := t.launch(ctx, l, nil)
			if !errors.Is(err, errNoProgram) && !errors.Is(err, session.ErrGone) {
				return err
			}
			// This call created the StatefulSet with a request that was sent twice.
		case n.empty:
			if err := t.awaitPod(ctx, settings(l.Spec).ScheduleTimeout.D()); err != nil {
				return err
			}
			return t.launch(ctx, l, n.programs)
		}
		if err := t.awaitReady(ctx, l.Spec, n.programs, false); err != nil {
			return err
		}
		return t.launch(ctx, l, nil)
	})
}

// MakePlace creates the StatefulSet of a session and returns when its pod is running. Commands at
// the workspace run there until Create starts the agent.
func (r *Runtime) MakePlace(ctx context.Context, l session.Launch) (at session.Location, err error) {
	defer contained.Annotate(&err, "prepare", l.Name)
	return r.place(ctx, l, func(t target, n newPlace) error { return t.awaitReady(ctx, l.Spec, n.programs, n.empty) })
}

// newPlace describes a StatefulSet that was just created.
type newPlace struct {
	programs programs
	empty    bool // its volume is new
	prepared bool // MakePlace created it, and its init answers
}

// place creates the StatefulSet of a session and calls then with it. If then fails, place removes
// what it created.
func (r *Runtime) place(ctx context.Context, l session.Launch, then func(target, newPlace) error) (at session.Location, err error) {
	if !proc.ValidRun(l.Mark.Run) {
		return at, fmt.Errorf("invalid run id %.80q", l.Mark.Run)
	}
	programs, err := r.shims()
	if err != nil {
		return at, err
	}
	c, err := r.cluster()
	if err != nil {
		return at, err
	}
	root, err := rootOf(l.Dir)
	if err != nil {
		return at, err
	}
	name, claim := objectName(l.Name), r.config.claimOf(l.Dir)
	k := record{Mark: l.Mark, Spec: &l.Spec, Root: root.Dir, DataDir: r.config.DataDir, Program: root.Program(install.Programs(r.config.Shims).Name()), Arch: r.helpers.arch, Begun: time.Now().UTC(), Generation: 1}
	set, err := setOf(l, k, claim)
	if err != nil {
		return at, err
	}
	made, err := c.declareClaim(ctx, r.config.claim(l.Mark, l.Spec, l.Dir, l.Spec.Branch))
	if err != nil {
		return at, err
	}
	n := newPlace{programs: programs, empty: made != ""}
	undoClaim := func(err error) error {
		undo, cancel := contained.Detached(ctx)
		defer cancel()
		if made != "" { // by this call, and unused
			err = errors.Join(err, c.remove(undo, claims, claim, made, foreground))
		}
		return err
	}
	if made == "" {
		if err := r.helpers.end(ctx, c, claim); err != nil {
			return at, err
		}
	}
	t := target{runtime: r, cluster: c, record: k, pod: podName(name)}
	if err := noOrphan(ctx, c, name); err != nil {
		return at, undoClaim(err)
	}
	err = c.create(ctx, statefulSets, set, &t.set)
	if apierrors.IsAlreadyExists(err) {
		err = fmt.Errorf("StatefulSet %s %w", name, session.ErrExists)
		var other statefulSet
		there := c.get(ctx, statefulSets, name, &other)
		if has, unreadable := other.record(); there == nil && unreadable == nil && has.Mark == l.Mark && other.Metadata.Deleted == nil {
			t.set, t.record, n.prepared, err = other, has, true, nil
		} else if there != nil || other.Metadata.Labels[labelVolume] == labelValue(claim) {
			return at, err // the other session may use the claim
		}
	}
	if err != nil {
		return at, undoClaim(err)
	}
	at = t.location()
	if err = then(t, n); err != nil {
		undo, cancel := contained.Detached(ctx)
		defer cancel()
		return session.Location{}, undoClaim(errors.Join(err, r.Remove(undo, at)))
	}
	return at, nil
}

func (t target) location() session.Location {
	return session.Location{Runtime: "kubernetes", Socket: shim.TmuxSocket, Name: t.set.Metadata.Name, Container: t.cluster.namespace + "/" + t.pod}
}

// Restart starts a new run in the session's pod, which the StatefulSet recreates if it is gone.
func (r *Runtime) Restart(ctx context.Context, p session.Location, l session.Launch) (at session.Location, err error) {
	defer contained.Annotate(&err, "restart", l.Name)
	if !proc.ValidRun(l.Mark.Run) {
		return at, fmt.Errorf("invalid run id %.80q", l.Mark.Run)
	}
	programs, err := r.shims()
	if err != nil {
		return at, err
	}
	t, err := r.target(ctx, p)
	if err != nil {
		return at, err
	}
	if t.set.identity()[labelID] != labelValue(l.Mark.ID) {
		return at, fmt.Errorf("StatefulSet %s is not this session's", p.Name)
	}
	if err := t.vacant(ctx); err != nil {
		return at, err
	}
	if err := t.renew(ctx, l); err != nil {
		return at, err
	}
	k := record{Mark: l.Mark, Spec: &l.Spec, Root: t.record.Root, DataDir: r.config.DataDir, Program: t.record.Program, Arch: t.record.Arch, Begun: time.Now().UTC(), Policy: t.record.Policy}
	if k.Generation, err = generation(t, k, l.Spec.Lifecycle); err != nil {
		return at, err
	}
	if err := t.update(ctx, func(now *record) error { *now = k; return nil }); err != nil {
		return at, err
	}
	if err := r.helpers.end(ctx, t.cluster, r.config.claimOf(l.Dir)); err != nil {
		return at, err
	}
	if err := t.awaitReady(ctx, l.Spec, programs, false); err != nil {
		return at, err
	}
	if err := t.launch(ctx, l, nil); err != nil {
		return at, err
	}
	return t.location(), nil
}

// vacant returns an error unless the last run in the pod has ended.
func (t target) vacant(ctx context.Context) error {
	p, runs, err := t.podRuns(ctx)
	if err != nil {
		return fmt.Errorf("cannot find out whether an agent runs in it: %w", err)
	}
	if !runs {
		return nil
	}
	in, err := t.look(ctx, false)
	switch {
	case errors.Is(err, errNoProgram), errors.Is(err, session.ErrGone):
		return nil // no init was ever started
	case err != nil:
		return fmt.Errorf("cannot find out whether an agent runs in it, on node %s: %w", p.Spec.Node, err)
	}
	return contained.Vacant(in)
}

// awaitReady waits until the pod is running and its init answers. It copies the init's program to a
// volume without one, such as an empty volume.
func (t target) awaitReady(ctx context.Context, s session.Spec, p programs, empty bool) error {
	if err := t.awaitPod(ctx, settings(s).ScheduleTimeout.D()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, launchTimeout, fmt.Errorf("kubernetes: the init did not start in pod %s within %s", t.pod, launchTimeout))
	defer cancel()
	return t.awaitInit(ctx, p, empty)
}

// launch starts a run in the pod. The network policy does not apply to the steps before an agent,
// such as cloning a server's repository. The command that contacts the init first copies one
// of the programs p unless p is nil: each command costs the node a process.
func (t target) launch(ctx context.Context, l session.Launch, p programs) error {
	ctx, cancel := context.WithTimeoutCause(ctx, launchTimeout, fmt.Errorf("kubernetes: the agent did not start in pod %s within %s", t.pod, launchTimeout))
	defer cancel()
	if err := limitNetwork(ctx, &t, l); err != nil {
		return err
	}
	dir := t.runDir(l.Mark.Run)
	config, args, held, err := contained.Start(l, t.set.Metadata.Name, shim.InitFolder, t.record.Program, dir)
	if err != nil {
		return err
	}
	config.Branch = l.Spec.Branch
	files, err := filesOf(l.RunDir)
	if err != nil {
		return err
	}
	q := shim.InitRequest{
		Op: shim.OpLaunch, Run: l.Mark.Run, RunDir: dir, Secrets: l.Secrets, Held: held, Files: l.RunDir != "",
		Args: args, Target: contained.Pane, Format: tmuxwire.PaneFormat, RunFiles: files, Config: &config,
	}
	var r shim.InitReply
	if p == nil {
		r, err = t.ask(ctx, q, launchTimeout)
	} else {
		r, err = t.upload(ctx, p, q)
	}
	if err != nil || r.Files == nil { // none were requested
		return err
	}
	return rundir.WriteFiles(l.RunDir, *r.Files)
}

// filesOf returns the regular files below the directory of a run by relative path; none if the run
// has no directory.
func filesOf(dir string) (map[string]string, error) {
	if dir == "" {
		return nil, nil
	}
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, p)
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	return all, err
}

// awaitInit waits until the init of a pod answers, which it does as soon as its program is on the
// volume.
func (t target) awaitInit(ctx context.Context, p programs, empty bool) error {
	var uploaded error
	tried := false
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		var r shim.InitReply
		var err error
		if empty && !tried {
			r, err = t.upload(ctx, p, shim.InitRequest{Op: shim.OpHello})
			uploaded, tried = err, true
		} else {
			r, err = t.ask(ctx, shim.InitRequest{Op: shim.OpHello}, execTimeout)
		}
		switch {
		case err == nil && r.Protocol > rundir.Version:
			return fmt.Errorf("the init of its pod is from a newer agentform (protocol %d, this one has %d): use that version", r.Protocol, rundir.Version)
		case err == nil:
			return nil
		case apierrors.IsForbidden(err):
			return err
		case errors.Is(err, errNoProgram) && !tried:
			empty = true
			continue
		case errors.Is(err, errNoProgram) && uploaded != nil:
			return uploaded
		}
		if !sleep.For(ctx, wait) {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// awaitPod waits until the pod is running, or returns why it will not be.
func (t target) awaitPod(ctx context.Context, schedule time.Duration) error {
	if schedule <= 0 {
		schedule = DefaultScheduleTimeout
	}
	began := time.Now()
	asked := began
	const notCreated = "the cluster has not created its pod"
	reason := notCreated
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 400*time.Millisecond) {
		var p pod
		err := t.cluster.get(ctx, pods, t.pod, &p)
		age := time.Since(began)
		switch {
		case apierrors.IsNotFound(err):
			if age > controllerDelay && time.Since(asked) > controllerDelay {
				asked = time.Now()
				if why := t.refused(ctx); why != "" {
					return fmt.Errorf("kubernetes: the cluster does not create pod %s: %s", t.pod, why)
				}
			}
			if age > schedule+controllerDelay {
				return fmt.Errorf("kubernetes: the cluster did not create pod %s within %s (kubectl describe statefulset %s -n %s)", t.pod, age.Round(time.Second), t.set.Metadata.Name, t.cluster.namespace)
			}
		case err != nil:
			return err
		case p.running():
			return nil
		default:
			why, futile := p.waits()
			if why == "" && age > mountDelay && time.Since(asked) > mountDelay {
				asked = time.Now()
				why, futile = notMounted(ctx, t, p)
			}
			switch {
			case why != "":
				reason = why
			case reason == notCreated:
				reason = "its container is being created"
			}
			switch {
			case futile:
				return fmt.Errorf("kubernetes: pod %s does not start: %s", t.pod, shim.OneLine(reason, 500))
			case p.unschedulable() && age+wait > schedule:
				return fmt.Errorf("kubernetes: the cluster found no place for pod %s within %s: %s%s (schedule_timeout lets it look for longer, as where nodes are added on demand)",
					t.pod, schedule, t.claimReason(ctx), shim.OneLine(reason, 500))
			case age > podTimeout:
				return fmt.Errorf("kubernetes: pod %s did not start within %s: %s (kubectl describe pod %s -n %s)", t.pod, podTimeout, shim.OneLine(reason, 500), t.pod, t.cluster.namespace)
			}
		}
		if !sleep.For(ctx, wait) {
			return fmt.Errorf("wait for pod %s: %s: %w", t.pod, shim.OneLine(reason, 300), ctx.Err())
		}
	}
}

// refused returns why the controller cannot create the pod: a quota, an admission rule.
func (t target) refused(ctx context.Context) string {
	return t.event(ctx, "name="+t.set.Metadata.Name, "FailedCreate")
}

// notMounted returns why the kubelet cannot mount a volume of the pod, and whether waiting is futile: a
// Secret or ConfigMap is missing. It retries without an end.
func notMounted(ctx context.Context, t target, p pod) (reason string, futile bool) {
	reason = t.event(ctx, "uid="+p.Metadata.UID, "FailedMount")
	for _, v := range p.Spec.Volumes {
		futile = futile || (v.Secret != nil || v.ConfigMap != nil) && strings.Contains(reason, strconv.Quote(v.Name))
	}
	return reason, futile
}

// claimReason returns that a claim has no volume, with the cluster's reason if it has one.
func (t target) claimReason(ctx context.Context) string {
	name := t.set.Metadata.Labels[labelVolume]
	why := t.event(ctx, "name="+name, "ProvisioningFailed", "FailedBinding", "VolumeMismatch")
	var there claim
	if err := t.cluster.get(ctx, claims, name, &there); err == nil && there.unused() {
		return strings.TrimSuffix(fmt.Sprintf("claim %s (class %q) is not bound: %s", name, there.Spec.Class, why), ": ") + "; "
	}
	if why != "" {
		return "claim " + name + ": " + why + "; "
	}
	return ""
}

// event returns the message of the last event of one of the reasons about the object with a name or uid.
func (t target) event(ctx context.Context, object string, reasons ...string) (message string) {
	all, _ := list[occurrence](ctx, t.cluster, events, metav1.ListOptions{FieldSelector: "involvedObject." + object}) // without events there is no reason
	var last time.Time
	for _, e := range all {
		if slices.Contains(reasons, e.Reason) && !e.At.Before(last) {
			last, message = e.At, e.Message
		}
	}
	return shim.OneLine(strings.TrimSpace(message), 500)
}
