package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/internal/excerpt"
	"github.com/agentform/agentform/session"
)

// volumes are the claims of the project's workspaces, with the commands that run at them.
type volumes struct {
	config  Config
	cluster func() (*cluster, error)
	helpers helpers
	// seen has the names of the sessions' pods that ran when they were last observed, by claim.
	seen sync.Map
}

// see notes whether the pod of a session, nil if there is none, can run commands at its workspace.
func (v *volumes) see(claim string, p *pod) {
	if p != nil && p.reachable() {
		v.seen.Store(claim, p.Metadata.Name)
	} else {
		v.seen.Delete(claim)
	}
}

// Workspaces returns the workspaces on the project's claims, as known without running a command:
// each with the branch it was created for. None exists on a claim that was never bound.
func (v *volumes) Workspaces(ctx context.Context) ([]session.Checkout, error) {
	c, err := v.cluster()
	if err != nil {
		return nil, err
	}
	all, err := list[claim](ctx, c, claims, metav1.ListOptions{LabelSelector: v.config.selector()})
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	var found []session.Checkout
	for _, x := range all {
		m := x.Metadata
		dir := m.Annotations[annotationPath]
		if dir == "" || m.Deleted != nil || m.Name != v.config.claimOf(dir) {
			continue
		}
		if x.unused() {
			found = append(found, session.Checkout{Path: dir})
			continue
		}
		found = append(found, contained.Made(dir, m.Annotations[annotationBranch]))
	}
	return found, nil
}

// WorkspaceName returns a name for the claim with the workspace at that path.
func (v *volumes) WorkspaceName(dir string) string {
	name := "claim " + v.config.claimOf(dir)
	if v.config.Namespace != "" {
		name += " of namespace " + v.config.Namespace
	}
	return name
}

// RemoveWorkspace removes the claim of a workspace, and with it the volume if its class says so. It
// is not an error if the claim does not exist.
func (v *volumes) RemoveWorkspace(ctx context.Context, dir string) error {
	c, err := v.cluster()
	if err != nil {
		return err
	}
	claim := v.config.claimOf(dir)
	if err := v.helpers.end(ctx, c, claim); err != nil {
		return err
	}
	var there partial // another one of that name is not the one that was looked at
	switch err := c.get(ctx, claims, claim, &there); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	return c.remove(ctx, claims, claim, there.Metadata.UID, foreground)
}

// RunIn runs a command at a session's workspace: in its pod or, if that is not running, in another
// pod with the same volume. It looks for the pod unless Observe has seen it.
func (v *volumes) RunIn(ctx context.Context, rec session.Record, stdin io.Reader, stdout io.Writer, argv ...string) error {
	c, err := v.cluster()
	if err != nil {
		return err
	}
	if stdin == nil { // else the command cannot be repeated
		claim := v.config.claimOf(rec.Tree.Path)
		if pod, seen := v.seen.Load(claim); seen {
			out := &firstWrite{to: stdout}
			err := runIn(ctx, c, pod.(string), strings.NewReader(""), out, argv)
			if out.written || !errors.Is(err, session.ErrGone) {
				return err
			}
			v.seen.Delete(claim)
		}
		stdin = strings.NewReader("")
	}
	mark := session.Mark{Project: v.config.Lineage, Address: rec.Address, ID: rec.ID}
	pod, err := v.podWith(ctx, c, mark, rec.Spec, rec.Tree.Path)
	if err != nil {
		return err
	}
	return runIn(ctx, c, pod, stdin, stdout, argv)
}

// firstWrite is a writer that notes whether anything was written.
type firstWrite struct {
	to      io.Writer
	written bool
}

func (w *firstWrite) Write(p []byte) (int, error) {
	w.written = true
	return w.to.Write(p)
}

