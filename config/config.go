package config

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/budget"
	"github.com/agentform/agentform/internal/price"
	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2"
)

// Options select what to load, and its inputs.
type Options struct {
	// Dir is the project directory. Empty: the current directory.
	Dir string
	// Files are manifests, or directories of them, to read instead of those in Dir. The
	// directory of the first is path.module.
	Files []string
	// Vars are the --var and --var-file flags. A later one wins.
	Vars []Var
	// Environ is the environment as NAME=VALUE.
	Environ []string
	// Builtins are the agents that need no block, by name.
	Builtins map[string]session.AgentSpec
	// DataDir overrides the manifest's data_dir.
	DataDir string
	// Version is agentform's own, for required_version. A development build satisfies all.
	Version string
	// SettingsOnly ends the load where Project, DataDir, Root and Backend are known.
	SettingsOnly bool
	// Workspace returns the directory of a session, for outputs and checks: a recorded one
	// may not be where its declaration now says. Nil: the declared directory.
	Workspace func(*Manifest, session.Spec) string
}

// Var is one --var NAME=VALUE or, with File set, one --var-file.
type Var struct {
	Name, Value string
	File        string
}

// Manifest is the content of a project's manifests. All paths are absolute.
type Manifest struct {
	Root        string // the project directory, symbolic links resolved
	Project     string // its name as written; session.Slug makes it a name for tmux and docker
	DataDir     string
	OutputsDir  string // empty: DATA_DIR/agents
	HistoryKeep session.Duration
	Parallelism int
	MaxRunning  int            // 0: not set, to be computed
	InheritEnv  []string       `json:",omitempty"` // as session.Spec.InheritEnv, for all sessions on this machine
	HubAuto     bool           `json:",omitempty"` // an apply starts the hub
	Backend     *Backend       `json:",omitempty"` // nil: the state is on this machine alone
	Encryption  *Encryption    `json:",omitempty"` // of the state in the backend; nil: none
	Telemetry   *Telemetry     `json:",omitempty"` // nil: what the hub's environment says
	Sessions    []session.Spec // the enabled ones, sorted by address
	Ranges      map[session.Address]session.Range

	Moves    []Move                  `json:",omitempty"` // in the order of the files
	Removed  []Removal               `json:",omitempty"`
	Imports  []Import                `json:",omitempty"`
	Outputs  []Output                `json:",omitempty"` // sorted by name
	Secrets  map[string]SecretSource `json:",omitempty"` // by name; without one: agentform's own environment
	Notifies []Notify                `json:",omitempty"` // sorted by name
	Prices   map[string]price.Price  `json:",omitempty"` // by model, of price blocks and price_file
	Budgets  []budget.Budget         `json:",omitempty"` // those of the project, then of agents, then of sessions

	// Bases are the places where the bases of workspaces are declared.
	Bases map[session.Address]session.Range `json:"-"`

	// NeedsHub are the parts of the manifest that only a hub carries out: notify, budget,
	// health, restart, depends_on, verify, pr.
	NeedsHub []string `json:"-"`

	Files []string // every manifest that was read

	Sensitive []string `json:"-"` // the names of sensitive variables, sorted

	// Agents are the built-in agents and those of the manifests, by name.
	Agents map[string]Agent `json:"-"`

	// Runtimes are those of the manifests, by key.
	Runtimes map[string]session.RuntimeSpec `json:"-"`

	// Certificates are the places where the certificates of runtimes are declared, or else
	// their hosts, by the runtimes' keys.
	Certificates map[string]session.Range `json:"-"`

	// Dir is the directory of the manifests. Root is another one with Options.Files.
	Dir string `json:"-"`
}

// loadLimits are ten times what 6000 sessions written out take, and four times their memory.
var loadLimits = expr.Limits{Time: 10 * time.Second, Memory: 1 << 30}

// Load reads and evaluates the manifests. It returns all problems, sorted by file and line.
// The manifest is never nil. After an error it has no sessions, but Root and DataDir can be
// used. A load that takes too much time or memory ends with an error, and continues in the
// background until the next function or attribute, so a program should exit after it.
func Load(o Options) (*Manifest, []session.Diagnostic) { return load(o, loadLimits) }

func load(o Options, limits expr.Limits) (*Manifest, []session.Diagnostic) {
	l := newLoader(o, limits)
	m := defaultManifest(l)
	var known atomic.Pointer[Manifest]
	known.Store(new(*m))
	err := l.eval.Watch.Run(func() {
		l.load(m, func(m Manifest) {
			known.Store(&m)
		})
	})
	if err != nil {
		return known.Load(), []session.Diagnostic{diagnostic(&expr.Problems{Sources: l.Sources}, l.eval.Watch.Problem(err))}
	}
	ds := report(l.Problems)
	if session.HasErrors(ds) {
		m.Sessions, m.Ranges = nil, nil
		m.Moves, m.Removed, m.Imports, m.Outputs = nil, nil, nil, nil
	}
	return m, ds
}

type loader struct {
	*expr.Problems
	*expr.Dirs
	eval    *expr.Evaluator
	opts    Options
	blocks  map[string][]*expr.Block // top-level blocks by type, in order
	ctx     *hcl.EvalContext         // of every expression
	known   names
	gitless bool // the project is not in git, which was reported
}

