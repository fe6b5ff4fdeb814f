package config

import (
	"net/url"
	"slices"
	"strings"

	"github.com/agentform/agentform/config/expr"
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
		if all == nil {
			all = map[string]SecretSource{}
		}
		all[name] = src
	}
	return all
}

func readNotifies(l *loader) (all []Notify) {
	for _, b := range l.blocks["notify"] {
		l.checkAll(b, inProject)
		d := l.reader(l.ctx)
		n := Notify{Name: b.Labels[0], Range: rangeOf(b.Def)}
		readEvents(d, b, "on", &n.On)
		d.OneOf(b, "preset", &n.Preset)
		readTarget(d, b, &n)
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b Notify) int { return strings.Compare(a.Name, b.Name) })
	return all
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
	var list []string
	if !d.Words(b, name, &list) {
		d.Require(b, name, `the events, like `+name+` = ["blocked", "failed"]`)
		return
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
}
