package plan

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/agentform/agentform/internal/language"
	"github.com/agentform/agentform/session"
)

// field is an attribute of a spec.
type field struct {
	path   string
	forces Forces
	value  func(*session.Spec) any // a pointer to it
}

// order is how plans list fields: by the place of the longest word here that a path starts with.
// A saved plan is compared by it, too. Others follow as the table of attributes has them.
const order = `role priority labels depends_on desired timeout finish limits. refresh. verify. pr.
	agent agent.base agent.command agent.permissions agent.trust agent.env agent.inherit_env agent.
	profile args env secrets secret. inherit_env telemetry. prompt on_prompt_change conversation
	branch workspace. runtime.kind runtime.name runtime.socket runtime.
	runtime.kubernetes.context runtime.kubernetes.namespace runtime.kubernetes.image runtime.kubernetes.cpus
	runtime.kubernetes.memory runtime.kubernetes.resources. runtime.kubernetes.storage. runtime.kubernetes.
	restart. health. pause. stop. lifecycle.`

// fields returns all attributes that are compared. Others change nothing.
var fields = sync.OnceValue(func() []field {
	var all []field
	for _, c := range language.AllCompared() {
		all = append(all, field{c.Path, Forces(c.Forces), c.Field})
	}
	words := strings.Fields(order)
	place := func(f field) int {
		best := len(words)
		for i, w := range words {
			if strings.HasPrefix(f.path, w) && (best == len(words) || len(w) > len(words[best])) {
				best = i
			}
		}
		return best
	}
	slices.SortStableFunc(all, func(a, b field) int { return cmp.Compare(place(a), place(b)) })
	return all
})

const promptField = "prompt"

const dockerFields = "runtime.docker."

const kubernetesFields = "runtime.kubernetes."

// Fields returns every compared field, as ignore_changes and JSON name it, and how
// far a change reaches.
func Fields() map[string]Forces {
	all := make(map[string]Forces, len(fields()))
	for _, f := range fields() {
		all[f.path] = f.forces
	}
	return all
}

// replaceTrigger is the field that changes with values of others.
const replaceTrigger = "lifecycle.replace_triggered_by"

// compare lists the fields in which the specs differ, and their furthest reach.
// Changes of the noted fields, and the first value of replace_triggered_by, only have to be
// recorded.
func compare(before, after *session.Spec, noted ...string) (changed []Field, reach Forces) {
	reach = ForcesNothing
	docker := before.Runtime.Docker != nil || after.Runtime.Docker != nil
	kubernetes := before.Runtime.Kubernetes != nil || after.Runtime.Kubernetes != nil
	for _, f := range fields() {
		if !docker && strings.HasPrefix(f.path, dockerFields) || !kubernetes && strings.HasPrefix(f.path, kubernetesFields) {
			continue
		}
		if equal(f.value(before), f.value(after)) {
			continue
		}
		b, a := shown(f.value(before)), shown(f.value(after))
		forces := f.forces
		if slices.Contains(noted, f.path) || f.path == replaceTrigger && b == "" || f.path == promptField && after.OnPromptChange != session.PromptRestarts {
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
	case *[]session.AgentSpec: // their variables may be secrets
		names := make([]string, len(*v))
		for i, a := range *v {
			names[i] = a.Name
		}
		return names
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
	for _, f := range fields() {
		if after.Lifecycle.Ignores(f.path) {
			reflect.ValueOf(f.value(&kept)).Elem().Set(reflect.ValueOf(f.value(&old)).Elem())
		}
	}
	return &kept
}
