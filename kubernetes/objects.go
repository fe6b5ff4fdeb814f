package kubernetes

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

const (
	// containerName is the name of the container of a session's pod.
	containerName = "session"
	// volumeName is the name of the volume in a pod's spec.
	volumeName = "session"
	// statusPort is the port of the init's status, for the kubelet alone.
	statusPort = 4190
	// DefaultUser is the user and group of pods.
	DefaultUser = "1000:1000"
	// DefaultStorage is the size of a volume, in bytes.
	DefaultStorage = 10 << 30
	// DefaultAccessMode is the access mode of a volume.
	DefaultAccessMode = "ReadWriteOncePod"
	// labelArch is the label of a node with its architecture.
	labelArch = "kubernetes.io/arch"
	// nameLimit is the longest name of a StatefulSet: a pod's label has it with a dash and a hash
	// of 10 characters, in 63.
	nameLimit = 52
)

// objectName returns the name of a session as the name of a StatefulSet: at most 52 lower
// case letters, digits and dashes.
func objectName(name string) string {
	slug := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(name), "-"), "-")
	if slug == name && len(slug) <= nameLimit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "s-" + strings.TrimRight(slug[:min(len(slug), nameLimit-9)], "-") + "-" + hex.EncodeToString(sum[:3])
}

var labelForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
})

// labelValue returns a text as the value of a label: itself if it is valid, else a digest.
func labelValue(text string) string {
	if labelForm().MatchString(text) {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + hex.EncodeToString(sum[:16])
}

func podName(set string) string { return set + "-0" }

// claimOf returns the name of the claim with a workspace.
func (c Config) claimOf(dir string) string { return contained.Volume(c.Lineage, dir) }

// rootOf returns where the volume of a workspace is mounted.
func rootOf(dir string) (layout.Data, error) {
	root, err := contained.OnVolume(dir)
	if err != nil {
		err = fmt.Errorf("kubernetes: %w", err)
	}
	return root, err
}

// claim returns the claim of a workspace.
func (c Config) claim(m session.Mark, s session.Spec, dir, branch string) *unstructured.Unstructured {
	k := settings(s)
	annotations := object{annotationAddress: string(m.Address), annotationPath: dir, annotationBranch: branch}
	storage := object{
		"accessModes": []any{cmp.Or(k.Storage.AccessMode, DefaultAccessMode)},
		"resources":   object{"requests": object{"storage": strconv.FormatInt(cmp.Or(k.Storage.Size, DefaultStorage), 10)}},
	}
	if k.Storage.Class != "" {
		storage["storageClassName"] = k.Storage.Class
	}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim",
		"metadata": object{"name": c.claimOf(dir), "labels": texts(identity(m)), "annotations": annotations}, "spec": storage,
	}}
}

type object = map[string]any

// texts converts texts to an object.
func texts(of map[string]string) object {
	all := make(object, len(of))
	for k, v := range of {
		all[k] = v
	}
	return all
}

// settings returns the block of the session's runtime.
func settings(s session.Spec) session.KubernetesConfig {
	if s.Runtime.Kubernetes == nil {
		return session.KubernetesConfig{}
	}
	return *s.Runtime.Kubernetes
}

// identity returns the labels that select a session's objects.
func identity(m session.Mark) map[string]string {
	return map[string]string{
		labelProject: labelValue(m.Project), labelID: labelValue(m.ID), "app.kubernetes.io/managed-by": "agentform",
	}
}

// labelsOf returns the labels of a session's StatefulSet and pod.
func labelsOf(m session.Mark, c session.KubernetesConfig, claim string) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, c.Labels)
	maps.Copy(labels, identity(m))
	labels[labelVolume] = labelValue(claim)
	return labels
}

// setOf returns the StatefulSet of a session with a claim.
func setOf(l session.Launch, k record, claim string) (*unstructured.Unstructured, error) {
	text, err := k.text()
	if err != nil {
		return nil, err
	}
	c := settings(l.Spec)
	spec, err := podSpec(c, k.Root, claim, k.Arch)
	if err != nil {
		return nil, err
	}
	mountRepoSecret(spec, l.Spec)
	spec["terminationGracePeriodSeconds"] = int64(contained.KillAfter(l.Stop))
	main := spec["containers"].([]any)[0].(object)
	main["command"] = []any{"sh", "-c", waitForProgram, "sh", k.Program, shim.PodMode, shim.InitFolder, strconv.Itoa(statusPort)}
	main["env"] = append(main["env"].([]any), secretRefs(l.Spec)...)
	main["ports"] = []any{object{"name": "status", "containerPort": int64(statusPort)}}
	main["startupProbe"] = probe("/started", 1<<20) // the program may arrive late over a slow connection
	main["readinessProbe"] = probe("/alive", 1)
	labels := labelsOf(l.Mark, c, claim)
	annotations := map[string]string{}
	maps.Copy(annotations, c.Annotations)
	annotations[annotationAddress], annotations[annotationHash] = string(l.Mark.Address), l.Mark.Hash
	own := texts(annotations)
	own[annotationRecord] = text
	pod := texts(noEviction)
	maps.Copy(pod, texts(annotations))
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "apps/v1", "kind": "StatefulSet",
		"metadata": object{"name": objectName(l.Name), "labels": texts(labels), "annotations": own},
		"spec": object{
			"replicas": int64(1), "serviceName": objectName(l.Name), "podManagementPolicy": "Parallel", "revisionHistoryLimit": int64(1),
			"selector": object{"matchLabels": texts(identity(l.Mark))},
			"template": object{"metadata": object{"labels": texts(labels), "annotations": pod}, "spec": spec},
		},
	}}, nil
}

