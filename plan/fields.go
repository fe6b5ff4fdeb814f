package plan

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// field is an attribute of a spec.
type field struct {
	path   string
	forces Forces
	value  func(*session.Spec) any // a pointer to it
}

// fields are all attributes that are compared. Others change nothing.
var fields = []field{
	{"role", ForcesNothing, func(s *session.Spec) any { return &s.Role }},
	{"priority", ForcesNothing, func(s *session.Spec) any { return &s.Priority }},
	{"labels", ForcesNothing, func(s *session.Spec) any { return &s.Labels }},
	{"depends_on", ForcesNothing, func(s *session.Spec) any { return &s.DependsOn }},
	{"depends_on.until", ForcesNothing, func(s *session.Spec) any { return &s.Until }},
	{"desired", ForcesNothing, func(s *session.Spec) any { return &s.Desired }},
	{"timeout", ForcesNothing, func(s *session.Spec) any { return &s.Timeout }},
	{"finish", ForcesNothing, func(s *session.Spec) any { return &s.Finish }},

	{"limits.resume", ForcesNothing, func(s *session.Spec) any { return &s.Limits.Resume }},

	{"refresh.method", ForcesNothing, func(s *session.Spec) any { return &s.Refresh.Method }},
	{"refresh.on_conflict", ForcesNothing, func(s *session.Spec) any { return &s.Refresh.OnConflict }},
	{"verify.command", ForcesNothing, func(s *session.Spec) any { return &s.Verify.Command }},
	{"verify.timeout", ForcesNothing, func(s *session.Spec) any { return &s.Verify.Timeout }},
	{"verify.on_failure", ForcesNothing, func(s *session.Spec) any { return &s.Verify.OnFailure }},
	{"verify.rounds", ForcesNothing, func(s *session.Spec) any { return &s.Verify.Rounds }},
	{"verify.commit", ForcesNothing, func(s *session.Spec) any { return &s.Verify.Commit }},
	{"verify.clean", ForcesNothing, func(s *session.Spec) any { return &s.Verify.Clean }},
	{"verify.protect", ForcesNothing, func(s *session.Spec) any { return &s.Verify.Protect }},

	{"pr.checks", ForcesNothing, func(s *session.Spec) any { return &s.PR.Checks }},
	{"pr.reviews", ForcesNothing, func(s *session.Spec) any { return &s.PR.Reviews }},
	{"pr.rounds", ForcesNothing, func(s *session.Spec) any { return &s.PR.Rounds }},
	{"pr.from", ForcesNothing, func(s *session.Spec) any { return &s.PR.From }},

	{"agent", ForcesRestart, func(s *session.Spec) any { return &s.Agent.Name }},
	{"agent.base", ForcesRestart, func(s *session.Spec) any { return &s.Agent.Base }},
	{"agent.command", ForcesRestart, func(s *session.Spec) any { return &s.Agent.Command }},
	{"agent.permissions", ForcesRestart, func(s *session.Spec) any { return &s.Agent.Permissions }},
	{"agent.trust", ForcesRestart, func(s *session.Spec) any { return &s.Agent.Trust }},
	{"agent.env", ForcesRestart, func(s *session.Spec) any { return &s.Agent.Env }},
	{"agent.inherit_env", ForcesRestart, func(s *session.Spec) any { return &s.Agent.InheritEnv }},
	{"agent.prompt_via", ForcesNothing, func(s *session.Spec) any { return &s.Agent.PromptVia }},
	{"agent.ready", ForcesNothing, func(s *session.Spec) any { return &s.Agent.Ready }},
	{"agent.ready_timeout", ForcesNothing, func(s *session.Spec) any { return &s.Agent.ReadyTimeout }},
	{"agent.status_bar_lines", ForcesNothing, func(s *session.Spec) any { return &s.Agent.StatusBarLines }},
	{"agent.observable", ForcesNothing, func(s *session.Spec) any { return &s.Agent.Observable }},
	{"agent.unobserved_for", ForcesNothing, func(s *session.Spec) any { return &s.Agent.UnobservedFor }},
	{"agent.one_shot", ForcesNothing, func(s *session.Spec) any { return &s.Agent.OneShot }},
	{"agent.patterns", ForcesNothing, func(s *session.Spec) any { return &s.Agent.Patterns }},

	{"profile", ForcesRestart, func(s *session.Spec) any { return &s.Profile }},
	{"args", ForcesRestart, func(s *session.Spec) any { return &s.Args }},
	{"env", ForcesRestart, func(s *session.Spec) any { return &s.Env }},
	{"secrets", ForcesRestart, func(s *session.Spec) any { return &s.Secrets }},
	{"secret.kubernetes", ForcesReplace, func(s *session.Spec) any { return &s.SecretRefs }},
	{"inherit_env", ForcesRestart, func(s *session.Spec) any { return &s.InheritEnv }},
	{"telemetry.endpoint", ForcesRestart, func(s *session.Spec) any { return &s.Telemetry.Endpoint }},
	{"telemetry.prompts", ForcesRestart, func(s *session.Spec) any { return &s.Telemetry.Prompts }},
	{promptField, ForcesRestart, func(s *session.Spec) any { return &s.Prompt }},
	{"on_prompt_change", ForcesNothing, func(s *session.Spec) any { return &s.OnPromptChange }},
	{"conversation", ForcesRestart, func(s *session.Spec) any { return &s.Conversation }},

	{"branch", ForcesReplace, func(s *session.Spec) any { return &s.Branch }},
	{"workspace.mode", ForcesReplace, func(s *session.Spec) any { return &s.Workspace.Mode }},
	{"workspace.repo", ForcesReplace, func(s *session.Spec) any { return &s.Workspace.Repo }},
	{"workspace.repo_secret", ForcesReplace, func(s *session.Spec) any { return &s.Workspace.RepoSecret }},
	{"workspace.path", ForcesReplace, func(s *session.Spec) any { return &s.Workspace.Path }},
	{"workspace.base", ForcesNothing, func(s *session.Spec) any { return &s.Workspace.Base }},
	{"workspace.setup", ForcesNothing, func(s *session.Spec) any { return &s.Workspace.Setup }},
	{"workspace.on_destroy", ForcesNothing, func(s *session.Spec) any { return &s.Workspace.OnDestroy }},
	{"workspace.trust_git", ForcesReplace, func(s *session.Spec) any { return &s.Workspace.TrustGit }},
	{"runtime.kind", ForcesReplace, func(s *session.Spec) any { return &s.Runtime.Kind }},
	{"runtime.name", ForcesReplace, func(s *session.Spec) any { return &s.Runtime.Name }},
	{"runtime.socket", ForcesReplace, func(s *session.Spec) any { return &s.Runtime.Socket }},
	{dockerFields + "image", ForcesReplace, func(s *session.Spec) any { return &dockerOf(s).Image }},
	{dockerFields + "host", ForcesReplace, func(s *session.Spec) any { return &dockerOf(s).Host }},
	{dockerFields + "cert_path", ForcesNothing, func(s *session.Spec) any { return &dockerOf(s).CertPath }},
	{dockerFields + "cpus", ForcesReplace, func(s *session.Spec) any { return &dockerOf(s).CPUs }},
	{dockerFields + "memory", ForcesReplace, func(s *session.Spec) any { return &dockerOf(s).Memory }},
	{dockerFields + "pids", ForcesReplace, func(s *session.Spec) any { return &dockerOf(s).PIDs }},
	{dockerFields + "network", ForcesReplace, func(s *session.Spec) any { return &dockerOf(s).Network }},
	{dockerFields + "user", ForcesReplace, func(s *session.Spec) any { return &dockerOf(s).User }},
	{dockerFields + "env", ForcesRestart, func(s *session.Spec) any { return &dockerOf(s).Env }},
	{dockerFields + "mounts", ForcesReplace, func(s *session.Spec) any { return &dockerOf(s).Mounts }},
	{dockerFields + "read_only", ForcesReplace, func(s *session.Spec) any { return &dockerOf(s).ReadOnly }},
	{kubernetesFields + "context", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).Context }},
	{kubernetesFields + "namespace", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).Namespace }},
	{kubernetesFields + "image", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).Image }},
	{kubernetesFields + "image_pull_secrets", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).ImagePullSecrets }},
	{kubernetesFields + "cpus", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).CPUs }},
	{kubernetesFields + "memory", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).Memory }},
	{kubernetesFields + "resources.requests", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).Resources.Requests }},
	{kubernetesFields + "resources.limits", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).Resources.Limits }},
	{kubernetesFields + "storage.class", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).Storage.Class }},
	{kubernetesFields + "storage.size", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).Storage.Size }},
	{kubernetesFields + "node_selector", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).NodeSelector }},
	{kubernetesFields + "tolerations", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).Tolerations }},
	{kubernetesFields + "affinity", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).Affinity }},
	{kubernetesFields + "runtime_class", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).RuntimeClass }},
	{kubernetesFields + "service_account", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).ServiceAccount }},
	{kubernetesFields + "labels", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).Labels }},
	{kubernetesFields + "annotations", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).Annotations }},
	{kubernetesFields + "env", ForcesRestart, func(s *session.Spec) any { return &kubernetesOf(s).Env }},
	{kubernetesFields + "user", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).User }},
	{kubernetesFields + "read_only", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).ReadOnly }},
	{kubernetesFields + "network", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).Network }},
	{kubernetesFields + "volumes", ForcesReplace, func(s *session.Spec) any { return &kubernetesOf(s).Volumes }},
	{kubernetesFields + "schedule_timeout", ForcesNothing, func(s *session.Spec) any { return &kubernetesOf(s).ScheduleTimeout }},

	{"restart.policy", ForcesNothing, func(s *session.Spec) any { return &s.Restart.Policy }},
	{"restart.attempts", ForcesNothing, func(s *session.Spec) any { return &s.Restart.Attempts }},
	{"restart.window", ForcesNothing, func(s *session.Spec) any { return &s.Restart.Window }},
	{"restart.escalate_after", ForcesNothing, func(s *session.Spec) any { return &s.Restart.EscalateAfter }},
	{"restart.resume", ForcesNothing, func(s *session.Spec) any { return &s.Restart.Resume }},
	{"restart.backoff", ForcesNothing, func(s *session.Spec) any { return &s.Restart.Backoff }},
	{"health.interval", ForcesNothing, func(s *session.Spec) any { return &s.Health.Interval }},
	{"health.timeout", ForcesNothing, func(s *session.Spec) any { return &s.Health.Timeout }},
	{"health.start_period", ForcesNothing, func(s *session.Spec) any { return &s.Health.StartPeriod }},
	{"health.failures", ForcesNothing, func(s *session.Spec) any { return &s.Health.Failures }},
	{"health.hung_after", ForcesNothing, func(s *session.Spec) any { return &s.Health.HungAfter }},
	{"health.on_unhealthy", ForcesNothing, func(s *session.Spec) any { return &s.Health.OnUnhealthy }},
	{"health.heartbeat", ForcesNothing, func(s *session.Spec) any { return &s.Health.Heartbeat }},
	{"pause.mode", ForcesNothing, func(s *session.Spec) any { return &s.Pause.Mode }},
	{"stop.signal", ForcesNothing, func(s *session.Spec) any { return &s.Stop.Signal }},
	{"stop.grace", ForcesNothing, func(s *session.Spec) any { return &s.Stop.Grace }},
	{"stop.after_turn", ForcesNothing, func(s *session.Spec) any { return &s.Stop.AfterTurn }},
	{"lifecycle.prevent_destroy", ForcesNothing, func(s *session.Spec) any { return &s.Lifecycle.PreventDestroy }},
	{"lifecycle.ignore_changes", ForcesNothing, func(s *session.Spec) any { return &s.Lifecycle.IgnoreChanges }},
	{replaceTrigger, ForcesNothing, func(s *session.Spec) any { return &s.Lifecycle.ReplaceTrigger }},
}

