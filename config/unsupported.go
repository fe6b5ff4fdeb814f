package config

import "github.com/hashicorp/hcl/v2"

// unsupported is what the language has and this release does not carry out:
// what it is, and what to do meanwhile. A session that could not run as it is
// declared is an error; the rest is a warning. Nothing is passed over.
var unsupported = []struct {
	feature, what, instead string
	warning                bool
}{
	{feature: "notify", what: "Notifications are", instead: "Nothing is sent.", warning: true},
	{feature: "heartbeat", what: "Heartbeats are", instead: "Nothing is probed.", warning: true},
}

// notYet tells that a feature is not supported yet.
func (l *loader) notYet(at hcl.Range, feature string) {
	for _, u := range unsupported {
		if u.feature != feature {
			continue
		}
		tell := l.fail
		if u.warning {
			tell = l.warn
		}
		tell(at, "Not supported yet", "%s part of the language, but this release does not carry them out. %s", u.what, u.instead)
	}
}
