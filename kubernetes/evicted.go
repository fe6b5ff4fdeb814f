package kubernetes

import (
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// occurrence has the used fields of an event of the cluster.
type occurrence struct {
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	At      time.Time `json:"lastTimestamp"`
	Of      struct {
		Name string `json:"name"`
	} `json:"involvedObject"`
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
	all, _ := list[occurrence](ctx, c, events, metav1.ListOptions{FieldSelector: "involvedObject.kind=Pod,reason=Evicted"}) // without events there is no reason
	for _, e := range all {
		l := lost[e.Of.Name]
		if l == nil || e.At.Before(l.Started.Truncate(time.Second)) { // of an earlier run
			continue
		}
		why := "its pod was evicted: " + strings.TrimSuffix(shim.OneLine(strings.TrimSpace(e.Message), 300), ".")
		if now, waits := strings.CutPrefix(l.UnknownReason, "its pod does not run: "); waits {
			why += "; the next one does not run: " + now
		}
		l.UnknownReason = why
	}
}
