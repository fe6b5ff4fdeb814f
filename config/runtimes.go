package config

import (
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/language"
	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

func readRuntimes(l *loader) (all map[string]session.RuntimeSpec, certificates map[string]session.Range) {
	all, certificates = map[string]session.RuntimeSpec{}, map[string]session.Range{} // by key
	first := map[string]*expr.Block{}
	for _, b := range l.blocks["runtime"] {
		spec := session.RuntimeSpec{Kind: b.Labels[0], Name: b.Labels[1]}
		if b.Broken && b.Attrs == nil {
			continue // of no known kind
		}
		if !identifier(spec.Name) {
			l.Fail(b.LabelRanges[1], "Invalid name", "%q is not a valid name of a runtime: a name starts with a letter or underscore, followed by letters, digits, underscores and dashes.", spec.Name)
			continue
		}
		if other := first[spec.Key()]; other != nil {
			l.Fail(b.Def, "Duplicate runtime", "%s is already declared at %s.", b.Title(), expr.Place(other.Def))
			continue
		}
		first[spec.Key()] = b
		l.checkAll(b, inProject)
		d := l.reader(l.ctx)
		switch spec.Kind {
		case "docker":
			spec.Docker = readDocker(d, b)
			for _, name := range []string{"host", "cert_path"} {
				if b.Attr(name) != nil {
					certificates[spec.Key()] = rangeOf(b.At(name))
				}
			}
		case "kubernetes":
			spec.Kubernetes = readKubernetes(d, b)
		case "tmux":
			spec.Socket = readSocket(d, b)
		}
		all[spec.Key()] = spec
	}
	return all, certificates
}

func readSocket(d reader, b *expr.Block) string {
	var socket string
	switch {
	case !d.Word(b, "socket", &socket):
		d.Require(b, "socket", `the name of its socket, as for tmux -L, or its path`)
	case strings.HasPrefix(socket, "-") || strings.ContainsFunc(socket, unicode.IsControl):
		d.Fail(b.Attr("socket"), "Invalid socket", "%q is not a valid socket name.", expr.Cut(socket))
	case strings.Contains(socket, "/"):
		return readPath(d, b, "socket", socket, "")
	}
	return socket
}

// userForm matches numbers, since only the image has the names of users.
var userForm = regexp.MustCompile(`^\d{1,9}(?::\d{1,9})?$`)

func readDocker(d reader, b *expr.Block) *session.DockerConfig {
	c := &session.DockerConfig{}
	decode(d, b, language.RuntimeBlock().Kind("docker"), &session.Spec{Runtime: session.RuntimeSpec{Docker: c}})
	d.Require(b, "image", `image = "agents:1"`)
	if strings.HasPrefix(c.Image, "-") || strings.ContainsFunc(c.Image, unicode.IsSpace) {
		d.Fail(b.Attr("image"), "Invalid image", "%q is not a valid image name.", expr.Cut(c.Image))
	}
	readHost(d, b, c)
	if c.User != "" && !userForm.MatchString(c.User) {
		d.Fail(b.Attr("user"), "Invalid user", `%q is not a user id, use numbers like "1000:1000": the workspace is given to that user.`, expr.Cut(c.User))
	}
	readMounts(d, b, "mounts", &c.Mounts)
	return c
}

// readHost reads which engine has the containers.
func readHost(d reader, b *expr.Block, c *session.DockerConfig) {
	if strings.HasPrefix(c.Host, "ssh://") {
		if u, err := url.Parse(c.Host); err != nil || u.Hostname() == "" {
			d.Fail(b.Attr("host"), "Invalid host", `%q is not a URL like "ssh://user@host".`, expr.Cut(c.Host))
		}
	}
	if strings.HasPrefix(c.Host, "tcp://") {
		if u, err := url.Parse(c.Host); err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
			d.Fail(b.Attr("host"), "Invalid host", `%q is not a URL like "tcp://host:2376".`, expr.Cut(c.Host))
		}
	}
	var given string
	if !d.Word(b, "cert_path", &given) {
		return
	}
	if !strings.HasPrefix(c.Host, "tcp://") {
		d.Fail(b.Attr("cert_path"), "Certificates without TLS", `"cert_path" is for a host like "tcp://host:2376".`)
		return
	}
	c.CertPath = readPath(d, b, "cert_path", given, "")
}

