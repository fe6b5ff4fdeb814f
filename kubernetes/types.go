package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/session"
)

// The labels of a session's objects. The address is an annotation, as it can be too long for a
// label.
const (
	labelProject      = "agentform.project"
	labelID           = "agentform.id"
	labelOneOff       = "agentform.once"    // a command, not a session
	labelVolume       = "agentform.volume"  // of pods: their claim
	annotationPath    = "agentform.path"    // of a claim: the workspace
	annotationBranch  = "agentform.branch"  // the branch that the workspace was created for
	annotationNetwork = "agentform.network" // the limit of an agent that worked there; none: no limit
	annotationAddress = "agentform.address"
	annotationHash    = "agentform.hash"   // the first run's
	annotationRecord  = "agentform.record" // of the StatefulSet: a record
)

// record describes a session, in an annotation of its StatefulSet.
type record struct {
	Mark    session.Mark  `json:"mark"` // of the last run
	Spec    *session.Spec `json:"spec,omitempty"`
	Root    string        `json:"root"`               // the volume's path in the pod
	DataDir string        `json:"data_dir,omitempty"` // with which the run was started
	Program string        `json:"program"`            // the init's, on the volume
	Arch    string        `json:"arch,omitempty"`     // of the nodes; empty: any
	Begun   time.Time     `json:"begun"`              // shortly before the run was started
	// Generation is the StatefulSet's after agentform's last change. It grows with each change of
	// the spec.
	Generation int64         `json:"generation,omitempty"`
	Policy     *policyMade   `json:"policy,omitempty"` // nil: none was made
	Exit       *session.Exit `json:"exit,omitempty"`   // of a run that was stopped
	Paused     string        `json:"pause,omitempty"`  // the mode
}

// policyMade identifies the spec of a network policy as agentform made it.
type policyMade struct {
	UID        string `json:"uid"`
	Generation int64  `json:"generation"` // grows with each change of the spec
}

// noGeneration is the Generation of a lost record, or of a StatefulSet with edits that are ignored: none has it.
const noGeneration = -1

// recordLimit bounds a record. All annotations of an object have at most 256 KiB
// (k8s.io/apimachinery/pkg/api/validation, TotalAnnotationSizeLimitB).
const recordLimit = 250 << 10

func (k record) text() (string, error) {
	b, err := json.Marshal(k)
	if err == nil && len(b) > recordLimit {
		err = fmt.Errorf("kubernetes: the settings of the session have %d KiB, and its StatefulSet holds %d: write a long variable of env to a file", len(b)>>10, recordLimit>>10)
	}
	return string(b), err
}

// metadata has the used fields of an object's metadata.
type metadata struct {
	Name            string            `json:"name"`
	UID             string            `json:"uid"`
	ResourceVersion string            `json:"resourceVersion"`
	Generation      int64             `json:"generation"`
	Labels          map[string]string `json:"labels"`
	Annotations     map[string]string `json:"annotations"`
	Deleted         *time.Time        `json:"deletionTimestamp"`
	Owners          []owner           `json:"ownerReferences"`
}

// owner is an object with which another one is removed.
type owner struct {
	UID string `json:"uid"`
}

// partial is an object without spec and status.
type partial struct {
	Metadata metadata `json:"metadata"`
}

// statefulSet has the used fields of a StatefulSet.
type statefulSet struct {
	Metadata metadata `json:"metadata"`
	Spec     setSpec  `json:"spec"`
}

// setSpec has the used fields of a StatefulSet's spec: those that can change, and the labels that
// select its pods, which cannot. Most are decoded only where they are compared.
type setSpec struct {
	Replicas  *int                                    `json:"replicas"`
	History   *int                                    `json:"revisionHistoryLimit"`
	Selector  struct{ MatchLabels map[string]string } `json:"selector"`
	Template  json.RawMessage                         `json:"template"`
	Ordinals  json.RawMessage                         `json:"ordinals"`
	Updates   json.RawMessage                         `json:"updateStrategy"`
	MinReady  json.RawMessage                         `json:"minReadySeconds"`
	Retention json.RawMessage                         `json:"persistentVolumeClaimRetentionPolicy"`
}

// mutable returns the fields that can change.
func (s setSpec) mutable() (all object, err error) {
	err = decode(object{"replicas": s.Replicas, "revisionHistoryLimit": s.History, "template": s.Template, "ordinals": s.Ordinals,
		"updateStrategy": s.Updates, "minReadySeconds": s.MinReady, "persistentVolumeClaimRetentionPolicy": s.Retention}, &all)
	return all, err
}

// identity returns the labels that identify a set's owner. The set's own labels can be removed by
// an edit.
func (s *statefulSet) identity() map[string]string { return s.Spec.Selector.MatchLabels }

// record returns the record of the set's session. The error is what is wrong with the annotation.
func (s *statefulSet) record() (k record, err error) {
	text, is := s.Metadata.Annotations[annotationRecord]
	if !is {
		return k, errors.New("is missing")
	}
	switch err := json.Unmarshal([]byte(text), &k); {
	case err != nil:
		return record{}, fmt.Errorf("cannot be read: %w", err)
	case labelValue(k.Mark.ID) != s.identity()[labelID] || labelValue(k.Mark.Project) != s.identity()[labelProject]:
		return record{}, errors.New("is another session's")
	case !proc.ValidRun(k.Mark.Run) || k.Program == "" || k.Root == "":
		return record{}, errors.New("is not complete")
	}
	return k, nil
}