func newLoader(o Options, limits expr.Limits) *loader {
	p := &expr.Problems{Sources: map[string]*hcl.File{}}
	l := &loader{
		Problems: p,
		Dirs:     &expr.Dirs{Env: map[string]string{}, Repos: map[string]string{}, Texts: map[string]string{}},
		eval:     &expr.Evaluator{Problems: p, Watch: &expr.Watch{Limits: limits}},
		opts:     o,
	}
	for _, kv := range o.Environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			l.Env[name] = value
		}
	}
	return l
}

type reader struct {
	expr.Decoder
	l *loader
}

func (l *loader) reader(ctx *hcl.EvalContext) reader {
	return reader{expr.Decoder{Eval: l.eval, Ctx: ctx}, l}
}

// load runs the phases. It calls settled once the settings are known.
func (l *loader) load(m *Manifest, settled func(Manifest)) {
	files := findManifests(l)
	if l.Failed() {
		return
	}
	bodies, whole := parseFiles(l, files)
	m.Files, m.Dir = files, l.Module
	l.blocks = readBlocks(l, bodies)
	if !whole {
		return // references to the unreadable rest would all be errors
	}
	l.known = indexNames(l)
	l.ctx = newContext(l)
	l.ctx.Variables["var"], m.Sensitive = readVariables(l, readValueFiles(l))
	l.ctx.Variables["local"] = readLocals(l)
	readSettings(l, m)
	settled(*m)
	if l.opts.SettingsOnly {
		return
	}
	agents, broken := readAgents(l)
	m.Agents = maps.Clone(agents)
	maps.DeleteFunc(m.Agents, func(name string, _ Agent) bool { return broken[name] })
	m.Runtimes, m.Certificates = readRuntimes(l)
	m.Secrets = readSecrets(l)
	m.Notifies = readNotifies(l, m.Secrets)
	readPrices(l, m)
	m.Secrets = withWebhooks(m.Secrets, m.Notifies)
	all, ok := expandBlocks(l)
	if !ok {
		return
	}
	built := readSessions(l, m, blockInputs{manifest: m, agents: agents, broken: broken, runtimes: m.Runtimes, instances: all})
	m.Budgets = readBudgets(l, all, built)
	m.NeedsHub = needsHub(l, m)
	readAddressBlocks(l, m, all)
	m.Outputs = readResults(l, m, all, built)
}

func defaultManifest(l *loader) *Manifest {
	abs, err := filepath.Abs(l.opts.Dir)
	if err == nil {
		var real string
		if real, err = filepath.EvalSymlinks(abs); err == nil {
			abs = real
		}
	}
	if err != nil {
		l.FailNowhere("No such project directory", "The directory %q cannot be used: %s.", cmp.Or(l.opts.Dir, "."), expr.Reason(err))
	}
	l.Root, l.Module = abs, abs
	m := &Manifest{
		Root:        abs,
		Dir:         abs,
		Project:     filepath.Base(abs),
		DataDir:     filepath.Join(abs, ".agentform"),
		HistoryKeep: session.Duration(30 * day),
		Parallelism: 10,
		Agents:      builtinAgents(l.opts),
	}
	if l.opts.DataDir != "" {
		if path, err := l.Resolve(l.opts.DataDir, abs); err == nil {
			m.DataDir = path
		}
	}
	return m
}

// names are the declared names, known before anything is evaluated.
type names struct {
	variables, locals, agents, sessions []string // sorted
	runtimes                            map[string][]string
}

func indexNames(l *loader) names {
	var known names
	known.variables = declaredNames(l, "variable")
	known.sessions = declaredNames(l, "session")
	known.agents = declaredNames(l, "agent")
	for _, typ := range []string{"secret", "notify", "output", "check"} {
		declaredNames(l, typ) // nothing refers to them
	}
	for name := range l.opts.Builtins {
		if !slices.Contains(known.agents, name) {
			known.agents = append(known.agents, name)
		}
	}
	slices.Sort(known.agents)
	known.runtimes = map[string][]string{}
	for _, b := range l.blocks["runtime"] {
		kind := b.Labels[0]
		known.runtimes[kind] = append(known.runtimes[kind], b.Labels[1])
	}
	if settings := l.blocks["agentform"]; len(settings) > 1 {
		for _, b := range settings[1:] {
			l.Fail(b.Def, "Duplicate agentform block", "The agentform block is already declared at %s; a project can have only one.", expr.Place(settings[0].Def))
		}
	}
	return known
}

// declaredNames returns sorted names. It reports and drops duplicates and invalid ones.
func declaredNames(l *loader, typ string) []string {
	var list []string
	var kept []*expr.Block
	first := map[string]*expr.Block{}
	for _, b := range l.blocks[typ] {
		name := b.Labels[0]
		if !identifier(name) {
			l.Fail(b.LabelRanges[0], "Invalid name", "%q is not a valid name of %s: a name starts with a letter or underscore, followed by letters, digits, underscores and dashes.", name, expr.Article(typ))
			continue
		}
		if other := first[name]; other != nil {
			l.Fail(b.Def, "Duplicate "+typ, "The name %q is already used by the %s at %s.", name, typ, expr.Place(other.Def))
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
