package session

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Desired is what a session is wanted to be doing.
type Desired string

// The three values of desired in a manifest.
const (
	Running Desired = "running"
	Paused  Desired = "paused"
	Stopped Desired = "stopped"
)

// Spec is one session as wanted, with every default filled in and absolute, clean paths.
// It is stored in the state file, so it holds the names of secrets and never their values.
type Spec struct {
	Address   Address           `json:"address"`
	Role      string            `json:"role"`
	Priority  int               `json:"priority,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	DependsOn []Address         `json:"depends_on,omitempty"`
	// Until is what dependencies must have reached before this one starts; the default is
	// AwaitReady.
	Until   map[Address]Await `json:"depends_until,omitempty"`
	Desired Desired           `json:"desired"`

	Agent   AgentSpec         `json:"agent"`
	Profile string            `json:"profile,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Secrets []string          `json:"secrets,omitempty"` // names, sorted
	// SecretRefs are those that are in Secrets of the session's cluster, by name. That of
	// Workspace.RepoSecret is RepoSecretFile, the others are variables.
	SecretRefs map[string]SecretRef `json:"secret_refs,omitempty"`
	// InheritEnv are names and patterns of more variables that the agent inherits.
	InheritEnv []string `json:"inherit_env,omitempty"`
	// Telemetry is where the agent sends its own telemetry.
	Telemetry Telemetry `json:"telemetry,omitzero"`
	Prompt    Prompt    `json:"prompt,omitzero"`
	// OnPromptChange is the effect of another prompt on the running agent.
	OnPromptChange PromptChange `json:"on_prompt_change,omitempty"`

	Branch       string       `json:"branch,omitempty"` // empty only in mode plain
	Workspace    Workspace    `json:"workspace"`
	Runtime      RuntimeSpec  `json:"runtime"`
	Conversation Conversation `json:"conversation,omitzero"`

	Timeout   Duration  `json:"timeout,omitempty"` // longest run; 0: none
	Finish    Finish    `json:"finish,omitempty"`
	Verify    Verify    `json:"verify,omitzero"`
	Refresh   Refresh   `json:"refresh,omitzero"`
	PR        PR        `json:"pr,omitzero"`
	Limits    Limits    `json:"limits,omitzero"`
	Restart   Restart   `json:"restart"`
	Health    Health    `json:"health"`
	Pause     Pause     `json:"pause"`
	Stop      Stop      `json:"stop"`
	Lifecycle Lifecycle `json:"lifecycle,omitzero"`
}

// SecretRef is a key of a Secret in the namespace of a session in Kubernetes.
type SecretRef struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// Telemetry is where an agent sends the telemetry that it makes itself. Without an endpoint it
// is left to the agent's own settings.
type Telemetry struct {
	Endpoint string `json:"endpoint,omitempty"` // an OTLP collector by HTTP, without the path of a signal
	Prompts  bool   `json:"prompts,omitempty"`  // with the text of prompts
}

// Signal returns the address of one signal: traces, metrics or logs. The paths are those of
// OTLP/HTTP (opentelemetry.io/docs/specs/otlp).
func (t Telemetry) Signal(name string) string {
	return strings.TrimSuffix(t.Endpoint, "/") + "/v1/" + name
}

// Await is what a dependency must have reached before its dependents start.
type Await string

// The values of until in depends_on.
const (
	AwaitReady Await = "ready" // its agent can take a prompt
	AwaitTurn  Await = "turn"  // the first turn of its agent has ended
	// AwaitVerified: the command of its verify block has succeeded since it was given its prompt.
	AwaitVerified Await = "verified"
	AwaitDone     Await = "done" // it is finished: its one-shot command has exited with 0, or its Finish is reached
)

// Finish is when a session is done: its agent is ended then, and no apply starts it again until
// its prompt, its branch or its workspace changes.
type Finish string

// The values of finish. A manifest's "never" is the empty one.
const (
	FinishNever    Finish = ""
	FinishTurn     Finish = "turn"     // its agent has ended the turn of its last input
	FinishVerified Finish = "verified" // and its work is verified
	FinishLanded   Finish = "landed"   // its work is in its base
)

// UntilOf returns what the session waits for in one that it depends on.
func (s Spec) UntilOf(on Address) Await { return cmp.Or(s.Until[on], AwaitReady) }

// Prompt is the input of a session's run. Its text is kept outside the state file.
type Prompt struct {
	Digest string `json:"sha256,omitempty"` // hex; empty: no prompt
	Text   string `json:"-"`
}

// PromptChange is what becomes of a running agent whose session gets another prompt.
type PromptChange string

