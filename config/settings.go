package config

import (
	"path/filepath"
	"strings"
	"unicode"

	"github.com/agentform/agentform/config/expr"
	"github.com/hashicorp/go-version"
)

func readSettings(l *loader, m *Manifest) {
	if len(l.blocks["agentform"]) == 0 {
		return
	}
	b := l.blocks["agentform"][0]
	l.checkAll(b, inProject)
	d := l.reader(l.ctx)

	var required string
	if d.Word(b, "required_version", &required) {
		requireVersion(l, d, b, required)
	}
	if d.Word(b, "project", &m.Project) && !strings.ContainsFunc(m.Project, plainLetter) {
		d.Fail(b.Attr("project"), "Invalid project", "%q has no ASCII letter or digit, so it cannot be part of a name.", m.Project)
	}
	var dir string
	if d.Word(b, "data_dir", &dir) && l.opts.DataDir == "" {
		m.DataDir = readPath(d, b, "data_dir", dir, m.DataDir)
	}
	if d.Word(b, "outputs_dir", &dir) {
		m.OutputsDir = readPath(d, b, "outputs_dir", dir, "")
	}
	readDuration(d, b, "history_keep", 0, &m.HistoryKeep)
	d.Whole(b, "parallelism", 1, &m.Parallelism)
	d.Whole(b, "max_running", 1, &m.MaxRunning)
	readInherit(d, b, &m.InheritEnv)
	hub := ""
	d.OneOf(b, "hub", &hub)
	m.HubAuto = hub == "auto"
	m.Backend, m.Encryption, m.Telemetry = readBackend(l, b), readEncryption(l, b), readTelemetry(l, b)
	if m.Encryption != nil && m.Backend == nil && len(b.Blocks["backend"]) == 0 {
		l.Fail(b.Blocks["encryption"][0].Def, "Nothing to encrypt", "The state is on this machine alone; an encryption block needs a backend block.")
	}
}

func plainLetter(r rune) bool {
	return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// readPath returns an absolute path, or fallback if it is invalid.
func readPath(d reader, b *expr.Block, name, path, fallback string) string {
	full, err := d.l.Resolve(path, d.l.Root)
	if err != nil {
		d.Fail(b.Attr(name), "Invalid path", "%q: %s.", name, err)
		return fallback
	}
	if full == filepath.Dir(full) || name != "path" && expr.Within(full, d.l.Root) {
		d.Fail(b.Attr(name), "Invalid path", "%q must be a directory of its own, not %s.", name, full)
		return fallback
	}
	return full
}

// requireVersion counts a pre-release as its release.
func requireVersion(l *loader, d reader, b *expr.Block, constraint string) {
	c, err := version.NewConstraint(constraint)
	if err != nil {
		d.Fail(b.Attr("required_version"), "Invalid version constraint", `%q is not a version constraint, use ">= 0.1" or "~> 1.2".`, constraint)
		return
	}
	have, err := version.NewSemver(l.opts.Version)
	if err != nil || !strings.Contains(l.opts.Version, ".") {
		return // a development build, whose version is a commit
	}
	if !c.Check(have.Core()) {
		d.Fail(b.Attr("required_version"), "Unsuitable version", "This project requires agentform %s, but this is %s.", constraint, l.opts.Version)
	}
}