const promptField = "prompt"

const dockerFields = "runtime.docker."

func dockerOf(s *session.Spec) *session.DockerConfig {
	if s.Runtime.Docker == nil {
		return &session.DockerConfig{}
	}
	return s.Runtime.Docker
}

const kubernetesFields = "runtime.kubernetes."

func kubernetesOf(s *session.Spec) *session.KubernetesConfig {
	if s.Runtime.Kubernetes == nil {
		return &session.KubernetesConfig{}
	}
	return s.Runtime.Kubernetes
}

// Fields returns every compared field, as ignore_changes and JSON name it, and how
// far a change reaches. The first value of replace_triggered_by only has to be
// recorded.
func Fields() map[string]Forces {
	all := make(map[string]Forces, len(fields))
	for _, f := range fields {
		all[f.path] = f.forces
	}
	all[replaceTrigger] = ForcesReplace
	return all
}

// replaceTrigger is the field that changes with values of others.
const replaceTrigger = "lifecycle.replace_triggered_by"

// compare lists the fields in which the specs differ, and their furthest reach.
// Changes of the noted fields only have to be recorded.
func compare(before, after *session.Spec, noted ...string) (changed []Field, reach Forces) {
	reach = ForcesNothing
	docker := before.Runtime.Docker != nil || after.Runtime.Docker != nil
	kubernetes := before.Runtime.Kubernetes != nil || after.Runtime.Kubernetes != nil
	for _, f := range fields {
		if !docker && strings.HasPrefix(f.path, dockerFields) || !kubernetes && strings.HasPrefix(f.path, kubernetesFields) {
			continue
		}
		if equal(f.value(before), f.value(after)) {
			continue
		}
		b, a := shown(f.value(before)), shown(f.value(after))
		forces := f.forces
		if f.path == replaceTrigger && b != "" {
			forces = ForcesReplace
		}
		if slices.Contains(noted, f.path) || f.path == promptField && after.OnPromptChange != session.PromptRestarts {
			forces = ForcesNothing
		}
		changed = append(changed, Field{Path: f.path, Before: b, After: a, Forces: forces})
		if reach == ForcesNothing || forces == ForcesReplace {
			reach = forces
		}
	}
	return changed, reach
}

