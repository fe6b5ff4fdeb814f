package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/language"
	"github.com/agentform/agentform/internal/reach"
	"github.com/agentform/agentform/session"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// The forms of Kubernetes' names and quantities.
var (
	dnsName       = lazily(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	dnsLabel      = lazily(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	qualifiedName = lazily(`^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
	labelValue    = lazily(`^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$`)
	quantity      = lazily(`^\d+(\.\d+)?([EPTGMk]i?|Ki|m|[eE]\d+)?$`)
)

// lazily compiles a pattern when it is first used: most manifests have no such block.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

func readKubernetes(d reader, b *expr.Block) *session.KubernetesConfig {
	c := new(session.KubernetesConfig)
	*c = *defaults().Runtime.Kubernetes
	decode(d, b, language.RuntimeBlock().Kind("kubernetes"), &session.Spec{Runtime: session.RuntimeSpec{Kubernetes: c}})
	d.Require(b, "image", `image = "registry.example/agents:1"`)
	if strings.HasPrefix(c.Image, "-") || strings.ContainsAny(c.Image, " \t\n") {
		d.Fail(b.Attr("image"), "Invalid image", "%q is not a valid image name.", expr.Cut(c.Image))
	}
	named := func(name string, form func() *regexp.Regexp, given string) {
		if given != "" && !form().MatchString(given) {
			d.Fail(b.Attr(name), "Invalid name", "%q must be a name in Kubernetes: lower-case letters, digits and dashes, not %q.", name, expr.Cut(given))
		}
	}
	named("namespace", dnsLabel, c.Namespace)
	named("runtime_class", dnsName, c.RuntimeClass)
	named("service_account", dnsName, c.ServiceAccount)
	named("priority_class", dnsName, c.PriorityClass)
	for _, name := range c.ImagePullSecrets {
		if !dnsName().MatchString(name) {
			d.Fail(b.Attr("image_pull_secrets"), "Invalid name", "%q is not the name of a secret in Kubernetes.", expr.Cut(name))
			break
		}
	}
	checkQualified(d, b, "node_selector", true, c.NodeSelector)
	checkQualified(d, b, "labels", true, c.Labels)
	checkQualified(d, b, "annotations", false, c.Annotations)
	uid, _, _ := strings.Cut(c.User, ":")
	switch {
	case !userForm.MatchString(c.User):
		d.Fail(b.Attr("user"), "Invalid user", `%q is not a user id, use numbers like "1000:1000".`, expr.Cut(c.User))
	case strings.Trim(uid, "0") == "":
		d.Fail(b.Attr("user"), "Invalid user", "A pod does not run as root. Use another user id; the image has to let it run the agent.")
	}
	readTolerations(d, b, &c.Tolerations)
	readAffinity(d, b, &c.Affinity)
	readPod(d, b, c)
	readVolumes(d, b, &c.Volumes)
	if c.Storage.Class != "" && !dnsName().MatchString(c.Storage.Class) {
		d.Fail(b.Block("storage").Attr("class"), "Invalid name", "%q is not the name of a StorageClass.", expr.Cut(c.Storage.Class))
	}
	if len(c.NetworkAllow) > 0 && c.Network == session.NetworkOpen {
		d.Fail(b.Attr("network_allow"), "Network without a limit", "network = \"open\" allows everything: network_allow is for \"none\" and \"restricted\".")
	}
	for _, text := range c.NetworkAllow {
		if r, err := reach.Parse(text); err != nil {
			d.Fail(b.Attr("network_allow"), "Invalid destination", "%v.", err)
		} else if r.Namespace != "" && !dnsLabel().MatchString(r.Namespace) {
			d.Fail(b.Attr("network_allow"), "Invalid name", "%q is not the name of a namespace.", expr.Cut(r.Namespace))
		}
	}
	checkQuantities(d, b.Block("resources"), "requests", c.Resources.Requests)
	checkQuantities(d, b.Block("resources"), "limits", c.Resources.Limits)
	return c
}

// ownLabels begins the labels and annotations that agentform sets itself.
const ownLabels = "agentform."

func checkQualified(d reader, b *expr.Block, name string, labels bool, given map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(given)) {
		switch v := given[k]; {
		case !qualifiedName().MatchString(k):
			d.Fail(b.Attr(name), "Invalid name", "%q in %q is not a name of a label or annotation in Kubernetes.", expr.Cut(k), name)
			return
		case labels && !labelValue().MatchString(v):
			d.Fail(b.Attr(name), "Invalid value", "%q is not the value of a label: at most 63 letters, digits, dashes, dots and underscores.", expr.Cut(v))
			return
		case strings.HasPrefix(k, ownLabels) && name != "node_selector":
			d.Fail(b.Attr(name), "Reserved name", "%q is agentform's own: use another name.", expr.Cut(k))
			return
		}
	}
}

func checkQuantities(d reader, b *expr.Block, name string, given map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(given)) {
		if v := given[k]; !qualifiedName().MatchString(k) || !quantity().MatchString(v) {
			d.Fail(b.Attr(name), "Invalid quantity", "%s = %q is not a quantity in Kubernetes: like cpu = \"500m\" or memory = \"2Gi\".", expr.Cut(k), expr.Cut(v))
			return
		}
	}
}

// objects decodes a list of objects with none but the attributes of a type, which conversions drop.
// Messages call the place of an unknown one within, and the list described.
func objects(d reader, b *expr.Block, name, within string, typ cty.Type, described string) (all []cty.Value, a *expr.Attr, ok bool) {
	if a = b.Attr(name); a == nil {
		return nil, nil, false
	}
	known := slices.Sorted(maps.Keys(typ.AttributeTypes()))
	if given, ok := d.Evaluate(a); ok && !given.IsNull() && given.IsKnown() && !given.IsMarked() && given.CanIterateElements() {
		for it := given.ElementIterator(); it.Next(); {
			_, e := it.Element()
			if !e.Type().IsObjectType() {
				continue
			}
			for _, attribute := range slices.Sorted(maps.Keys(e.Type().AttributeTypes())) {
				if !slices.Contains(known, attribute) {
					d.Fail(a, "Unknown attribute", "There is no attribute %q in %s, only %s.%s", attribute, within, expr.Quoted(known, "and"), expr.DidYouMean(attribute, known))
					return nil, a, false
				}
			}
		}
	}
	v, _, ok := d.Value(b, name, cty.List(typ), described)
	if !ok {
		return nil, a, false
	}
	return v.AsValueSlice(), a, true
}

// optional returns the type of objects that may lack any of the attributes.
func optional(of map[string]cty.Type) cty.Type {
	return cty.ObjectWithOptionalAttrs(of, slices.Collect(maps.Keys(of)))
}

// decodeObject reads an object of texts and booleans into a struct whose JSON has the same names.
func decodeObject(v cty.Value, into any) {
	text, _ := ctyjson.Marshal(v, v.Type())
	_ = json.Unmarshal(text, into)
}

func readTolerations(d reader, b *expr.Block, into *[]session.Toleration) {
	text := cty.String
	all, a, ok := objects(d, b, "tolerations", "tolerations", optional(map[string]cty.Type{"key": text, "operator": text, "value": text, "effect": text}),
		`a list like [{ key = "agents", operator = "Exists" }]`)
	if !ok {
		return
	}
	for _, v := range all {
		var t session.Toleration
		decodeObject(v, &t)
		switch {
		case !slices.Contains([]string{"", "Equal", "Exists"}, t.Operator):
			d.Fail(a, "Invalid toleration", `The operator of a toleration is "Equal" or "Exists", not %q.`, expr.Cut(t.Operator))
			return
		case !slices.Contains([]string{"", "NoSchedule", "PreferNoSchedule", "NoExecute"}, t.Effect):
			d.Fail(a, "Invalid toleration", `The effect of a toleration is "NoSchedule", "PreferNoSchedule" or "NoExecute", not %q.`, expr.Cut(t.Effect))
			return
		case t.Key == "" && t.Operator != "Exists", t.Operator == "Exists" && t.Value != "", t.Key != "" && !qualifiedName().MatchString(t.Key):
			d.Fail(a, "Invalid toleration", `A toleration has a key, and with the operator "Exists" no value. Without a key its operator is "Exists".`)
			return
		}
		*into = append(*into, t)
	}
}

// readObject reads an attribute that is an object, as JSON.
func readObject(d reader, b *expr.Block, name string) (a *expr.Attr, text string, fields map[string]any) {
	if a = b.Attr(name); a == nil {
		return nil, "", nil
	}
	v, ok := d.Evaluate(a)
	if !ok || !d.Plain(a, v) || v.IsNull() {
		return nil, "", nil
	}
	j, err := ctyjson.Marshal(v, v.Type())
	if err != nil || json.Unmarshal(j, &fields) != nil {
		d.Fail(a, "Invalid "+name, "It must be an object, as in a pod's spec.")
		return nil, "", nil
	}
	return a, string(j), fields
}

func readAffinity(d reader, b *expr.Block, into *string) {
	a, text, affinity := readObject(d, b, "affinity")
	known := []string{"nodeAffinity", "podAffinity", "podAntiAffinity"}
	for name := range affinity {
		if !slices.Contains(known, name) {
			d.Fail(a, "Invalid affinity", "It must be an object with %s, as in a pod's spec.", expr.Quoted(known, "and"))
			return
		}
	}
	*into = text
}

// The fields of a pod, of the container named session and of volumes that agentform depends on.
var (
	ownPodFields = map[string]string{
		"restartPolicy": "the cluster restarts the container", "automountServiceAccountToken": "no token is ever mounted",
		"activeDeadlineSeconds": "use timeout", "terminationGracePeriodSeconds": "use stop.grace", "ephemeralContainers": "a StatefulSet has none",
	}
	ownContainerFields = map[string]string{
		"image": "use image", "command": "it starts agentform's init", "args": "it starts agentform's init", "workingDir": "use workspace",
		"ports": "agentform's init has one", "startupProbe": "it asks agentform's init", "readinessProbe": "it asks agentform's init",
		"livenessProbe": "a restart of the container ends the agent",
	}
	ownVolumes = []string{"session", "run"}
)

// readPod reads further fields of the pod.
func readPod(d reader, b *expr.Block, c *session.KubernetesConfig) {
	a, text, pod := readObject(d, b, "pod")
	var refused []string
	refuse := func(name, why string) { refused = append(refused, fmt.Sprintf("%s (%s)", name, why)) }
	own := func(fields map[string]any, reserved map[string]string, within string) {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if why, is := reserved[name]; is {
				refuse(within+name, why)
			}
		}
	}
	elements := func(of map[string]any, within, list string, check func(name string, x map[string]any)) {
		given, is := of[list]
		if !is {
			return
		}
		all, named := given.([]any)
		for _, x := range all {
			element, _ := x.(map[string]any)
			name, _ := element["name"].(string)
			named = named && name != ""
			check(name, element)
		}
		if !named {
			refuse(within+list, "it must be a list of objects with names")
		}
	}
	volume := func(within string) func(string, map[string]any) {
		return func(name string, _ map[string]any) {
			if slices.Contains(ownVolumes, name) {
				refuse(within+name, "the volume is agentform's")
			}
		}
	}
	own(pod, ownPodFields, "")
	elements(pod, "", "volumes", volume("volumes "))
	elements(pod, "", "containers", func(name string, x map[string]any) {
		if name == "session" {
			const within = "containers session "
			own(x, ownContainerFields, within)
			elements(x, within, "env", func(string, map[string]any) {})
			elements(x, within, "volumeMounts", volume("volumeMounts "))
		}
	})
	if pod["hostNetwork"] == true && c.Network != session.NetworkOpen {
		refuse("hostNetwork", fmt.Sprintf("network = %q does not limit a pod with the node's network", c.Network))
	}
	if len(refused) > 0 {
		d.Fail(a, "Reserved field", "A pod cannot have %s.", strings.Join(refused, ", "))
	}
	c.Pod = text
}

func readVolumes(d reader, b *expr.Block, into *[]session.PodVolume) {
	text := cty.String
	all, a, ok := objects(d, b, "volumes", "volumes", optional(map[string]cty.Type{"target": text, "claim": text, "secret": text, "config_map": text, "read_only": cty.Bool}),
		`a list like [{ secret = "npm", target = "/etc/npm" }]`)
	if !ok {
		return
	}
	taken := map[string]bool{}
	for _, e := range all {
		var v session.PodVolume
		decodeObject(e, &v)
		given := slices.DeleteFunc([]string{v.Claim, v.Secret, v.ConfigMap}, func(s string) bool { return s == "" })
		clean := path.Clean(v.Target)
		switch {
		case len(given) != 1:
			d.Fail(a, "Invalid volume", "Each volume has exactly one of claim, secret and config_map.")
			return
		case !dnsName().MatchString(given[0]):
			d.Fail(a, "Invalid volume", "%q is not a name in Kubernetes.", expr.Cut(given[0]))
			return
		case !path.IsAbs(v.Target) || strings.Contains(v.Target, ":") || slices.Contains([]string{"/", "/tmp", "/run/agentform", path.Dir(session.RepoSecretFile)}, clean), clean == session.VolumeRoot, strings.HasPrefix(clean, session.VolumeRoot+"/"):
			d.Fail(a, "Invalid volume", "%q cannot be a volume's target, which must be an absolute path in the pod that is not agentform's own.", expr.Cut(v.Target))
			return
		case taken[clean]:
			d.Fail(a, "Invalid volume", "Two volumes have the target %q.", expr.Cut(v.Target))
			return
		}
		taken[clean] = true
		v.Target = clean
		*into = append(*into, v)
	}
}
