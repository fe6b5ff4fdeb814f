package config

import (
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2"
)

// Options say what to load and with what.
type Options struct {
	// Dir is the project folder. Empty: the current folder.
	Dir string
	// Files are manifests, or folders of them, to read instead of those in Dir.
	// Relative ones are relative to Dir. The folder of the first is path.module:
	// what the file functions start from, and what lies in the repository that
	// sessions work in unless they name another. The project stays Dir.
	Files []string
	// Vars are the --var and --var-file flags in the order given: a later one
	// wins.
	Vars []Var
	// Environ is the environment as NAME=VALUE: AGENTFORM_VAR_name, HOME, and
	// what the function env may read.
	Environ []string
	// Builtins are the agents that need no block, by name, with their defaults.
	Builtins map[string]session.AgentSpec
	// DataDir overrides the manifest's data_dir.
	DataDir string
	// Version is agentform's own, for required_version. One that is no version
	// number (a development build) satisfies every constraint.
	Version string
	// Settled is called once the project's own settings are known (all of
	// Manifest but agents and sessions), so that what needs only them can begin
	// while the sessions are evaluated; nil: nobody waits for it.
	Settled func(*Manifest)
	// Workspace tells the folder in which a session of the manifest given works,
	// for outputs and checks: one that is on record may be elsewhere than a path
	// that nobody declared would be by now. Of that manifest everything is known
	// but its outputs. It is called only where sessions are referred to. Nil: they
	// work where they are declared to.
	Workspace func(*Manifest, session.Spec) string
}

// Var is one --var NAME=VALUE or, with File set, one --var-file.
type Var struct {
	Name, Value string
	File        string
}

// Manifest is what a project's manifests say. All paths are absolute.
type Manifest struct {
	Root        string // the project folder, symbolic links resolved
	Project     string // its name, as written: session.Slug makes it fit for outside names
	DataDir     string
	OutputsDir  string // empty: DATA_DIR/agents
	HistoryKeep session.Duration
	Parallelism int
	MaxRunning  int            // 0: not set, to be computed
	InheritEnv  []string       `json:",omitempty"` // as session.Spec.InheritEnv, for all sessions on this machine
	HubAuto     bool           `json:",omitempty"` // an apply starts the hub
	Sessions    []session.Spec // the enabled ones, sorted by address
	Ranges      map[session.Address]session.Range

	Moves    []Move                  `json:",omitempty"` // in the order of the files
	Removed  []Removal               `json:",omitempty"`
	Imports  []Import                `json:",omitempty"`
	Outputs  []Output                `json:",omitempty"` // sorted by name
	Secrets  map[string]SecretSource `json:",omitempty"` // by name; without one: agentform's own environment
	Notifies []Notify                `json:",omitempty"` // sorted by name

	// Bases is where the base of a session's workspace is declared.
	Bases map[session.Address]session.Range `json:"-"`

	// NeedsHub are the parts of the manifest that only a hub carries out, in its
	// words: notify, health, restart, depends_on.
	NeedsHub []string `json:"-"`

	Files []string // every manifest that was read

	Sensitive []string `json:"-"` // the names of sensitive variables, sorted

	// Agents are the built-in agents and those of the manifests, by name, for
	// sessions that are asked for without a block.
	Agents map[string]Agent `json:"-"`
}

// Load reads and evaluates the manifests. It returns every problem there is,
// sorted by file and line. The manifest is never nil: when one of the problems
// is an error it has no sessions, and its other fields are the best that is
// known, so that Root and DataDir can be used. The same files and options give
// the same result.
func Load(o Options) (*Manifest, []session.Diagnostic) {
	l := newLoader(o)
	m := l.defaults()
	first := *m
	l.known.settled.Store(&first)
	err := l.watch.run(func() { l.load(m) })
	if err != nil {
		return l.known.settled.Load(), []session.Diagnostic{l.convert(l.watch.problem(err))}
	}
	ds := l.report()
	if session.HasErrors(ds) {
		m.Sessions, m.Ranges = nil, nil
		m.Moves, m.Removed, m.Imports, m.Outputs = nil, nil, nil, nil
	}
	return m, ds
}

// loader is one Load under way.
type loader struct {
	opts    Options
	env     map[string]string
	root    string // the project folder
	module  string // the folder of the manifests: the project folder, unless they were named
	sources map[string]*hcl.File
	diags   hcl.Diagnostics
	private []string // texts of sensitive values, to be blotted out of messages

	blocks map[string][]*block // top-level blocks by type, in order
	ctx    *hcl.EvalContext    // what every expression may use
	known  names

	agents    map[string]agent
	runtimes  map[string]session.RuntimeSpec // of the runtime blocks, by key
	instances map[string]*instances          // of the session blocks
	repos     map[string]string              // folder → top of the repository it is in, "" for none
	texts     map[string]string              // files read by functions
	fields    []string                       // what ignore_changes may name, once asked for
	watch     watch
	kept      int  // bytes of all values by now
	full      bool // those are too many, and that is told
	gitless   bool // that the project is not in git has been told
}

