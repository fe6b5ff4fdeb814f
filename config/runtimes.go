package config

import (
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// readRuntimes evaluates the runtime blocks.
func readRuntimes(l *loader) map[string]session.RuntimeSpec {
	all := map[string]session.RuntimeSpec{} // by key
	first := map[string]*block{}
	for _, b := range l.blocks["runtime"] {
		spec := session.RuntimeSpec{Kind: b.labels[0], Name: b.labels[1]}
		if b.broken && b.attrs == nil {
			continue // of no known kind
		}
		if !identifier(spec.Name) {
			l.fail(b.labelRanges[1], "Invalid name", "%q cannot name a runtime: a name starts with a letter or underscore, and holds only letters, digits, underscores and dashes.", spec.Name)
			continue
		}
		if other := first[spec.Key()]; other != nil {
			l.fail(b.def, "Duplicate runtime", "%s stands at %s already; each needs a name of its own.", b.title(), place(other.def))
			continue
		}
		first[spec.Key()] = b
		l.checkAll(b, inProject)
		d := l.reader(l.ctx)
		switch spec.Kind {
		case "docker":
			spec.Docker = readDocker(d, b)
		case "tmux":
			spec.Socket = readSocket(d, b)
		}
		all[spec.Key()] = spec
	}
	return all
}

// readSocket is which tmux server a runtime block means: a name, or an absolute path.
func readSocket(d reader, b *block) string {
	var socket string
	switch {
	case !d.word(b, "socket", &socket):
		d.require(b, "socket", `the name of its socket, as for tmux -L, or its path`)
	case strings.HasPrefix(socket, "-") || strings.ContainsFunc(socket, unicode.IsControl):
		d.fail(b.attr("socket"), "Invalid socket", "%q cannot name a socket.", cut(socket))
	case strings.Contains(socket, "/"):
		return readPath(d, b, "socket", socket, "")
	}
	return socket
}

// leastMemory is the least that a container can be given: Docker's own limit.
const leastMemory = 6 << 20

// userForm is numbers: the workspace and the run's folders become that user's,
// and what number a name has only the image knows.
var userForm = regexp.MustCompile(`^\d{1,9}(?::\d{1,9})?$`)

// readDocker reads a runtime block of kind docker.
func readDocker(d reader, b *block) *session.DockerConfig {
	c := &session.DockerConfig{}
	if !d.word(b, "image", &c.Image) {
		d.require(b, "image", `image = "agents:1"`)
	} else if strings.HasPrefix(c.Image, "-") || strings.ContainsFunc(c.Image, unicode.IsSpace) {
		d.fail(b.attr("image"), "Invalid image", "%q cannot name an image.", cut(c.Image))
	}
	d.word(b, "host", &c.Host)
	d.decimal(b, "cpus", 0.01, math.Inf(1), &c.CPUs)
	d.size(b, "memory", leastMemory, &c.Memory)
	pids := 0
	d.whole(b, "pids", 1, &pids)
	c.PIDs = int64(pids)
	d.word(b, "network", &c.Network)
	if d.word(b, "user", &c.User) && !userForm.MatchString(c.User) {
		d.fail(b.attr("user"), "Invalid user", `%q is no user; write it in numbers, like "1000:1000", since the workspace becomes that user's.`, cut(c.User))
	}
	readEnvironment(d, b, "env", &c.Env)
	readMounts(d, b, "mounts", &c.Mounts)
	d.flag(b, "read_only", &c.ReadOnly)
	return c
}

// mountType is one element of mounts.
var mountType = cty.ObjectWithOptionalAttrs(map[string]cty.Type{"source": cty.String, "target": cty.String, "read_only": cty.Bool}, []string{"read_only"})

// readMounts reads the paths of the host that are seen in a container.
func readMounts(d reader, b *block, name string, into *[]session.Mount) {
	v, a, ok := d.value(b, name, cty.List(mountType))
	if !ok {
		if a != nil && a.value != nil && a.value.ok {
			checkMountAttributes(d, a, a.value.value)
		}
		return
	}
	checkMountAttributes(d, a, a.value.value)
	taken := map[string]bool{}
	for _, e := range v.AsValueSlice() {
		if e.IsNull() || e.GetAttr("source").IsNull() || e.GetAttr("target").IsNull() {
			d.fail(a, "Invalid mount", `Each mount needs a source and a target: { source = "~/.codex", target = "/home/agent/.codex" }.`)
			return
		}
		m := session.Mount{Target: e.GetAttr("target").AsString()}
		if ro := e.GetAttr("read_only"); !ro.IsNull() {
			m.ReadOnly = ro.True()
		}
		source, err := d.l.resolve(e.GetAttr("source").AsString(), d.l.root)
		switch {
		case !d.clean(a, e.GetAttr("source").AsString()) || !d.clean(a, m.Target):
			return
		case e.GetAttr("source").AsString() == "":
			d.fail(a, "Invalid mount", "A mount's source is empty.")
			return
		case err != nil:
			d.fail(a, "Invalid mount", "A mount's source: %s.", err)
			return
		case !path.IsAbs(m.Target) || path.Clean(m.Target) == "/":
			d.fail(a, "Invalid mount", "%q cannot be a mount's target, which is an absolute path in the container, and not / itself.", cut(m.Target))
			return
		case taken[path.Clean(m.Target)]:
			d.fail(a, "Invalid mount", "Two mounts have the target %q.", cut(m.Target))
			return
		}
		m.Source, m.Target = source, path.Clean(m.Target)
		taken[m.Target] = true
		*into = append(*into, m)
	}
}

// checkMountAttributes tells of an attribute that a mount does not have. A conversion
// would drop it.
func checkMountAttributes(d reader, a *attr, v cty.Value) {
	if v.IsNull() || !v.IsKnown() || v.IsMarked() || !v.CanIterateElements() {
		return
	}
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		if !e.Type().IsObjectType() {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(e.Type().AttributeTypes())) {
			if known := slices.Sorted(maps.Keys(mountType.AttributeTypes())); !slices.Contains(known, name) {
				d.fail(a, "Unknown attribute", "There is no attribute %q in a mount; there are %s.%s", name, quoted(known, "and"), didYouMean(name, known))
				return
			}
		}
	}
}