// The values of on_prompt_change. A manifest's "restart" is the empty one.
const (
	PromptRestarts PromptChange = ""     // the agent is restarted with a new conversation
	PromptIsSent   PromptChange = "send" // the prompt is typed into the running conversation
	PromptIsKept   PromptChange = "keep" // the prompt is recorded, for the next conversation
)

// AgentSpec is a built-in agent, one changed by an agent block, or a custom one.
type AgentSpec struct {
	Name           string            `json:"name"`
	Base           string            `json:"base,omitempty"` // the built-in it inherits from; empty: custom
	Command        []string          `json:"command"`
	Permissions    string            `json:"permissions,omitempty"` // ask, edits, all
	Trust          bool              `json:"trust,omitempty"`
	PromptVia      string            `json:"prompt_via"`              // argument, paste, none
	Ready          string            `json:"ready,omitempty"`         // regular expression over the screen
	ReadyTimeout   Duration          `json:"ready_timeout,omitempty"` // until the first prompt can be typed
	StatusBarLines int               `json:"status_bar_lines,omitempty"`
	Observable     string            `json:"observable,omitempty"` // at_start, at_first_prompt, after_first_turn
	UnobservedFor  Duration          `json:"unobserved_for,omitempty"`
	OneShot        bool              `json:"one_shot,omitempty"` // leaving with 0 means done
	Env            map[string]string `json:"env,omitempty"`
	InheritEnv     []string          `json:"inherit_env,omitempty"` // as Spec.InheritEnv
	Patterns       Patterns          `json:"patterns,omitzero"`
}

// Patterns are case-insensitive regular expressions over the screen, added to
// the built-in ones.
type Patterns struct {
	Done        []string `json:"done,omitempty"`
	Blocked     []string `json:"blocked,omitempty"`
	BlockedAPI  []string `json:"blocked_api,omitempty"`
	Failed      []string `json:"failed,omitempty"`
	Working     []string `json:"working,omitempty"`
	UI          []string `json:"ui,omitempty"`
	ShellPrompt []string `json:"shell_prompt,omitempty"`
}

// The modes of a workspace.
const (
	Worktree = "worktree" // a git worktree of the repository
	Clone    = "clone"    // a clone of its own
	InPlace  = "in_place" // the repository's own checkout
	Plain    = "plain"    // a directory without git, and so without a branch
)

// The values of a workspace's on_destroy.
const (
	Keep        = "keep"
	RemoveClean = "remove_clean" // removed only if nothing would be lost
)

// Workspace is where a session works.
type Workspace struct {
	Mode string `json:"mode"`
	Repo string `json:"repo,omitempty"` // absolute path of the repository's top level, or a URL; empty in mode plain
	// RepoSecret is the name of a secret: the password or token for a Repo that is a URL. It
	// is one of SecretRefs, or its value is agentform's.
	RepoSecret string   `json:"repo_secret,omitempty"`
	Path       string   `json:"path"` // absolute
	Explicit   bool     `json:"explicit,omitempty"`
	Base       string   `json:"base,omitempty"` // where a branch that does not exist yet starts; empty: HEAD
	Setup      []string `json:"setup,omitempty"`
	OnDestroy  string   `json:"on_destroy"`
	TrustGit   bool     `json:"trust_git,omitempty"`
}

// RepoSecretFile is the file with the secret of a repository on a server, where the session's
// cluster has it. The agent can read it.
const RepoSecretFile = "/run/agentform-repo/password"

// Remote reports whether a repository is the URL of one on a server.
func Remote(repo string) bool { return strings.Contains(repo, "://") }

// RuntimeSpec names the runtime and has its settings.
type RuntimeSpec struct {
	Kind   string        `json:"kind"` // tmux, docker, kubernetes
	Name   string        `json:"name,omitempty"`
	Socket string        `json:"socket,omitempty"` // of a tmux server of a person's own: a name as of tmux -L, or an absolute path
	Docker *DockerConfig `json:"docker,omitempty"`

	Kubernetes *KubernetesConfig `json:"kubernetes,omitempty"`
}

// DockerConfig is a manifest's runtime "docker" block.
type DockerConfig struct {
	Image string `json:"image"`
	Host  string `json:"host,omitempty"`
	// CertPath is a directory with ca.pem, cert.pem and key.pem, for a Host tcp://.
	CertPath string            `json:"cert_path,omitempty"`
	CPUs     float64           `json:"cpus,omitempty"`
	Memory   int64             `json:"memory,omitempty"` // bytes
	PIDs     int64             `json:"pids,omitempty"`
	Network  string            `json:"network,omitempty"`
	User     string            `json:"user,omitempty"` // UID or UID:GID; empty: the user of agentform
	Env      map[string]string `json:"env,omitempty"`
	Mounts   []Mount           `json:"mounts,omitempty"`
	// ReadOnly is about all but /tmp, the workspace and mounts.
	ReadOnly bool `json:"read_only,omitempty"`
}