// noEviction are annotations of pods that keep autoscalers of nodes from ending an agent at work
// (github.com/kubernetes/autoscaler, cluster-autoscaler/FAQ.md; karpenter.sh/docs/concepts/disruption).
var noEviction = map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true"}

// secretRefs returns the variables of secrets that are in the cluster, sorted.
func secretRefs(s session.Spec) (env []any) {
	for _, name := range slices.Sorted(maps.Keys(s.SecretRefs)) {
		if name == s.Workspace.RepoSecret {
			continue // it is a file
		}
		r := s.SecretRefs[name]
		env = append(env, object{"name": name, "valueFrom": object{"secretKeyRef": object{"name": r.Name, "key": r.Key}}})
	}
	return env
}

// programAt is the index of the program's path in the command of a session's container.
const programAt = 4

// waitForProgram waits until the program named by its first argument exists, then executes it. It
// removes a program for another machine: the volume moved to a node of another architecture.
const waitForProgram = `trap 'exit 0' TERM INT; [ ! -e "$1" ] || [ -e "$1-$(uname -m)" ] || rm -f "$1"
until [ -x "$1" ]; do sleep 0.1 || sleep 1; done; exec "$@"`

func probe(path string, failures int64) object {
	return object{
		"httpGet":       object{"path": path, "port": int64(statusPort)},
		"periodSeconds": int64(1), "timeoutSeconds": int64(3), "failureThreshold": failures,
	}
}

// podSpec returns the pod of a session with its volume at root, on nodes of an architecture unless
// arch is empty. It meets Kubernetes' restricted Pod Security Standard.
func podSpec(c session.KubernetesConfig, root, claim, arch string) (object, error) {
	user, group, ok := strings.Cut(cmp.Or(c.User, DefaultUser), ":")
	if !ok {
		group = user
	}
	uid, err := strconv.ParseInt(user, 10, 64)
	gid, err2 := strconv.ParseInt(group, 10, 64)
	if err != nil || err2 != nil {
		return nil, fmt.Errorf("kubernetes: invalid user %q", c.User)
	}
	mounts := []any{
		object{"name": volumeName, "mountPath": root},
		object{"name": "run", "mountPath": shim.InitFolder},
		object{"name": "tmp", "mountPath": "/tmp"},
	}
	volumes := []any{
		object{"name": volumeName, "persistentVolumeClaim": object{"claimName": claim}},
		object{"name": "run", "emptyDir": object{"medium": "Memory", "sizeLimit": "16Mi"}},
		object{"name": "tmp", "emptyDir": tmpOf(c)},
	}
	for i, v := range c.Volumes {
		name := fmt.Sprintf("volume-%d", i)
		source := object{"name": name}
		switch {
		case v.Claim != "":
			source["persistentVolumeClaim"] = readOnly(object{"claimName": v.Claim}, v.ReadOnly)
		case v.Secret != "":
			source["secret"] = object{"secretName": v.Secret, "defaultMode": int64(0o440)}
		default:
			source["configMap"] = object{"name": v.ConfigMap}
		}
		volumes = append(volumes, source)
		mounts = append(mounts, readOnly(object{"name": name, "mountPath": v.Target}, v.ReadOnly || v.Claim == ""))
	}
	main := object{
		"name": containerName, "image": c.Image,
		"env":                      []any{object{"name": "HOME", "value": path.Join(root, "home")}},
		"volumeMounts":             mounts,
		"terminationMessagePolicy": "FallbackToLogsOnError",
		"securityContext": object{
			"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": c.ReadOnly,
			"capabilities": object{"drop": []any{"ALL"}},
		},
	}
	if r := resources(c); len(r) > 0 {
		main["resources"] = r
	}
	spec := object{
		"automountServiceAccountToken": false, "enableServiceLinks": false,
		"securityContext": object{
			"runAsNonRoot": true, "runAsUser": uid, "runAsGroup": gid, "fsGroup": gid,
			"fsGroupChangePolicy": "OnRootMismatch", "seccompProfile": object{"type": "RuntimeDefault"},
		},
		"nodeSelector": nodeSelector(c, arch),
		"containers":   []any{main}, "volumes": volumes,
	}
	if c.ImagePullPolicy != "" {
		main["imagePullPolicy"] = c.ImagePullPolicy
	}
	for name, value := range map[string]string{"runtimeClassName": c.RuntimeClass, "serviceAccountName": c.ServiceAccount, "priorityClassName": c.PriorityClass} {
		if value != "" {
			spec[name] = value
		}
	}
	if len(c.ImagePullSecrets) > 0 {
		var all []any
		for _, name := range c.ImagePullSecrets {
			all = append(all, object{"name": name})
		}
		spec["imagePullSecrets"] = all
	}
	if len(c.Tolerations) > 0 {
		var all []any
		for _, t := range c.Tolerations {
			one := object{}
			for key, value := range map[string]string{"key": t.Key, "operator": t.Operator, "value": t.Value, "effect": t.Effect} {
				if value != "" {
					one[key] = value
				}
			}
			all = append(all, one)
		}
		spec["tolerations"] = all
	}
	if c.Affinity != "" {
		var affinity object
		if err := json.Unmarshal([]byte(c.Affinity), &affinity); err != nil {
			return nil, fmt.Errorf("kubernetes: affinity: %w", err)
		}
		spec["affinity"] = affinity
	}
	if c.Pod != "" {
		var further object
		if err := json.Unmarshal([]byte(c.Pod), &further); err != nil {
			return nil, fmt.Errorf("kubernetes: pod: %w", err)
		}
		spec = overlay(spec, further).(object)
	}
	return spec, nil
}

