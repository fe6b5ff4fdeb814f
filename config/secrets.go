package config

import (
	"net/url"
	"slices"
	"strings"
)

// readSecrets evaluates the secret blocks. A sensitive value in one would be
// the secret itself, and is refused as everywhere.
func readSecrets(l *loader, m *Manifest) {
	for _, b := range l.blocks["secret"] {
		name := b.labels[0]
		l.checkAll(b, inProject)
		if !variableName(name) {
			l.fail(b.labelRanges[0], "Invalid secret", "%q cannot name an environment variable, and that is how an agent gets it.", cut(name))
			continue
		}
		d := l.reader(l.ctx)
		var src SecretSource
		switch d.exactlyOne(b, "env", "file", "command") {
		case "env":
			if d.word(b, "env", &src.Env) && !variableName(src.Env) {
				d.fail(b.attr("env"), "Invalid secret", "%q cannot name an environment variable.", cut(src.Env))
			}
		case "file":
			if d.word(b, "file", &src.File) {
				src.File = readPath(d, b, "file", src.File, "")
			}
		case "command":
			d.command(b, "command", &src.Command)
		}
		if m.Secrets == nil {
			m.Secrets = map[string]SecretSource{}
		}
		m.Secrets[name] = src
	}
}

// readNotifies evaluates the notify blocks.
func readNotifies(l *loader, m *Manifest) {
	for _, b := range l.blocks["notify"] {
		l.checkAll(b, inProject)
		d := l.reader(l.ctx)
		n := Notify{Name: b.labels[0], Range: rangeOf(b.def)}
		readEvents(d, b, "on", &n.On)
		switch d.exactlyOne(b, "command", "webhook") {
		case "command":
			d.command(b, "command", &n.Command)
		case "webhook":
			if d.word(b, "webhook", &n.Webhook) {
				checkWebhook(d, b, n.Webhook)
			}
		}
		m.Notifies = append(m.Notifies, n)
	}
	slices.SortFunc(m.Notifies, func(a, b Notify) int { return strings.Compare(a.Name, b.Name) })
}

// readEvents is a list of the few words that the language has for it, at least one.
func readEvents(d reader, b *block, name string, into *[]string) {
	var list []string
	if !d.words(b, name, &list) {
		d.require(b, name, `which events, like `+name+` = ["blocked", "failed"]`)
		return
	}
	known := b.attr(name).choices
	if len(list) == 0 {
		d.fail(b.attr(name), "Empty list", "%q names nothing, so nothing would ever be sent; there are %s.", name, quoted(known, "and"))
	}
	for _, s := range list {
		if !slices.Contains(known, s) {
			d.fail(b.attr(name), "Invalid value", "%q can hold %s, not %q.%s", name, quoted(known, "and"), cut(s), didYouMean(s, known))
		}
	}
	slices.Sort(list)
	*into = slices.Compact(list)
}

func checkWebhook(d reader, b *block, text string) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		d.fail(b.attr("webhook"), "Invalid webhook", "%q is no address that begins with https:// or http://.", cut(text))
	}
}