// Elsewhere reports whether the engine is on another machine, by its URL: its containers
// see no files of this one.
func (d *DockerConfig) Elsewhere() bool {
	return d != nil && (strings.HasPrefix(d.Host, "ssh://") || strings.HasPrefix(d.Host, "tcp://"))
}

// Client returns the command line of docker for the engine, to which a command is appended.
func (d *DockerConfig) Client() []string {
	switch {
	case d == nil || d.Host == "":
		return []string{"docker"}
	case strings.HasPrefix(d.Host, "tcp://"):
		argv := []string{"docker", "--tlsverify"}
		if d.CertPath != "" { // as DOCKER_CERT_PATH
			argv = append(argv, "--tlscacert", d.CertPath+"/ca.pem", "--tlscert", d.CertPath+"/cert.pem", "--tlskey", d.CertPath+"/key.pem")
		}
		return append(argv, "-H", d.Host)
	case strings.Contains(d.Host, "://"):
		return []string{"docker", "-H", d.Host}
	}
	return []string{"docker", "--context", d.Host}
}

// Mount is a host path seen inside a container.
type Mount struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"read_only,omitempty"`
}

// Conversation is whether a session resumes an earlier conversation.
type Conversation struct {
	Resume bool   `json:"resume,omitempty"`
	ID     string `json:"id,omitempty"`
}

// KubernetesConfig is a manifest's runtime "kubernetes" block.
type KubernetesConfig struct {
	Context          string            `json:"context,omitempty"`   // of the kubeconfig; empty: its current one
	Namespace        string            `json:"namespace,omitempty"` // empty: the context's
	Image            string            `json:"image"`
	ImagePullSecrets []string          `json:"image_pull_secrets,omitempty"`
	CPUs             float64           `json:"cpus,omitempty"`
	Memory           int64             `json:"memory,omitempty"` // bytes
	Resources        PodResources      `json:"resources,omitzero"`
	Storage          PodStorage        `json:"storage"`
	NodeSelector     map[string]string `json:"node_selector,omitempty"`
	Tolerations      []Toleration      `json:"tolerations,omitempty"`
	Affinity         string            `json:"affinity,omitempty"` // JSON, as in a pod's spec
	RuntimeClass     string            `json:"runtime_class,omitempty"`
	ServiceAccount   string            `json:"service_account,omitempty"`
	Labels           map[string]string `json:"labels,omitempty"`
	Annotations      map[string]string `json:"annotations,omitempty"`
	Env              map[string]string `json:"env,omitempty"`
	User             string            `json:"user"` // UID or UID:GID
	// ReadOnly is about all but /tmp, the session's volume and other volumes.
	ReadOnly        bool        `json:"read_only"`
	Network         string      `json:"network"`                 // none, restricted, open
	NetworkAllow    []string    `json:"network_allow,omitempty"` // destinations that a limited network also has, as package reach reads them
	Volumes         []PodVolume `json:"volumes,omitempty"`
	ImagePullPolicy string      `json:"image_pull_policy,omitempty"` // empty: the cluster's
	PriorityClass   string      `json:"priority_class,omitempty"`
	TmpSize         int64       `json:"tmp_size,omitempty"` // of /tmp, in bytes; 0: no limit
	Pod             string      `json:"pod,omitempty"`      // JSON, as in a pod's spec: merged over what agentform sets
	ScheduleTimeout Duration    `json:"schedule_timeout"`   // how long the cluster may look for a node and a volume
}

// PodResources are a container's requests and limits by resource, such as memory. A value
// is a quantity in Kubernetes' notation. What is not given is CPUs and Memory.
type PodResources struct {
	Requests map[string]string `json:"requests,omitempty"`
	Limits   map[string]string `json:"limits,omitempty"`
}

// PodStorage is the volume of a session's home and workspace.
type PodStorage struct {
	Class string `json:"class,omitempty"` // empty: the cluster's default
	// AccessMode is ReadWriteOncePod, ReadWriteOnce or ReadWriteMany.
	AccessMode string `json:"access_mode"`
	Size       int64  `json:"size"` // bytes
}

// Toleration is a taint that a pod tolerates, as in its spec.
type Toleration struct {
	Key      string `json:"key,omitempty"`
	Operator string `json:"operator,omitempty"` // Equal, Exists
	Value    string `json:"value,omitempty"`
	Effect   string `json:"effect,omitempty"`
}

// PodVolume is a claim, secret or config map of the namespace, mounted into a pod. One of
// the three is set.
type PodVolume struct {
	Target    string `json:"target"`
	Claim     string `json:"claim,omitempty"`
	Secret    string `json:"secret,omitempty"`
	ConfigMap string `json:"config_map,omitempty"`
	ReadOnly  bool   `json:"read_only,omitempty"` // of a claim; others are read-only
}

// The values of KubernetesConfig.Network.
const (
	NetworkNone       = "none"       // a policy without any traffic
	NetworkRestricted = "restricted" // a policy: out to DNS and to public addresses
	NetworkOpen       = "open"       // no policy of ours
)

// Restart is the restart policy of the hub.
type Restart struct {
	Policy        string   `json:"policy"` // never, on-failure, always
	Attempts      int      `json:"attempts"`
	Window        Duration `json:"window"`
	EscalateAfter int      `json:"escalate_after"`
	Resume        bool     `json:"resume"`
	Backoff       Backoff  `json:"backoff"`
}

// Backoff is the wait between the hub's restarts.
type Backoff struct {
	Initial    Duration `json:"initial"`
	Factor     float64  `json:"factor"`
	Max        Duration `json:"max"`
	Jitter     float64  `json:"jitter"` // share of the wait, 0 to 1
	ResetAfter Duration `json:"reset_after"`
}

// Health is how the hub checks a session.
type Health struct {
	Interval    Duration   `json:"interval"`
	Timeout     Duration   `json:"timeout"`
	StartPeriod Duration   `json:"start_period"`
	Failures    int        `json:"failures"` // in a row, until unhealthy
	HungAfter   Duration   `json:"hung_after"`
	OnUnhealthy string     `json:"on_unhealthy"` // restart, escalate, ignore
	Heartbeat   *Heartbeat `json:"heartbeat,omitempty"`
}

// Heartbeat is an optional probe: a command that the shim runs, or a key.
type Heartbeat struct {
	Command []string `json:"command,omitempty"`
	Key     string   `json:"key,omitempty"`
}

// The modes of a pause.
const (
	Detach = "detach" // clients off, input refused, the agent works on
	Freeze = "freeze" // the agent's processes are suspended
)

// Pause is the effect of a pause.
type Pause struct {
	Mode string `json:"mode"`
}

// Stop is how an agent is ended.
type Stop struct {
	Signal    string   `json:"signal"` // SIGTERM, SIGINT, …
	Grace     Duration `json:"grace"`  // then SIGKILL
	AfterTurn Duration `json:"after_turn,omitempty"`
}

// Lifecycle holds what a plan may do to a session.
type Lifecycle struct {
	PreventDestroy bool     `json:"prevent_destroy,omitempty"`
	IgnoreChanges  []string `json:"ignore_changes,omitempty"`  // field paths; "all" for every one
	ReplaceTrigger string   `json:"replace_trigger,omitempty"` // digest of the values in replace_triggered_by
}

// Ignores reports whether changes of a field are ignored: it, a block around it or all is named. Those
// of the lifecycle block never are.
func (l Lifecycle) Ignores(field string) bool {
	if strings.HasPrefix(field, "lifecycle.") {
		return false
	}
	return slices.ContainsFunc(l.IgnoreChanges, func(i string) bool {
		rest, is := strings.CutPrefix(field, i)
		return i == "all" || is && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// Duration is a time.Duration that is written as text ("1m30s") in JSON.
type Duration time.Duration

// D returns the duration as the standard library's.
func (d Duration) D() time.Duration { return time.Duration(d) }

// String returns the duration in Go's notation.
func (d Duration) String() string { return time.Duration(d).String() }

// Short returns the duration without the zeros that Go puts at its end: 15m, not 15m0s.
func (d Duration) Short() string {
	text := d.String()
	for _, end := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, end) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// MarshalText writes the duration in Go's notation.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a duration in Go's notation.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// Key names the runtime among those of a project: tmux, docker/sandbox.
func (r RuntimeSpec) Key() string {
	return strings.TrimSuffix(r.Kind+"/"+r.Name, "/")
}

// Engine names what holds the runtime's sessions: the project's tmux servers, a user's own
// tmux server, a Docker engine, or a cluster's namespace. Runtimes of one engine see the
// same sessions.
func (r RuntimeSpec) Engine() string {
	at := r.Socket
	if r.Docker != nil {
		at = cmp.Or(at, r.Docker.Host)
	}
	if k := r.Kubernetes; k != nil {
		at = strings.TrimSuffix(k.Context+"/"+k.Namespace, "/")
		if k.Context == "" && k.Namespace != "" {
			at = "namespace " + k.Namespace
		}
	}
	return strings.TrimSuffix(r.Kind+" "+at, " ")
}