func newLoader(o Options) *loader {
	l := &loader{
		opts:      o,
		env:       map[string]string{},
		sources:   map[string]*hcl.File{},
		blocks:    map[string][]*block{},
		agents:    map[string]agent{},
		runtimes:  map[string]session.RuntimeSpec{},
		instances: map[string]*instances{},
		repos:     map[string]string{},
		texts:     map[string]string{},
	}
	for _, kv := range o.Environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			l.env[name] = value
		}
	}
	return l
}

// load does the work; problems gather in l.diags.
func (l *loader) load(m *Manifest) {
	files := l.find()
	if l.diags.HasErrors() {
		return
	}
	bodies, whole := l.parse(files)
	for _, f := range files {
		m.Files = append(m.Files, f.path)
	}
	l.read(bodies)
	if !whole {
		return // what stands in the unreadable rest would be missed everywhere
	}
	l.index()
	l.context()
	m.Sensitive = l.variables()
	l.locals()
	l.settings(m)
	settled := *m
	l.known.settled.Store(&settled)
	if l.opts.Settled != nil {
		l.opts.Settled(m)
	}
	l.resolveAgents()
	m.Agents = publicAgents(l.agents)
	l.resolveRuntimes()
	l.secretSources(m)
	l.notifies(m)
	if !l.expand() {
		return
	}
	all := l.sessions(m)
	l.addressBlocks(m)
	l.results(m, all)
}

// defaults is the manifest of a project whose manifests say nothing.
func (l *loader) defaults() *Manifest {
	dir := l.opts.Dir
	if dir == "" {
		dir = "."
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		if real, err2 := filepath.EvalSymlinks(abs); err2 == nil {
			abs = real
		} else {
			err = err2
		}
	}
	if err != nil {
		l.failNowhere("No such project folder", "The folder %q cannot be used: %s.", dir, reason(err))
	}
	l.root, l.module = abs, abs
	m := &Manifest{
		Root:        abs,
		Project:     filepath.Base(abs),
		DataDir:     filepath.Join(abs, ".agentform"),
		HistoryKeep: session.Duration(30 * day),
		Parallelism: 10,
		Agents:      map[string]Agent{},
	}
	for name, spec := range l.opts.Builtins {
		a := builtin(spec)
		m.Agents[name] = Agent{a.spec, a.restart, a.health, a.stop}
	}
	if l.opts.DataDir != "" {
		if path, err := l.resolve(l.opts.DataDir, abs); err == nil {
			m.DataDir = path
		}
	}
	return m
}

// names is everything that is declared, known before anything is evaluated.
type names struct {
	variables, locals, agents, sessions []string // sorted
	runtimes                            map[string][]string
	settled                             atomic.Pointer[Manifest]
}

// index notes what is declared, and refuses what is declared twice.
func (l *loader) index() {
	l.known.variables = l.declared("variable")
	l.known.sessions = l.declared("session")
	l.known.agents = l.declared("agent")
	for _, typ := range []string{"secret", "notify", "output", "check"} {
		l.declared(typ) // nothing refers to them
	}
	for name := range l.opts.Builtins {
		if !slices.Contains(l.known.agents, name) {
			l.known.agents = append(l.known.agents, name)
		}
	}
	slices.Sort(l.known.agents)
	l.known.runtimes = map[string][]string{}
	for _, b := range l.blocks["runtime"] {
		kind := b.labels[0]
		l.known.runtimes[kind] = append(l.known.runtimes[kind], b.labels[1])
	}
	if settings := l.blocks["agentform"]; len(settings) > 1 {
		for _, b := range settings[1:] {
			l.fail(b.def, "Duplicate agentform block", "The settings stand at %s already; there can be one such block in a project.", place(settings[0].def))
		}
	}
}

// declared lists the names of the blocks of a type. A second one of a name is
// an error and dropped, and so is a name that cannot be referred to.
func (l *loader) declared(typ string) []string {
	var list []string
	var kept []*block
	first := map[string]*block{}
	for _, b := range l.blocks[typ] {
		name := b.labels[0]
		if !identifier(name) {
			l.fail(b.labelRanges[0], "Invalid name", "%q cannot name %s: a name starts with a letter or underscore, and holds only letters, digits, underscores and dashes.", name, article(typ))
			continue
		}
		if other := first[name]; other != nil {
			l.fail(b.def, "Duplicate "+typ, "%q is the name of the %s at %s already; each needs a name of its own.", name, typ, place(other.def))
			continue
		}
		first[name] = b
		list = append(list, name)
		kept = append(kept, b)
	}
	l.blocks[typ] = kept
	slices.Sort(list)
	return list
}
