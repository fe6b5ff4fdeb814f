package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentform/agentform/session"
)

// addUnlabeled adds the pods of sessions that a list by label lacks, by their names: the labels of a pod can be
// changed by hand, and its agent lives on.
func addUnlabeled(ctx context.Context, c *cluster, project Config, targets []recorded, byName map[string]*pod) error {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed []error
	slots := make(chan struct{}, parallelReads)
	for _, t := range targets {
		if byName[t.pod] != nil || t.set.stopped() || t.set.Metadata.Deleted != nil || project.foreign(t.target) {
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			var p pod
			err := c.get(ctx, pods, t.pod, &p)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				byName[t.pod] = &p
			case !apierrors.IsNotFound(err):
				failed = append(failed, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

// orphan reports whether a pod of a session lives on without its StatefulSet, as after kubectl delete
// --cascade=orphan. Its agent may run: a new StatefulSet would take the pod over.
func (p *pod) orphan() bool {
	return p.Metadata.Annotations[annotationAddress] != "" && len(p.Metadata.Owners) == 0 && p.Metadata.Deleted == nil &&
		p.Status.Phase != "Failed" && p.Status.Phase != "Succeeded"
}

func (p *pod) orphaned(namespace string) error {
	return fmt.Errorf("its StatefulSet was deleted without its pod, in which the agent may run (to end it there: kubectl delete pod %s -n %s)", p.Metadata.Name, namespace)
}

// orphanOf returns the pod of a StatefulSet that does not exist if it lives on; else nil.
func orphanOf(ctx context.Context, c *cluster, set string) (*pod, error) {
	var p pod
	if set == "" {
		return nil, nil
	}
	if err := c.get(ctx, pods, podName(set), &p); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil || !p.orphan() {
		return nil, err
	}
	return &p, nil
}

// noOrphan returns an error if the pod of a StatefulSet that does not exist lives on.
func noOrphan(ctx context.Context, c *cluster, set string) error {
	p, err := orphanOf(ctx, c, set)
	if p != nil {
		return p.orphaned(c.namespace)
	}
	return err
}

// removeUnlabeled removes the pod of a StatefulSet that was removed if that was not its owner any more, because the
// labels of the pod had been changed, and waits until it is gone.
func removeUnlabeled(ctx context.Context, c *cluster, set, address string) error {
	p, err := orphanOf(ctx, c, set)
	if p == nil || p.Metadata.Annotations[annotationAddress] != address {
		return err
	}
	return c.remove(ctx, pods, p.Metadata.Name, p.Metadata.UID, metav1.DeleteOptions{})
}

// orphans returns the sessions in pods that live on without their StatefulSets. volumes are the claims there.
func (c Config) orphans(namespace string, all []pod, targets []recorded, volumes map[string]metadata) (found []session.Live) {
	for _, p := range all {
		name, is := strings.CutSuffix(p.Metadata.Name, podName(""))
		labels := p.Metadata.Labels
		if !is || labels[labelID] == "" || !p.orphan() || slices.ContainsFunc(targets, func(t recorded) bool { return t.pod == p.Metadata.Name }) {
			continue
		}
		m := c.markOf(labels, p.Metadata.Annotations)
		t := target{cluster: &cluster{namespace: namespace}, pod: p.Metadata.Name, record: record{Mark: m}}
		t.set.Metadata.Name = name
		l := session.Live{Location: t.location(), Mark: m, Foreign: c.foreign(t), PlaceUp: true, Liveness: session.Unknown, UnknownReason: p.orphaned(namespace).Error()}
		for claim, v := range volumes {
			if labelValue(claim) == labels[labelVolume] {
				l.Dir = v.Annotations[annotationPath]
			}
		}
		found = append(found, l)
	}
	return found
}