// runIn executes a command in a pod. The error has its standard error.
func runIn(ctx context.Context, c *cluster, pod string, stdin io.Reader, stdout io.Writer, argv []string) error {
	said := excerpt.Tail{Limit: 4 << 10}
	err := c.exec(ctx, pod, argv, streams{in: stdin, out: stdout, err: &said})
	if text := strings.TrimSpace(said.String()); err != nil && text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// Check returns why the cluster would refuse a session. It creates nothing: the request for its
// StatefulSet is a dry run.
func (v *volumes) Check(ctx context.Context, s session.Spec, argv []string) error {
	c, err := v.cluster()
	if err != nil {
		return err
	}
	root, err := rootOf(s.Workspace.Path)
	if err != nil {
		return err
	}
	l := session.Launch{Mark: session.Mark{Project: v.config.Lineage, Address: s.Address, ID: "check"}, Name: "agentform-check-" + session.Slug(string(s.Address)), Dir: s.Workspace.Path, Spec: s, Stop: s.Stop}
	set, err := setOf(l, record{Spec: &s, Root: root.Dir, Program: root.Program("check"), Arch: v.helpers.arch}, v.config.claimOf(l.Dir))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err = c.of(statefulSets).Create(ctx, set, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "agentform", FieldValidation: metav1.FieldValidationStrict})
	return c.explain(err)
}

// Run runs a command like the session's agent, and returns the end of its output.
func (v *volumes) Run(ctx context.Context, s session.Spec, dir string, argv, env []string) (string, error) {
	c, err := v.cluster()
	if err != nil {
		return "", err
	}
	pod, err := v.podWith(ctx, c, session.Mark{Project: v.config.Lineage, Address: s.Address, ID: string(s.Address)}, s, dir)
	if err != nil {
		return "", err
	}
	command := contained.InDir(cmp.Or(dir, "/"), "env")
	for name := range s.SecretRefs { // the container of a session has them
		command = append(command, "-u", name)
	}
	command = append(command, env...)
	out := excerpt.Tail{Limit: session.TailLimit}
	err = c.exec(ctx, pod, append(command, argv...), streams{in: strings.NewReader(""), out: &out, err: &out})
	return out.String(), err
}

// podWith returns the name of a pod with the volume of a workspace: the session's, or one for
// commands.
func (v *volumes) podWith(ctx context.Context, c *cluster, m session.Mark, s session.Spec, dir string) (string, error) {
	root, err := rootOf(dir)
	if err != nil {
		return "", err
	}
	claim := v.config.claimOf(dir)
	var running, waiting, blocked string
	var once *pod // for commands
	all, err := list[pod](ctx, c, pods, metav1.ListOptions{LabelSelector: labelVolume + "=" + labelValue(claim)})
	for _, p := range all {
		switch {
		case p.Metadata.Labels[labelOneOff] != "":
			if p.serves() {
				once = &p
			}
		case p.isolated() || p.Metadata.Deleted != nil:
			blocked = unreachable(p)
		case p.running():
			running = p.Metadata.Name
		default:
			waiting = p.Metadata.Name
		}
	}
	switch {
	case err != nil:
		return "", err
	case running != "":
		return running, nil
	case blocked != "":
		return "", fmt.Errorf("kubernetes: the volume of the workspace cannot be read: %s", blocked)
	case waiting != "": // no other pod can mount the volume
		return waiting, waitingFor(c, waiting, claim).awaitPod(ctx, settings(s).ScheduleTimeout.D())
	}
	made, there, err := c.ensureClaim(ctx, v.config.claim(m, s, dir, s.Branch))
	if err != nil {
		return "", err
	}
	name, err := v.helpers.begin(ctx, c, m, s, root.Dir, claim, there.Metadata.Annotations[annotationNetwork], once)
	if err != nil && made { // by this call, and unused
		undo, cancel := contained.Detached(ctx)
		defer cancel()
		err = errors.Join(err, c.remove(undo, claims, claim, there.Metadata.UID, foreground))
	}
	return name, err
}

// helperTime bounds the life of a pod for commands, in seconds: the cluster ends the pod of a
// killed agentform.
const helperTime = 900

// helpers are pods for commands at volumes that no session's pod uses. Each serves several
// commands.
type helpers struct {
	arch string // of their nodes; empty: any
	mu   sync.Mutex
	pods map[string]*helper // by claim
}

// helper is a pod for commands at a claim, of this agentform or of another one.
type helper struct {
	ready chan struct{} // closed when the pod is running or has failed
	uid   string
	own   bool // this agentform made it, and removes it
	err   error
}

func (x *helper) starting() bool {
	select {
	case <-x.ready:
		return false
	default:
		return true
	}
}

// oneOff returns the name of the pod for commands at a claim.
func oneOff(claim string) string { return claim + "-once" }

