package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

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

// orphans returns the sessions in pods whose StatefulSet was deleted without them, as by kubectl delete
// --cascade=orphan. Their agents may run: a new StatefulSet would take the pod over.
func (c Config) orphans(namespace string, all []pod, targets []recorded) (found []session.Live) {
	for _, p := range all {
		name, is := strings.CutSuffix(p.Metadata.Name, podName(""))
		labels := p.Metadata.Labels
		if !is || labels[labelID] == "" || len(p.Metadata.Owners) > 0 || p.Metadata.Deleted != nil ||
			slices.ContainsFunc(targets, func(t recorded) bool { return t.pod == p.Metadata.Name }) {
			continue
		}
		m := session.Mark{Project: labels[labelProject], ID: labels[labelID], Address: session.Address(p.Metadata.Annotations[annotationAddress])}
		if m.Project == labelValue(c.Lineage) {
			m.Project = c.Lineage
		}
		t := target{cluster: &cluster{namespace: namespace}, pod: p.Metadata.Name, record: record{Mark: m}}
		t.set.Metadata.Name = name
		found = append(found, session.Live{Location: t.location(), Mark: m, Foreign: c.foreign(t), PlaceUp: true, Liveness: session.Unknown,
			UnknownReason: fmt.Sprintf("its StatefulSet was deleted without its pod, in which the agent may run (to end it there: kubectl delete pod %s -n %s)", p.Metadata.Name, namespace)})
	}
	return found
}
