package kubernetes

import (
	"encoding/json"
	"testing"
)

// TestWaits checks the reason why a pod does not run, and whether it is waited for.
func TestWaits(t *testing.T) {
	for status, want := range map[string]struct {
		reason string
		futile bool
	}{
		`{}`: {},
		`{"containerStatuses":[{"name":"session","state":{"waiting":{"reason":"ContainerCreating"}}}]}`:                                                                                                        {},
		`{"containerStatuses":[{"name":"session","state":{"waiting":{"reason":"ErrImagePull","message":"not found"}}}]}`:                                                                                       {"ErrImagePull: not found", true},
		`{"containerStatuses":[{"name":"session","state":{"terminated":{"reason":"Error","exitCode":1,"message":"no disk"}}}]}`:                                                                                {"Error no disk", false},
		`{"containerStatuses":[{"name":"session","state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 10s"}},"lastState":{"terminated":{"reason":"Error","exitCode":3,"message":"no disk"}}}]}`: {"CrashLoopBackOff: back-off 10s: Error, exit status 3 no disk", true},
		`{"reason":"Evicted","message":"memory","initContainerStatuses":[{"name":"a","state":{"terminated":{"exitCode":0}}}]}`:                                                                                 {"Evicted: memory", false},
		`{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"no node"}]}`:                                                                                               {"Unschedulable: no node", false},
		`{"containerStatuses":[{"name":"session","state":{"waiting":{"reason":"PodInitializing"}}}],"initContainerStatuses":[{"name":"tools","state":{"running":{}}}]}`:                                        {},
		`{"containerStatuses":[{"name":"session","state":{"waiting":{"reason":"PodInitializing"}}}],"initContainerStatuses":[{"name":"tools","state":{"terminated":{"reason":"Error","exitCode":3}}}]}`:        {"init container tools: Error, exit status 3", false},
		`{"initContainerStatuses":[{"name":"tools","state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 10s"}},"restartCount":1,"lastState":{"terminated":{"reason":"Error","exitCode":3}}}]}`:  {"init container tools: CrashLoopBackOff: back-off 10s: Error, exit status 3", false},
		`{"initContainerStatuses":[{"name":"tools","state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 10s"}},"restartCount":4,"lastState":{"terminated":{"reason":"Error","exitCode":3}}}]}`:  {"init container tools: CrashLoopBackOff: back-off 10s: Error, exit status 3", true},
		`{"initContainerStatuses":[{"name":"tools","state":{"waiting":{"reason":"ImagePullBackOff","message":"x"}}},{"name":"more","state":{"waiting":{"reason":"PodInitializing"}}}]}`:                        {"init container tools: ImagePullBackOff: x", true},
	} {
		var p pod
		if err := json.Unmarshal([]byte(status), &p.Status); err != nil {
			t.Fatal(err)
		}
		if reason, futile := p.waits(); reason != want.reason || futile != want.futile {
			t.Errorf("%s: %q, futile %v", status, reason, futile)
		}
	}
}