var mountType = cty.ObjectWithOptionalAttrs(map[string]cty.Type{"source": cty.String, "target": cty.String, "read_only": cty.Bool}, []string{"read_only"})

func readMounts(d reader, b *expr.Block, name string, into *[]session.Mount) {
	all, a, ok := objects(d, b, name, "a mount", mountType, `a list of mounts, like [{ source = "~/.codex", target = "/home/agent/.codex" }]`)
	if !ok {
		return
	}
	taken := map[string]bool{}
	for _, e := range all {
		if e.IsNull() || e.GetAttr("source").IsNull() || e.GetAttr("target").IsNull() {
			d.Fail(a, "Invalid mount", `Each mount needs a source and a target: { source = "~/.codex", target = "/home/agent/.codex" }.`)
			return
		}
		m := session.Mount{Target: e.GetAttr("target").AsString()}
		if ro := e.GetAttr("read_only"); !ro.IsNull() {
			m.ReadOnly = ro.True()
		}
		source, err := d.l.Resolve(e.GetAttr("source").AsString(), d.l.Root)
		switch {
		case !d.Clean(a, e.GetAttr("source").AsString()) || !d.Clean(a, m.Target):
			return
		case e.GetAttr("source").AsString() == "":
			d.Fail(a, "Invalid mount", "A mount's source is empty.")
			return
		case err != nil:
			d.Fail(a, "Invalid mount", "A mount's source: %s.", err)
			return
		case !path.IsAbs(m.Target) || path.Clean(m.Target) == "/":
			d.Fail(a, "Invalid mount", "%q cannot be a mount's target, which must be an absolute path in the container other than /.", expr.Cut(m.Target))
			return
		case taken[path.Clean(m.Target)]:
			d.Fail(a, "Invalid mount", "Two mounts have the target %q.", expr.Cut(m.Target))
			return
		}
		m.Source, m.Target = source, path.Clean(m.Target)
		taken[m.Target] = true
		*into = append(*into, m)
	}
}

func runtimeOf(d reader, b *expr.Block, runtimes map[string]session.RuntimeSpec, s *session.Spec) {
	s.Runtime = session.RuntimeSpec{Kind: "tmux"}
	a := b.Attr("runtime")
	if a == nil || a.Bad {
		return
	}
	var v cty.Value
	if t, diags := hcl.AbsTraversalForExpr(a.Expr); !diags.HasErrors() && t.RootName() == "runtime" {
		// in JSON a reference is a string, which is parsed only here
		if summary, detail := d.l.wrong(t, inProject); summary != "" {
			d.Fail(a, summary, "%s", detail)
			return
		}
		v, _ = t.TraverseAbs(d.l.ctx)
	} else {
		var ok bool
		if v, ok = d.Evaluate(a); !ok || !d.Plain(a, v) || v.IsNull() {
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
	case v.Type() == cty.String && v.AsString() == "kubernetes":
		d.Fail(a, "Missing runtime block", `Kubernetes needs a block with an image: runtime "kubernetes" "team" { image = … }, and in the session runtime = runtime.kubernetes.team.`)
	case v.Type() == cty.String && v.AsString() == "docker":
		d.Fail(a, "Missing runtime block", `Docker needs a block with an image: runtime "docker" "sandbox" { image = … }, and in the session runtime = runtime.docker.sandbox.`)
	default:
		d.Fail(a, "Unknown runtime", `"runtime" must be "tmux" or a reference to a runtime block, like runtime.docker.sandbox.`)
	}
}
