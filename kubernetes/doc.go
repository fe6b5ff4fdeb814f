// Package kubernetes is the runtime that keeps sessions in pods of a Kubernetes cluster,
// one each.
//
// A session is a StatefulSet of one replica, its pod, and a claim for a volume. The volume
// has the agent's home, its workspace and the directories of its runs, so that a pod that
// is lost loses none of them. Removing a session's place removes the StatefulSet and keeps
// the claim.
//
// The pod's first process is an init (shim.PodMode), which stays when the agent ends. The
// kubelet asks it whether the agent lives, and so the conditions of the pod say which
// agents live: Observe is one list of StatefulSets and one of pods. What has to be done in
// a pod is a command that the API server executes there: the init's client, with one
// request on standard input. Secrets travel on that way, too, and are stored nowhere in the
// cluster.
//
// The program of init, shim and client is copied to the volume when a session is created,
// so that an image needs nothing of agentform.
//
// Labels say whose an object is. What a restart changes, as the run, is in an annotation of
// the StatefulSet, outside the template of its pod: a change there would replace the pod.
package kubernetes
