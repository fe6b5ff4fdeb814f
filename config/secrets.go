package config

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
)

func readSecrets(l *loader) (all map[string]SecretSource) {
	for _, b := range l.blocks["secret"] {
		name := b.Labels[0]
		l.checkAll(b, inProject)
		if !variableName(name) {
			l.Fail(b.LabelRanges[0], "Invalid secret", "%q is not a name of an environment variable, in which an agent gets the secret.", expr.Cut(name))
			continue
		}
		d := l.reader(l.ctx)
		var src SecretSource
		if k := b.Blocks["kubernetes"]; len(k) > 0 {
			src.Kubernetes = readSecretRef(d, b, k[0])
			all = withSecret(all, name, src)
			continue
		}
		switch d.ExactlyOne(b, "env", "file", "command") {
		case "env":
			if d.Word(b, "env", &src.Env) && !variableName(src.Env) {
				d.Fail(b.Attr("env"), "Invalid secret", "%q is not a name of an environment variable.", expr.Cut(src.Env))
			}
		case "file":
			if d.Word(b, "file", &src.File) {
				src.File = readPath(d, b, "file", src.File, "")
			}
		case "command":
			d.Command(b, "command", &src.Command)
		}
		all = withSecret(all, name, src)
	}
	return all
}

func withSecret(all map[string]SecretSource, name string, src SecretSource) map[string]SecretSource {
	if all == nil {
		all = map[string]SecretSource{}
	}
	all[name] = src
	return all
}

// readSecretRef reads the kubernetes block of a secret block, which must be the only content.
func readSecretRef(d reader, b, k *expr.Block) *session.SecretRef {
	for _, other := range []string{"env", "file", "command"} {
		if b.Attr(other) != nil {
			d.FailAt(b.At(other), "Too many settings", "%s has a kubernetes block, so it takes no %q.", b.Title(), other)
		}
	}
	var r session.SecretRef
	d.Word(k, "name", &r.Name)
	d.Word(k, "key", &r.Key)
	d.Require(k, "name", `the Secret's name, like name = "tokens"`)
	d.Require(k, "key", `the key in the Secret, like key = "github"`)
	return &r
}

// secretsOfCluster moves the secrets of a session that are in its cluster from those whose
// values agentform has.
func secretsOfCluster(d reader, m *Manifest, b *expr.Block, s *session.Spec) {
	s.Secrets = slices.DeleteFunc(s.Secrets, func(name string) bool {
		ref := m.Secrets[name].Kubernetes
		if ref == nil {
			return false
		}
		if s.Runtime.Kind != "kubernetes" {
			d.FailAt(b.At("secrets"), "Secret of a cluster", "%s is in a Kubernetes cluster, and the session does not run in one. Give it env, file or command.", name)
			return false
		}
		if s.SecretRefs == nil {
			s.SecretRefs = map[string]session.SecretRef{}
		}
		s.SecretRefs[name] = *ref
		return true
	})
}

func readNotifies(l *loader, secrets map[string]SecretSource) (all []Notify) {
	for _, b := range l.blocks["notify"] {
		l.checkAll(b, inProject)
		d := l.reader(l.ctx)
		n := Notify{Name: b.Labels[0], Range: rangeOf(b.Def)}
		readReport(d, b, &n)
		if b.Attr("report") == nil || !d.Missing(b, "on") {
			readEvents(d, b, "on", &n.On)
		}
		d.OneOf(b, "preset", &n.Preset)
		readTarget(d, b, &n)
		if secrets[n.Secret].Kubernetes != nil {
			d.FailAt(b.At("webhook_secret"), "Secret of a cluster", "%s is in a Kubernetes cluster, and only sessions there get it.", n.Secret)
		}
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b Notify) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func readReport(d reader, b *expr.Block, n *Notify) {
	if !d.Word(b, "report", &n.Report) {
		return
	}
	if at, err := time.Parse("15:04", n.Report); err != nil || at.Format("15:04") != n.Report {
		d.Fail(b.Attr("report"), "Invalid time of day", "%q must be a time of day like \"08:00\", not %q.", "report", expr.Cut(n.Report))
	}
}

func readTarget(d reader, b *expr.Block, n *Notify) {
	ways := []string{"command", "webhook", "webhook_secret"}
	if n.Preset == "desktop" {
		for _, name := range ways {
			if !d.Missing(b, name) {
				d.FailAt(b.At(name), "Too many settings", `%s has the preset "desktop", which takes no %q.`, b.Title(), name)
			}
		}
		return
	}
	if n.Preset != "" {
		ways = ways[1:]
	}
	switch d.ExactlyOne(b, ways...) {
	case "command":
		d.Command(b, "command", &n.Command)
	case "webhook":
		if !d.Word(b, "webhook", &n.Webhook) {
			return
		}
		if u, err := url.Parse(n.Webhook); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			d.Fail(b.Attr("webhook"), "Invalid webhook", "%q must be an https:// or http:// URL.", "webhook")
			d.Eval.Diags[len(d.Eval.Diags)-1].Extra = expr.Note{Secret: true} // it may hold a token
		}
	case "webhook_secret":
		if d.Word(b, "webhook_secret", &n.Secret) && !variableName(n.Secret) {
			d.Fail(b.Attr("webhook_secret"), "Invalid secret", "%q is not a name of an environment variable. The secret is given by name, never by value.", "webhook_secret")
			d.Eval.Diags[len(d.Eval.Diags)-1].Extra = expr.Note{Secret: true}
		}
	}
}

// withWebhooks adds the secrets of webhooks without a block, so that no agent gets them.
func withWebhooks(secrets map[string]SecretSource, all []Notify) map[string]SecretSource {
	for _, n := range all {
		if _, declared := secrets[n.Secret]; n.Secret == "" || declared {
			continue
		}
		if secrets == nil {
			secrets = map[string]SecretSource{}
		}
		secrets[n.Secret] = SecretSource{Env: n.Secret}
	}
	return secrets
}

func readEvents(d reader, b *expr.Block, name string, into *[]string) {
	if !readChoices(d, b, name, into) {
		d.Require(b, name, `the events, like `+name+` = ["blocked", "failed"], or "report"`)
	}
}

// readChoices decodes a list of the attribute's choices, sorted, and reports whether there is one.
func readChoices(d reader, b *expr.Block, name string, into *[]string) bool {
	var list []string
	if !d.Words(b, name, &list) {
		return false
	}
	known := b.Attr(name).Choices
	if len(list) == 0 {
		d.Fail(b.Attr(name), "Empty list", "%q must not be empty; there are %s.", name, expr.Quoted(known, "and"))
	}
	for _, s := range list {
		if !slices.Contains(known, s) {
			d.Fail(b.Attr(name), "Invalid value", "%q can contain %s, not %q.%s", name, expr.Quoted(known, "and"), expr.Cut(s), expr.DidYouMean(s, known))
		}
	}
	slices.Sort(list)
	*into = slices.Compact(list)
	return true
}