func made(s *session.Spec) []Field {
	fields, _ := compare(&session.Spec{}, s)
	for i := range fields {
		fields[i].Before, fields[i].Forces = nil, ForcesNothing
	}
	return fields
}

// shown returns a field's value as compared and printed: the digest of a prompt.
func shown(field any) any {
	switch v := field.(type) {
	case *session.Prompt:
		return v.Digest
	case *session.PromptChange:
		return cmp.Or(*v, "restart")
	}
	return reflect.ValueOf(field).Elem().Interface()
}

// equal compares the values of two pointers. An empty list or map equals a missing one.
func equal(a, b any) bool {
	if p, ok := a.(*session.Prompt); ok {
		return p.Digest == b.(*session.Prompt).Digest
	}
	va, vb := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	switch k := va.Kind(); {
	case k <= reflect.Float64 || k == reflect.String:
		return va.Equal(vb)
	case (k == reflect.Slice || k == reflect.Map) && va.Len() == 0 && vb.Len() == 0:
		return true
	}
	return reflect.DeepEqual(va.Interface(), vb.Interface())
}

// keepIgnored returns the wanted spec with the recorded values of ignored fields,
// so that the same is compared, launched and recorded.
func keepIgnored(before, after *session.Spec) *session.Spec {
	if len(after.Lifecycle.IgnoreChanges) == 0 {
		return after
	}
	kept, old := *after, *before
	if kept.Runtime.Docker != nil { // it is every session's that names the block
		docker := *kept.Runtime.Docker
		kept.Runtime.Docker = &docker
	}
	if kept.Runtime.Kubernetes != nil {
		kubernetes := *kept.Runtime.Kubernetes
		kept.Runtime.Kubernetes = &kubernetes
	}
	for _, f := range fields {
		if ignored(f.path, after.Lifecycle.IgnoreChanges) {
			reflect.ValueOf(f.value(&kept)).Elem().Set(reflect.ValueOf(f.value(&old)).Elem())
		}
	}
	return &kept
}

// ignored reports whether an ignore_changes list has a field or its block. The
// lifecycle block is never ignored.
func ignored(path string, ignore []string) bool {
	if strings.HasPrefix(path, "lifecycle.") {
		return false
	}
	return slices.ContainsFunc(ignore, func(i string) bool {
		return i == "all" || path == i || strings.HasPrefix(path, i+".")
	})
}