// begin returns the pod for commands at a claim; there is one that serves, or nil. Its network is limited
// like the agents' there, since git runs programs that a checkout names.
func (h *helpers) begin(ctx context.Context, c *cluster, m session.Mark, s session.Spec, root, claim, network string, there *pod) (string, error) {
	h.mu.Lock()
	if h.pods == nil {
		h.pods = map[string]*helper{}
	}
	was := h.pods[claim]
	if was != nil && (was.starting() || there != nil && there.Metadata.UID == was.uid) {
		h.mu.Unlock()
		select {
		case <-was.ready:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		return oneOff(claim), was.err
	}
	x := &helper{ready: make(chan struct{})}
	if was != nil {
		x.uid, x.own = was.uid, was.own
	}
	h.pods[claim] = x
	h.mu.Unlock()
	defer close(x.ready)
	if x.err = x.start(ctx, c, m, s, h.arch, root, claim, network); x.err != nil {
		undo, cancel := contained.Detached(ctx)
		defer cancel()
		if x.own {
			x.err = errors.Join(x.err, c.remove(undo, pods, oneOff(claim), x.uid, soon))
		}
		h.mu.Lock()
		delete(h.pods, claim)
		h.mu.Unlock()
	}
	return oneOff(claim), x.err
}

// start creates the pod, or uses that of another agentform. One whose commands are no longer possible is
// removed first.
func (x *helper) start(ctx context.Context, c *cluster, m session.Mark, s session.Spec, arch, root, claim, network string) error {
	k := settings(s)
	spec, err := podSpec(k, root, claim, arch)
	if err != nil {
		return err
	}
	mountRepoSecret(spec, s)
	spec["restartPolicy"], spec["activeDeadlineSeconds"], spec["terminationGracePeriodSeconds"] = "Never", int64(helperTime), int64(1)
	main := spec["containers"].([]any)[0].(object)
	main["command"] = []any{"sh", "-c", `trap 'exit 0' TERM INT; mkdir -p "$HOME"; while :; do sleep 1; done`}
	selected := map[string]string{labelOneOff: "1", labelVolume: labelValue(claim)}
	labels := object{labelOneOff: "1", labelVolume: labelValue(claim), labelProject: labelValue(m.Project)}
	o := &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": oneOff(claim), "labels": labels}, "spec": spec}}
	var is pod
	for {
		if err = c.create(ctx, pods, o, &is); err == nil {
			x.uid, x.own = is.Metadata.UID, true
			break
		}
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		switch err := c.get(ctx, pods, oneOff(claim), &is); {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return err
		}
		if is.serves() {
			x.uid, x.own = is.Metadata.UID, x.own && x.uid == is.Metadata.UID
			break
		}
		if err := c.remove(ctx, pods, oneOff(claim), is.Metadata.UID, soon); err != nil {
			return err
		}
	}
	owner := object{"apiVersion": "v1", "kind": "Pod", "name": is.Metadata.Name, "uid": x.uid}
	// The policy of an earlier pod with this name is removed with that pod, at any time.
	if policy := policyOf(is.Metadata.Name+"-"+x.uid, selected, owner, network); policy != nil {
		var limited struct{}
		if err := c.create(ctx, networkPolicies, policy, &limited); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return waitingFor(c, oneOff(claim), claim).awaitPod(ctx, k.ScheduleTimeout.D())
}

// waitingFor returns a target that only awaitPod can use.
func waitingFor(c *cluster, pod, claim string) target {
	t := target{cluster: c, pod: pod}
	t.set.Metadata.Name, t.set.Metadata.Labels = strings.TrimSuffix(pod, podName("")), map[string]string{labelVolume: claim}
	return t
}

// end removes the pod for commands at a claim, even one of a killed agentform: only one pod at a
// time can mount the volume.
func (h *helpers) end(ctx context.Context, c *cluster, claim string) error {
	h.mu.Lock()
	x := h.pods[claim]
	delete(h.pods, claim)
	h.mu.Unlock()
	if x != nil {
		<-x.ready
	}
	return c.remove(ctx, pods, oneOff(claim), "", soon)
}

// close removes the pods for commands that this agentform made.
func (h *helpers) close(c *cluster) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	h.mu.Lock()
	all := h.pods
	h.pods = nil
	h.mu.Unlock()
	for claim, x := range all {
		select {
		case <-x.ready:
		case <-ctx.Done():
			return
		}
		if x.own && x.err == nil {
			how := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(x.uid)}
			_ = c.of(pods).Delete(ctx, oneOff(claim), how) // if this fails, its deadline ends it
		}
	}
}
