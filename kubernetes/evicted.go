package kubernetes

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// occurrence has the used fields of an event of the cluster.
type occurrence struct {
	Metadata struct {
		Created time.Time `json:"creationTimestamp"`
	} `json:"metadata"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	At      time.Time `json:"lastTimestamp"` // zero with newer reporters
	Of      struct {
		Name string `json:"name"`
	} `json:"involvedObject"`
}

// An eviction is a reason of an event with which the cluster removes a pod, and what it means.
type eviction struct{ reason, text string }

// evictions are of the kubelet, the scheduler and the controller of taints. The message of the last
// has no more than the pod. An eviction by the API, as of kubectl drain, leaves no event.
var evictions = []eviction{
	{"Evicted", "its pod was evicted: %s"}, {"Preempted", "its pod was removed for one of a higher priority: %s"},
	{"TaintManagerEviction", "its pod was evicted because of a taint of its node, as of one that does not report: %s"},
}

// addEvictions adds the reason of an eviction to the sessions that lost their pod since their run
// began. The controller replaces an evicted pod within moments, so only the event shows it.
func (c *cluster) addEvictions(ctx context.Context, lives []session.Live) {
	lost := map[string]*session.Live{}
	for i := range lives {
		if l := &lives[i]; l.Liveness == session.Dead && l.Exit == nil && !l.Foreign {
			lost[podName(l.Location.Name)] = l
		}
	}
	if len(lost) == 0 {
		return
	}
	for _, kind := range evictions {
		all, _ := list[occurrence](ctx, c, events, metav1.ListOptions{FieldSelector: "involvedObject.kind=Pod,reason=" + kind.reason}) // without events there is no reason
		for _, e := range all {
			l, at := lost[e.Of.Name], e.At
			if at.IsZero() {
				at = e.Metadata.Created
			}
			if l == nil || at.Before(l.Started.Truncate(time.Second)) || e.Reason != kind.reason || strings.HasPrefix(e.Message, "Cancelling") { // the first is of an earlier run
				continue
			}
			why := fmt.Sprintf(kind.text, strings.TrimSuffix(shim.OneLine(strings.TrimSpace(e.Message), 300), "."))
			if now, waits := strings.CutPrefix(l.UnknownReason, "its pod does not run: "); waits {
				why += "; the next one does not run: " + now
			}
			l.UnknownReason = why
		}
	}
}
