package config

import (
	"strconv"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/language"
	"github.com/agentform/agentform/session"
)

// Backend is a backend block: where the state is stored for several machines.
type Backend struct {
	Kind string // http, s3, pg, kubernetes
	// Values are the attributes that are set, by name, as text. They may be secret.
	Values  map[string]string `json:"-"`
	Headers map[string]string `json:"-"` // of http
	Range   session.Range
}

// Encryption is an encryption block.
type Encryption struct {
	Recipients   []string
	IdentityFile string `json:",omitempty"` // absolute
	Range        session.Range
}

func readBackend(l *loader, settings *expr.Block) *Backend {
	if len(settings.Blocks["backend"]) == 0 {
		return nil
	}
	b := settings.Blocks["backend"][0]
	if b.Broken && b.Attrs == nil {
		return nil // of no known kind
	}
	l.checkAll(b, inProject)
	d := l.reader(l.ctx)
	found := &Backend{Kind: b.Labels[0], Values: map[string]string{}, Range: rangeOf(b.Def)}
	for _, a := range language.Backend(found.Kind).Attributes {
		if d.Missing(b, a.Name) {
			continue
		}
		text := ""
		switch a.Kind {
		case language.Flag:
			flag := false
			d.Flag(b, a.Name, &flag)
			text = strconv.FormatBool(flag)
		case language.Whole:
			n := 0
			d.Whole(b, a.Name, 0, &n)
			text = strconv.Itoa(n)
		case language.Table:
			d.Table(b, a.Name, &found.Headers)
			continue
		default:
			d.Word(b, a.Name, &text)
		}
		found.Values[a.Name] = text
	}
	return found
}

func readEncryption(l *loader, settings *expr.Block) *Encryption {
	if len(settings.Blocks["encryption"]) == 0 {
		return nil
	}
	b := settings.Blocks["encryption"][0]
	l.checkAll(b, inProject)
	d := l.reader(l.ctx)
	found := &Encryption{Range: rangeOf(b.Def)}
	if !d.Words(b, "recipients", &found.Recipients) {
		d.Require(b, "recipients", `recipients = ["age1…"]`)
	}
	var path string
	if d.Word(b, "identity_file", &path) {
		full, err := d.l.Resolve(path, d.l.Root)
		if err != nil {
			d.Fail(b.Attr("identity_file"), "Invalid path", "%q: %s.", path, err)
		}
		found.IdentityFile = full
	}
	return found
}

// BackendAttributes returns the names of the attributes of a kind of backend; nil: there is
// no such kind.
func BackendAttributes(kind string) []string {
	if of := language.Backend(kind); of != nil {
		return of.Names()
	}
	return nil
}