// overlay returns a value with the fields of another one: objects are merged by key, and lists of named
// elements by name. Other lists are replaced. Null removes a field.
func overlay(under, over any) any {
	switch o := over.(type) {
	case object:
		u, _ := under.(object)
		all := object{}
		maps.Copy(all, u)
		for name, value := range o {
			if value == nil {
				delete(all, name)
			} else {
				all[name] = overlay(all[name], value)
			}
		}
		return all
	case []any:
		u, _ := under.([]any)
		if slices.ContainsFunc(slices.Concat(u, o), func(e any) bool { return nameOf(e) == "" }) {
			return over
		}
		all := slices.Clone(u)
		for _, e := range o {
			if i := slices.IndexFunc(all, func(x any) bool { return nameOf(x) == nameOf(e) }); i >= 0 {
				all[i] = overlay(all[i], e)
			} else {
				all = append(all, overlay(nil, e))
			}
		}
		return all
	}
	return over
}

// tmpOf returns the volume of /tmp.
func tmpOf(c session.KubernetesConfig) object {
	if c.TmpSize == 0 {
		return object{}
	}
	return object{"sizeLimit": strconv.FormatInt(c.TmpSize, 10)}
}

// readOnly makes a volume or a mount read-only. The API server drops a value of false.
func readOnly(o object, is bool) object {
	if is {
		o["readOnly"] = true
	}
	return o
}

// nodeSelector adds to the manifest's selector which nodes can run the shim.
func nodeSelector(c session.KubernetesConfig, arch string) object {
	all := map[string]string{"kubernetes.io/os": "linux"}
	if arch != "" {
		all[labelArch] = arch
	}
	maps.Copy(all, c.NodeSelector)
	return texts(all)
}

// mountRepoSecret mounts the secret of the workspace's repository in the container of a pod, if the
// secret is in the cluster.
func mountRepoSecret(spec object, s session.Spec) {
	ref, ok := s.SecretRefs[s.Workspace.RepoSecret]
	if !ok {
		return
	}
	main := spec["containers"].([]any)[0].(object)
	main["volumeMounts"] = append(main["volumeMounts"].([]any), object{"name": "repo-secret", "mountPath": path.Dir(session.RepoSecretFile), "readOnly": true})
	spec["volumes"] = append(spec["volumes"].([]any), object{"name": "repo-secret", "secret": object{
		"secretName": ref.Name, "defaultMode": int64(0o440),
		"items": []any{object{"key": ref.Key, "path": path.Base(session.RepoSecretFile)}},
	}})
}

// resources returns a container's requests and limits: both are cpus and memory unless
// the block resources says otherwise.
func resources(c session.KubernetesConfig) object {
	usual := map[string]string{}
	if c.CPUs > 0 {
		usual["cpu"] = strconv.FormatInt(int64(math.Round(c.CPUs*1000)), 10) + "m"
	}
	if c.Memory > 0 {
		usual["memory"] = strconv.FormatInt(c.Memory, 10)
	}
	all := object{}
	for name, given := range map[string]map[string]string{"requests": c.Resources.Requests, "limits": c.Resources.Limits} {
		values := maps.Clone(usual)
		maps.Copy(values, given)
		if len(values) > 0 {
			all[name] = texts(values)
		}
	}
	return all
}
