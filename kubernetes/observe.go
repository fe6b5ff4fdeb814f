package kubernetes

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/reported"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

// longestQueue bounds how long the sessions of one Observe wait for each other's logs and commands.
const longestQueue = 2 * requestTimeout

// Observe lists the StatefulSets and pods of the namespace and the metadata of its claims, in three
// concurrent requests, and the metadata of network policies if sessions have some. A foreign
// StatefulSet can have a requested name. The agent of a ready pod is alive and its workspace is on
// its branch. For other pods, the end of the log has the exit of the run or the branch of the
// workspace. Commands are executed for screens, in pods whose log and conditions differ, and once
// in a pod whose agent has ended. A pod that the list lacks is requested by its name, and events are
// listed if a session lost its pod.
func (r *Runtime) Observe(ctx context.Context, screens bool) ([]session.Live, error) {
	c, err := r.cluster()
	if err != nil {
		return nil, err
	}
	var targets []recorded
	var all []pod
	var policies, volumes map[string]metadata
	var errSets, errPods, errClaims error
	var wg sync.WaitGroup
	wg.Go(func() { targets, policies, errSets = r.targets(ctx, c) })
	wg.Go(func() { all, errPods = list[pod](ctx, c, pods, metav1.ListOptions{LabelSelector: r.config.selector()}) })
	wg.Go(func() { volumes, errClaims = c.claimsThere(ctx) })
	wg.Wait()
	if err := cmp.Or(errSets, errPods, errClaims); err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	byName := make(map[string]*pod, len(all))
	for i := range all {
		byName[all[i].Metadata.Name] = &all[i]
	}
	if err := addUnlabeled(ctx, c, r.config, targets, byName); err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	queue, cancel := context.WithTimeout(ctx, longestQueue)
	defer cancel()
	lives := make([]session.Live, len(targets))
	for i := range targets {
		t, lost, l := targets[i].target, targets[i].lost, &lives[i]
		*l = session.Live{Location: t.location(), Mark: t.record.Mark, Liveness: session.Unknown}
		l.Foreign = r.config.foreign(t)
		l.Ours = r.config.ours(t)
		if l.Foreign {
			l.PlaceUp = !t.set.stopped()
			continue
		}
		p := byName[t.pod]
		r.see(madeOf(t).claimName(), p)
		ask := judge(l, t, p)
		l.Spec, l.Edited = t.record.Spec, madeOf(t).editsOrWhy(lost)
		l.Edited = append(l.Edited, t.policyEdits(ctx, policies)...)
		if volume, there := volumes[madeOf(t).claimName()]; there {
			l.Edited = append(l.Edited, madeOf(t).claimEdits(volume)...)
			l.Losing = c.losing(volume)
		}
		if (ask || lost != nil || screens) && l.PlaceUp && t.set.Metadata.Deleted == nil && p != nil && p.reachable() {
			wg.Go(func() {
				patience := requestTimeout
				if lost != nil {
					patience *= 2 // its pod is first queried for the run
				}
				select {
				case r.reads <- struct{}{}:
					defer func() { <-r.reads }()
				case <-queue.Done():
					return
				}
				ctx, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				if lost != nil {
					if err := t.findRun(ctx); err != nil {
						l.Liveness, l.UnknownReason = session.Unknown, fmt.Sprintf("annotation %s of its StatefulSet %v, and its pod does not answer: %v", annotationRecord, lost, err)
						return
					}
					l.Mark = t.record.Mark
					ask = judge(l, t, p)
				}
				if ask {
					ask = t.readLog(ctx, l, p)
				}
				if ask || screens {
					t.inspect(ctx, l, p, screens)
				}
			})
		}
	}
	wg.Wait()
	c.addEvictions(ctx, lives)
	lives = append(lives, r.config.orphans(c.namespace, all, targets, volumes)...)
	slices.SortFunc(lives, func(a, b session.Live) int { return strings.Compare(a.Location.Name, b.Location.Name) })
	return lives, nil
}

// foreign reports whether a session is none of the project.
func (c Config) foreign(t target) bool {
	return contained.Project{Lineage: c.Lineage, Name: c.Project}.Foreign(t.record.Mark, t.set.Metadata.Name, c.ours(t))
}

// ours reports whether a session was last started from this data directory.
func (c Config) ours(t target) bool {
	return t.record.Mark.ID != "" && t.record.DataDir == c.DataDir
}

// recorded is a StatefulSet with its record, or with why that is lost.
type recorded struct {
	target
	lost error
}

