package language

import (
	"sync"
	"time"

	"github.com/agentform/agentform/session"
)

// leastMemory is Docker's minimum for a container.
const leastMemory = 6 << 20

// RuntimeBlock returns the runtime block.
var RuntimeBlock = sync.OnceValue(func() *Block {
	return &Block{
		Type: "runtime", Labels: []string{"kind", "name"}, Repeatable: true,
		Doc: "Where sessions run. tmux on this machine needs no block.",
		Kinds: []Block{
			{
				Type: "runtime", Labels: []string{"kind", "name"}, Repeatable: true, FirstLabel: "docker",
				Doc: "A container for each session that uses it. See [containers](docker.md).",
				Attributes: []Attribute{
					{Name: "image", Kind: Text, Forces: Replaces, Required: true, Field: func(s *session.Spec) any { return &docker(s).Image }, Example: `"agents:1"`, Doc: "An image with a shell, git, tmux and the agent. It must exist: nothing is pulled."},
					{Name: "host", Kind: Text, Forces: Replaces, DefaultWords: "the environment's", Field: func(s *session.Spec) any { return &docker(s).Host }, Example: `"ssh://build.example.com"`, Doc: "A docker context or a DOCKER_HOST URL. With `ssh://` or `tcp://` the engine is [on another machine](docker.md#engines-on-other-machines)."},
					{Name: "cert_path", Kind: Path, Forces: InPlace, DefaultWords: "`DOCKER_CERT_PATH`", Apart: true, Field: func(s *session.Spec) any { return &docker(s).CertPath }, Doc: "A directory with `ca.pem`, `cert.pem` and `key.pem`, for a host `tcp://`."},
					{Name: "cpus", Kind: Number, Forces: Replaces, DefaultWords: "no limit", Least: 0.01, Field: func(s *session.Spec) any { return &docker(s).CPUs }, Example: "2", Doc: "Maximum number of processors."},
					{Name: "memory", Kind: Size, Forces: Replaces, DefaultWords: "no limit", Least: leastMemory, Field: func(s *session.Spec) any { return &docker(s).Memory }, Example: `"4GiB"`, Doc: "Maximum memory, like `\"4GiB\"`."},
					{Name: "pids", Kind: Whole, Forces: Replaces, DefaultWords: "no limit", Least: 1, Field: func(s *session.Spec) any { return &docker(s).PIDs }, Example: "512", Doc: "Maximum number of processes."},
					{Name: "network", Kind: Text, Forces: Replaces, DefaultWords: "docker's", Field: func(s *session.Spec) any { return &docker(s).Network }, Example: `"none"`, Doc: "The network's name; `none` for none."},
					{Name: "user", Kind: Text, Forces: Replaces, DefaultWords: "yours", Field: func(s *session.Spec) any { return &docker(s).User }, Example: `"1000:1000"`, Doc: "The user in the container, in numbers: `UID` or `UID:GID`. The user owns the workspace."},
					{Name: "env", Kind: Table, Forces: Restarts, Field: func(s *session.Spec) any { return &docker(s).Env }, Example: `{ LOG = "debug" }`, Doc: "Added to the environment of every agent in it."},
					{Name: "mounts", Kind: Mounts, Forces: Replaces, Apart: true, Field: func(s *session.Spec) any { return &docker(s).Mounts }, Example: `[{ source = "~/.cache", target = "/cache" }]`, Doc: "Paths of the host to mount: a list of `{ source, target, read_only }`. A source can start with `~`, a target is absolute."},
					{Name: "read_only", Kind: Flag, Forces: Replaces, Default: "false", Field: func(s *session.Spec) any { return &docker(s).ReadOnly }, Example: "true", Doc: "Makes the container's file system read-only, except /tmp, the workspace and mounts."},
				},
			},
			{
				Type: "runtime", Labels: []string{"kind", "name"}, Repeatable: true, FirstLabel: "kubernetes",
				Doc: "A pod of a Kubernetes cluster for each session that uses it. See [Kubernetes](kubernetes.md).",
				Attributes: []Attribute{
					{Name: "context", Kind: Text, Forces: Replaces, DefaultWords: "the kubeconfig's current one", Field: func(s *session.Spec) any { return &kubernetes(s).Context }, Example: `"prod"`, Doc: "A context of the kubeconfig. In a cluster the pod's own account serves without one."},
					{Name: "namespace", Kind: Text, Forces: Replaces, DefaultWords: "the context's", Field: func(s *session.Spec) any { return &kubernetes(s).Namespace }, Example: `"agents"`, Doc: "The namespace of the sessions. It must exist."},
					{Name: "image", Kind: Text, Forces: Replaces, Required: true, Field: func(s *session.Spec) any { return &kubernetes(s).Image }, Example: `"registry.example/agents:1"`, Doc: "An image with a shell, git, tmux and the agent. Nothing of agentform has to be in it."},
					{Name: "image_pull_secrets", Kind: Texts, Forces: Replaces, Field: func(s *session.Spec) any { return &kubernetes(s).ImagePullSecrets }, Example: `["pull"]`, Doc: "Secrets of the namespace with which nodes pull the image."},
					{Name: "image_pull_policy", Kind: Text, Forces: Replaces, DefaultWords: "the cluster's", Values: []string{"Always", "IfNotPresent", "Never"}, Meanings: []string{"at each start of a pod", "if the node does not have it", "the node must have it"}, Field: func(s *session.Spec) any { return &kubernetes(s).ImagePullPolicy }, Example: `"IfNotPresent"`, Doc: "When nodes pull the image."},
					{Name: "cpus", Kind: Number, Forces: Replaces, DefaultWords: "no request and no limit", Least: 0.001, Field: func(s *session.Spec) any { return &kubernetes(s).CPUs }, Example: "2", Doc: "Processors that are requested, and the limit."},
					{Name: "memory", Kind: Size, Forces: Replaces, DefaultWords: "no request and no limit", Least: leastMemory, Field: func(s *session.Spec) any { return &kubernetes(s).Memory }, Example: `"4GiB"`, Doc: "Memory that is requested, and the limit, like `\"4GiB\"`."},
					{Name: "node_selector", Kind: Table, Forces: Replaces, Field: func(s *session.Spec) any { return &kubernetes(s).NodeSelector }, Example: `{ pool = "agents" }`, Doc: "Labels that the node must have, in addition to that of Linux."},
					{Name: "tolerations", Kind: Tolerations, Forces: Replaces, Apart: true, Field: func(s *session.Spec) any { return &kubernetes(s).Tolerations }, Example: `[{ key = "agents", operator = "Exists" }]`, Doc: "Taints of nodes that are tolerated: a list of `{ key, operator, value, effect }`."},
					{Name: "affinity", Kind: Anything, Forces: Replaces, Apart: true, Field: func(s *session.Spec) any { return &kubernetes(s).Affinity }, Example: `{ nodeAffinity = {} }`, Doc: "The pod's affinity, as in its spec."},
					{Name: "runtime_class", Kind: Text, Forces: Replaces, Field: func(s *session.Spec) any { return &kubernetes(s).RuntimeClass }, Example: `"gvisor"`, Doc: "A RuntimeClass, such as one of gVisor or Kata."},
					{Name: "service_account", Kind: Text, Forces: Replaces, DefaultWords: "`default`", Field: func(s *session.Spec) any { return &kubernetes(s).ServiceAccount }, Example: `"agents"`, Doc: "The pod's account. Its token is never mounted."},
					{Name: "priority_class", Kind: Text, Forces: Replaces, DefaultWords: "the cluster's", Field: func(s *session.Spec) any { return &kubernetes(s).PriorityClass }, Example: `"agents"`, Doc: "The pod's PriorityClass: which pods the cluster evicts for it, and which for others."},
					{Name: "labels", Kind: Table, Forces: Replaces, Field: func(s *session.Spec) any { return &kubernetes(s).Labels }, Example: `{ team = "shop" }`, Doc: "Labels of the StatefulSet and the pod."},
					{Name: "annotations", Kind: Table, Forces: Replaces, Field: func(s *session.Spec) any { return &kubernetes(s).Annotations }, Example: `{ team = "shop" }`, Doc: "Annotations of the StatefulSet and the pod."},
					{Name: "env", Kind: Table, Forces: Restarts, Field: func(s *session.Spec) any { return &kubernetes(s).Env }, Example: `{ LOG = "debug" }`, Doc: "Added to the environment of every agent in it."},
					{Name: "user", Kind: Text, Forces: Replaces, Default: `"1000:1000"`, Field: func(s *session.Spec) any { return &kubernetes(s).User }, Example: `"1000:1000"`, Doc: "The user in the pod, in numbers: `UID` or `UID:GID`. Root is refused."},
					{Name: "read_only", Kind: Flag, Forces: Replaces, Default: "true", Field: func(s *session.Spec) any { return &kubernetes(s).ReadOnly }, Example: "true", Doc: "Makes the container's file system read-only, except /tmp, the session's volume and `volumes`."},
					{Name: "network", Kind: Text, Forces: Replaces, Default: `"open"`, Values: []string{session.NetworkNone, session.NetworkRestricted, session.NetworkOpen}, Meanings: []string{"a NetworkPolicy without any traffic", "one that allows the cluster's DNS and public addresses, and nothing into the pod", "no NetworkPolicy"}, Field: func(s *session.Spec) any { return &kubernetes(s).Network }, Example: `"restricted"`, Doc: "The traffic of the pod. The cluster's network has to enforce it."},
					{Name: "network_allow", Kind: Texts, Forces: Replaces, Field: func(s *session.Spec) any { return &kubernetes(s).NetworkAllow }, Example: `["10.1.0.0/16", "10.1.2.3/32:8443", "namespace/proxies:3128"]`, Doc: "Destinations that `none` and `restricted` allow as well: ranges of addresses, or the pods of a namespace, with or without a port."},
					{Name: "volumes", Kind: Volumes, Forces: Replaces, Apart: true, Field: func(s *session.Spec) any { return &kubernetes(s).Volumes }, Example: `[{ secret = "npm", target = "/etc/npm" }]`, Doc: "More volumes: a list of `{ target, claim, secret, config_map, read_only }`, each with a target and one of the three."},
					{Name: "tmp_size", Kind: Size, Forces: Replaces, DefaultWords: "no limit but the node's", Least: 1 << 20, Field: func(s *session.Spec) any { return &kubernetes(s).TmpSize }, Example: `"2GiB"`, Doc: "The size of /tmp. The cluster evicts a pod that exceeds it."},
					{Name: "pod", Kind: Anything, Forces: Replaces, Apart: true, Field: func(s *session.Spec) any { return &kubernetes(s).Pod }, Example: `{ hostAliases = [] }`, Doc: "Further fields, as in a pod's spec. See [fields of the pod](kubernetes.md#fields-of-the-pod)."},
					{Name: "schedule_timeout", Kind: Duration, Forces: InPlace, Default: `"10s"`, Least: float64(time.Second), Field: func(s *session.Spec) any { return &kubernetes(s).ScheduleTimeout }, Example: `"5m"`, Doc: "How long the cluster may look for a node and a volume. Longer where nodes are added on demand."},
				},
				Blocks: []Block{
					{
						Type: "storage",
						Doc:  "The volume of the agent's home and workspace.",
						Attributes: []Attribute{
							{Name: "class", Kind: Text, Forces: Replaces, DefaultWords: "the cluster's", Field: func(s *session.Spec) any { return &kubernetes(s).Storage.Class }, Example: `"fast"`, Doc: "The StorageClass. It cannot be changed while the session has a volume."},
							{Name: "access_mode", Kind: Text, Forces: Replaces, Default: `"ReadWriteOncePod"`, Values: []string{"ReadWriteOncePod", "ReadWriteOnce", "ReadWriteMany"}, Meanings: []string{"one pod at a time mounts it, which the cluster ensures", "pods of one node, for drivers without the former", "pods of all nodes"}, Field: func(s *session.Spec) any { return &kubernetes(s).Storage.AccessMode }, Example: `"ReadWriteOnce"`, Doc: "The access mode of the claim. It cannot be changed while the session has a volume."},
							{Name: "size", Kind: Size, Forces: Replaces, Default: `"10GiB"`, Least: 1 << 20, Field: func(s *session.Spec) any { return &kubernetes(s).Storage.Size }, Example: `"20GiB"`, Doc: "The size. The volume grows where its class allows that. It cannot become smaller while the session has a volume."},
						},
					},
					{
						Type: "resources",
						Doc:  "Requests and limits that differ from `cpus` and `memory`.",
						Attributes: []Attribute{
							{Name: "requests", Kind: Table, Forces: Replaces, Field: func(s *session.Spec) any { return &kubernetes(s).Resources.Requests }, Example: `{ cpu = "500m" }`, Doc: "Quantities by resource, in Kubernetes' notation: `{ cpu = \"500m\" }`."},
							{Name: "limits", Kind: Table, Forces: Replaces, Field: func(s *session.Spec) any { return &kubernetes(s).Resources.Limits }, Example: `{ memory = "8Gi" }`, Doc: "The limits, likewise."},
						},
					},
				},
			},
			{
				Type: "runtime", Labels: []string{"kind", "name"}, Repeatable: true, FirstLabel: "tmux",
				Doc: "A tmux server of your own, in which the sessions run next to yours.",
				Attributes: []Attribute{
					{Name: "socket", Kind: Path, Forces: Replaces, Required: true, Example: `"own"`, Doc: "The name of its socket, as for `tmux -L`, or its path."},
				},
			},
		},
	}
})