// runtimeOf finds where the session runs.
func runtimeOf(d reader, b *block, runtimes map[string]session.RuntimeSpec, s *session.Spec) {
	s.Runtime = session.RuntimeSpec{Kind: "tmux"}
	a := b.attr("runtime")
	if a == nil || a.bad {
		return
	}
	var v cty.Value
	if t, diags := hcl.AbsTraversalForExpr(a.expr); !diags.HasErrors() && t.RootName() == "runtime" {
		// in JSON a reference is a text, and only here it becomes one
		if summary, detail := d.l.wrong(t, inProject); summary != "" {
			d.fail(a, summary, "%s", detail)
			return
		}
		v, _ = t.TraverseAbs(d.l.ctx)
	} else {
		var ok bool
		if v, ok = d.evaluate(a); !ok || !d.plain(a, v) || v.IsNull() {
			return
		}
	}
	switch {
	case v.Type().IsObjectType() && v.Type().HasAttribute("kind") && v.Type().HasAttribute("name"):
		kind, name := v.GetAttr("kind").AsString(), v.GetAttr("name").AsString()
		if spec, ok := runtimes[session.RuntimeSpec{Kind: kind, Name: name}.Key()]; ok {
			s.Runtime = spec
		}
	case v.Type() == cty.String && v.AsString() == "tmux":
	case v.Type() == cty.String && v.AsString() == "docker":
		d.fail(a, "Missing runtime block", `Docker needs a block that says which image: runtime "docker" "sandbox" { image = … }, and in the session runtime = runtime.docker.sandbox.`)
	default:
		d.fail(a, "Unknown runtime", `"runtime" must be "tmux" or a reference to a runtime block, like runtime.docker.sandbox.`)
	}
}