// targets returns the StatefulSets of the namespace, and the metadata of the project's network
// policies by name if a session has one.
func (r *Runtime) targets(ctx context.Context, c *cluster) (all []recorded, policies map[string]metadata, err error) {
	sets, err := list[statefulSet](ctx, c, statefulSets, metav1.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	all = make([]recorded, len(sets))
	limited := false
	for i, s := range sets {
		t := recorded{target: target{runtime: r, cluster: c, set: s, pod: podName(s.Metadata.Name)}}
		if t.record, t.lost = s.record(); t.lost != nil && s.identity()[labelID] != "" {
			var more error
			if t.record, more = r.config.lostRecord(s); more != nil {
				t.lost = fmt.Errorf("%w; %w", t.lost, more)
			}
		}
		limited = limited || t.record.Policy != nil && !r.config.foreign(t.target)
		all[i] = t
	}
	if !limited {
		return all, nil, nil
	}
	found, err := listPartial(ctx, c, networkPolicies, metav1.ListOptions{LabelSelector: r.config.selector()})
	policies = make(map[string]metadata, len(found))
	for _, p := range found {
		policies[p.Metadata.Name] = p.Metadata
	}
	return all, policies, err
}

// judge sets what the record and the pod's conditions show of a session, and reports whether the
// log is needed as well.
func judge(l *session.Live, t target, p *pod) (ask bool) {
	k := t.record
	l.Started = k.Begun
	l.Size = [2]int{200, 50} // until a client attaches; reading a screen returns it
	l.Exit = k.Exit
	l.PlaceUp = true // also if nothing is known about the pod
	dead := func(up bool, reason string) {
		l.PlaceUp, l.Liveness, l.UnknownReason = up, session.Dead, reason
	}
	switch {
	case t.set.Metadata.Deleted != nil:
		l.UnknownReason = "its StatefulSet is being removed"
		return false
	case p == nil && t.set.stopped():
		dead(false, "its StatefulSet is scaled to 0 replicas")
		return false
	case p == nil:
		dead(false, "its pod does not exist")
		return false
	case p.isolated(), p.Metadata.Deleted != nil:
		l.UnknownReason = unreachable(*p)
		return false
	}
	c := p.container()
	if c.State.Running == nil {
		why, _ := p.waits()
		why = shim.OneLine(why, 300)
		if l.Exit == nil && t.isBegun() {
			l.UnknownReason = strings.TrimSuffix("its pod is being started: "+why, ": ")
			return false
		}
		dead(false, strings.TrimSuffix("its pod does not run: "+why, ": "))
		return false
	}
	switch {
	case l.Exit != nil:
		dead(true, "")
	case c.Ready:
		k.alive(l)
		if ws := k.workspace(); ws.Path != "" { // on its branch, as the init of a ready pod has checked
			l.Checkout = &ws
		}
		return false
	default: // its agent has ended, its workspace is on another branch, or the kubelet has not asked for it yet
		l.UnknownReason = ended(c)
		return true
	}
	return false
}

// settling is how long a run that another machine began may leave no trace in its pod: that machine
// first waits for the pod and copies the program.
const settling = 2 * time.Minute

// isBegun reports whether the target's run is being started. A run with a directory here was begun
// on this machine. Another machine's clock may differ.
func (t target) isBegun() bool {
	age := time.Since(t.record.Begun)
	if age >= settling || age <= -settling {
		return false
	}
	begun, known := rundir.Begun(layout.Data{Dir: t.runtime.config.DataDir}.Run(t.record.Mark.Run))
	return begun || !known
}

// alive marks the agent of a session as alive.
func (k record) alive(l *session.Live) {
	l.Liveness, l.UnknownReason = session.Alive, ""
	l.InputOff, l.Frozen = k.Paused != "", k.Paused == session.Freeze
}

// workspace returns the declared workspace, which the workspace of a ready pod matches.
func (k record) workspace() session.Checkout {
	if k.Spec == nil || k.Spec.Workspace.Path == "" {
		return session.Checkout{}
	}
	return contained.Made(k.Spec.Workspace.Path, k.Spec.Branch)
}

// ended returns how the container ended before this one, if it did.
func ended(c container) string {
	if t := c.Last.Terminated; t != nil && c.Starts > 0 {
		if t.Reason == "OOMKilled" {
			return "the pod's container was killed: out of memory"
		}
		return fmt.Sprintf("the pod's container was started again after it had ended: %s, exit status %d", t.Reason, t.Code)
	}
	return ""
}

// unreachable returns why the state of a pod is unknown.
func unreachable(p pod) string {
	if p.Metadata.Deleted != nil {
		return fmt.Sprintf("its pod is being removed, and node %s has not confirmed it", cmp.Or(p.Spec.Node, "?"))
	}
	return fmt.Sprintf("its node %s does not report: the agent may run there", cmp.Or(p.Spec.Node, "?"))
}

// inspect requests the status from the init of a pod.
func (t target) inspect(ctx context.Context, l *session.Live, p *pod, screens bool) {
	in, err := t.look(ctx, screens)
	if errors.Is(err, errNoProgram) && !t.isBegun() {
		l.Liveness, l.UnknownReason = session.Dead, "no agent was started in its pod"
		return
	}
	if errors.Is(err, errNotAsked) && l.Liveness == session.Alive { // by its pod's conditions: only the screen is missing
		return
	}
	if err != nil {
		if l.Liveness != session.Dead {
			l.Liveness, l.UnknownReason = session.Unknown, fmt.Sprintf("its pod on node %s does not answer: %v", cmp.Or(p.Spec.Node, "?"), err)
		}
		return
	}
	if l.Exit == nil {
		lost := l.UnknownReason
		l.Liveness, l.Exit, l.UnknownReason = reported.Liveness(in, t.isBegun())
		if l.Exit != nil {
			t.runtime.exits.Store(t.record.Mark.Run, l.Exit)
		} else if l.Liveness == session.Dead {
			l.UnknownReason = lost
		}
	}
	l.BootID = in.BootID
	if !in.StartedAt.IsZero() {
		l.Started = in.StartedAt
	}
	contained.Show(l, in, t.record.Paused, screens)
}

// readLog sets what the init of a pod printed: the workspace's branch and, unless the session is
// known to be alive, the liveness and exit of the agent. It reports whether the init must still be
// queried.
func (t target) readLog(ctx context.Context, l *session.Live, p *pod) (ask bool) {
	run := t.record.Mark.Run
	dir, branch := "", ""
	if s := t.record.Spec; s != nil {
		dir, branch = s.Workspace.Path, s.Branch
	}
	alive := l.Liveness == session.Alive
	if known, ok := t.runtime.exits.Load(run); ok && !alive {
		l.Liveness, l.Exit = session.Dead, known.(*session.Exit)
		return false
	}
	text, err := t.cluster.log(ctx, p.Metadata.Name, false)
	now := told(text, run)
	if now.looked && dir != "" {
		co := session.Checkout{Path: dir, Exists: !now.gone}
		if now.head != "" {
			co = contained.Checkout(dir, now.head)
		}
		l.Checkout = &co
	}
	if alive || err != nil {
		return !alive
	}
	if !now.started && p.container().Starts > 0 {
		if before, err := t.cluster.log(ctx, p.Metadata.Name, true); err == nil {
			if now = told(before, run); now.started && now.exit == nil {
				now.exit = &session.Exit{Cause: session.CauseHangup, Detail: ended(p.container())} // with its container
			}
		}
	}
	switch {
	case now.exit != nil:
		l.Liveness, l.Exit = session.Dead, now.exit
		t.runtime.exits.Store(run, now.exit) // it does not change
		return true                          // the agent's last output is copied
	case !now.started && !t.isBegun():
		l.Liveness = session.Dead
		l.UnknownReason = cmp.Or(l.UnknownReason, "its pod was made again, and no agent was started in it")
		return true // the volume has the earlier exit
	case l.Checkout != nil && (!l.Checkout.Exists || l.Checkout.Branch != branch):
		t.record.alive(l) // the pod is not ready because its workspace is not as declared
		return false
	}
	return true
}

// printed is an init's output about a run.
type printed struct {
	started bool
	exit    *session.Exit
	looked  bool   // the workspace
	head    string // empty: it is not a checkout
	gone    bool   // the workspace does not exist
}

// told returns an init's output about a run. Any process in the container can print there: it is a
// claim.
func told(log, run string) (p printed) {
	lines := bufio.NewScanner(strings.NewReader(log))
	lines.Buffer(nil, logLimit)
	for lines.Scan() {
		var o shim.Occurrence
		if json.Unmarshal(lines.Bytes(), &o) != nil || o.Run != run {
			continue
		}
		p.started = true
		switch {
		case o.Event == shim.Head:
			p.looked, p.head, p.gone = true, shim.OneLine(o.Head, 300), o.Gone
		case o.Event != shim.Exited:
		case o.Exit != nil && rundir.KnownCause(o.Exit.Cause):
			p.exit = reported.ClaimedExit(o.Exit)
		default:
			p.exit = &session.Exit{Cause: session.CauseSelf, Signal: "SIGKILL", At: o.At, Detail: "the agent and its shim were killed"}
		}
	}
	return p
}