// stopped reports whether someone scaled the set to no replica.
func (s *statefulSet) stopped() bool { return s.Spec.Replicas != nil && *s.Spec.Replicas == 0 }

// pod has the used fields of a pod.
type pod struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Node    string `json:"nodeName"`
		Volumes []struct {
			Name      string    `json:"name"`
			Secret    *struct{} `json:"secret"`
			ConfigMap *struct{} `json:"configMap"`
		} `json:"volumes"`
	} `json:"spec"`
	Status struct {
		Phase      string      `json:"phase"`
		Reason     string      `json:"reason"`
		Message    string      `json:"message"`
		Conditions []condition `json:"conditions"`
		Containers []container `json:"containerStatuses"`
		Before     []container `json:"initContainerStatuses"`
	} `json:"status"`
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"` // True, False, Unknown
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// container is the status of a container.
type container struct {
	Name   string         `json:"name"`
	Ready  bool           `json:"ready"`
	State  containerState `json:"state"`
	Last   containerState `json:"lastState"`
	Starts int            `json:"restartCount"`
}

type containerState struct {
	Running *struct{} `json:"running"`
	Waiting *struct {
		Reason  string `json:"reason"`
		Message string `json:"message"`
	} `json:"waiting"`
	Terminated *struct {
		Reason  string `json:"reason"`
		Code    int    `json:"exitCode"`
		Message string `json:"message"`
	} `json:"terminated"`
}

// container returns the status of the session's container, or zero if it does not exist yet.
func (p *pod) container() container {
	for _, c := range p.Status.Containers {
		if c.Name == containerName {
			return c
		}
	}
	return container{}
}

// condition returns a condition, or zero if it does not exist yet.
func (p *pod) condition(kind string) condition {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return condition{}
}

// running reports whether commands can be executed in the session's container.
func (p *pod) running() bool { return p.container().State.Running != nil && p.Metadata.Deleted == nil }

// reachable reports whether commands can be executed in the session's container now: its node reports, too.
func (p *pod) reachable() bool { return p.running() && !p.isolated() }

// serves reports whether commands can be executed in the pod, or soon.
func (p *pod) serves() bool {
	return p.Metadata.Deleted == nil && (p.running() || p.Status.Phase == "Pending" || p.Status.Phase == "") && !p.isolated()
}

// isolated reports whether the node of a pod has been silent for so long that the cluster considers
// it lost: the cluster then sets the condition Ready and leaves that of the containers.
func (p *pod) isolated() bool {
	return p.condition("Ready").Status != "True" && p.condition("ContainersReady").Status == "True" || p.Status.Reason == "NodeLost"
}

// hopeless are the reasons of a waiting container that do not resolve by themselves, or not soon.
var hopeless = map[string]bool{
	"ErrImageNeverPull": true, "InvalidImageName": true, "ImageInspectError": true, "ErrImagePull": true, "ImagePullBackOff": true,
	"CreateContainerConfigError": true, "CreateContainerError": true, "RunContainerError": true, "CrashLoopBackOff": true,
}

// waits returns the cluster's reason why a pod is not running, if it has one, and whether waiting
// is futile.
func (p *pod) waits() (reason string, futile bool) {
	c := p.container()
	if p.Status.Reason != "" { // the kubelet ended it, with its containers
		return strings.TrimSuffix(p.Status.Reason+": "+p.Status.Message, ": "), false
	}
	for _, before := range p.Status.Before { // of the manifest's pod
		if reason, futile = before.fails(); reason != "" {
			return "init container " + before.Name + ": " + reason, futile && (before.Last.Terminated == nil || before.Starts >= initTries)
		}
	}
	switch scheduled := p.condition("PodScheduled"); {
	case c.waits():
		return c.fails()
	case c.State.Terminated != nil:
		return strings.TrimSpace(c.State.Terminated.Reason + " " + c.State.Terminated.Message), false
	case scheduled.Status == "False":
		return scheduled.Reason + ": " + scheduled.Message, false
	}
	return "", false
}

// initTries is how often an init container may fail: some do until what they wait for is there. The kubelet doubles
// the wait from 10 seconds on.
const initTries = 4

// waits reports whether a container waits for something else than its turn.
func (c container) waits() bool {
	w := c.State.Waiting
	return w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing"
}

// fails returns why a container that is to start does not, and whether waiting is futile; empty: it may.
func (c container) fails() (reason string, futile bool) {
	ended := c.Last.Terminated
	switch w := c.State.Waiting; {
	case c.waits():
		reason, futile = strings.TrimSuffix(w.Reason+": "+w.Message, ": "), hopeless[w.Reason]
		if w.Reason != "CrashLoopBackOff" {
			ended = nil
		}
	default:
		ended = c.State.Terminated
	}
	if ended != nil && ended.Code != 0 {
		how := strings.TrimSpace(fmt.Sprintf("%s, exit status %d %s", ended.Reason, ended.Code, ended.Message))
		reason = strings.TrimPrefix(reason+": "+how, ": ")
	}
	return reason, futile
}

// unschedulable reports whether the cluster has no node or no volume for the pod now.
func (p *pod) unschedulable() bool { return p.condition("PodScheduled").Status == "False" }
