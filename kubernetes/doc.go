// Package kubernetes is the runtime that keeps sessions in pods of a Kubernetes cluster, one each.
//
// A session is a StatefulSet of one replica, its pod, and a claim for a volume. The volume has the
// agent's home, its workspace and the directories of its runs, which thus survive the loss of a
// pod. Removing a session's place removes the StatefulSet and keeps the claim.
//
// The pod's first process is an init (shim.PodMode), which outlives the agent. The kubelet probes
// it for the agent's liveness, so the pod's conditions show which agents are alive: Observe needs
// one list of StatefulSets and one of pods. Any other operation in a pod is a command that the API
// server executes there: the init's client, with one request on standard input. Secrets are sent
// the same way, and the cluster stores none.
//
// The program of init, shim and client is copied to the volume when a session is created, so an
// image needs no part of agentform.
//
// Labels identify an object's owner. What a restart changes, such as the run, is in an annotation
// of the StatefulSet, outside the template of its pod: a change there would replace the pod.
package kubernetes
