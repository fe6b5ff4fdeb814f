package arch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/agentform/agentform"

// floors is the building: a package imports only what stands on a lower floor.
// A new package must be given its floor here, and in docs/ARCHITECTURE.md.
var floors = map[string]int{
	"internal/proc":             -2,
	"internal/stamp":            -2,
	"internal/sleep":            -2,
	"internal/shim/rundir":      -1,
	"internal/shim/filecopy":    -1,
	"internal/shim/install":     0,
	"internal/shim/socketdir":   0,
	"internal/fileid":           -1,
	"internal/layout":           -1,
	"internal/environ":          -1,
	"internal/turn":             0,
	"internal/excerpt":          -1,
	"internal/reach":            -1,
	"internal/plaintext":        -1,
	"internal/tmuxwire":         -1,
	"internal/terminal":         0,
	"session":                   -1,
	"config/expr":               0,
	"internal/language":         0,
	"internal/shim":             0,
	"internal/shim/reported":    1,
	"internal/shim/initd":       2,
	"internal/shim/program":     3,
	"internal/echo":             0,
	"agent":                     1,
	"health":                    1,
	"history":                   1,
	"config":                    2,
	"state":                     1,
	"tmux":                      2,
	"docker":                    3,
	"kubernetes":                3,
	"internal/contained":        2,
	"internal/git":              1,
	"internal/land":             2,
	"internal/follow":           1,
	"internal/notify":           1,
	"internal/sessionfile":      1,
	"internal/input":            1,
	"internal/wire":             1,
	"internal/usage":            0,
	"internal/price":            0,
	"internal/budget":           1,
	"internal/telemetry":        2,
	"internal/test/otlptest":    0,
	"internal/test/turntest":    2,
	"cmd/internal/owner":        2,
	"cmd/internal/secret":       3,
	"plan":                      2,
	"cmd/internal/projectdir":   3,
	"cmd/internal/discover":     3,
	"internal/changes":          2,
	"cmd/internal/action/drift": 13,
	"cmd/internal/action/serve": 11,
	"internal/fleet":            7,
	"internal/verify":           3,
	"internal/pr":               4,
	"internal/conflicts":        3,
	"internal/oneoff":           0,
	"internal/forge":            0,
	"internal/sharedstate":      2,
	"cmd/internal/backends":     3,
	"internal/activity":         2,
	"internal/launch":           3,
	"apply":                     4,
	"internal/remedy":           0,
	"internal/backend":          0,
	"internal/backend/http":     1,
	"internal/backend/s3":       1,
	"internal/backend/pg":       1,
	"internal/backend/sealed":   1,
	".":                         4,
	"api":                       5,
	"internal/engine":           5,
	"cmd/internal/preflight":    5,
	"cmd/internal/rebuild":      5,
	"effect":                    5,
	"internal/status":           6,
	"internal/hub":              8,
	"internal/report":           7,
	"internal/server":           9,
	"internal/hub/service":      9,
	"cmd/internal/doctor":       9,
	"cmd/internal/prune":        8,

	"cmd/internal/view":             10,
	"cmd/internal/help":             9,
	"cmd/internal/explain":          11,
	"cmd/internal/view/ci":          11,
	"cmd/internal/ui":               11,
	"cmd/internal/action/await":     12,
	"cmd/internal/action/workspace": 12,
	"cmd/internal/action/landing":   14,
	"cmd/internal/action/target":    11,
	"cmd/internal/action/choose":    12,
	"cmd/internal/action/reconcile": 13,
	"cmd/internal/action/adopt":     14,
	"cmd/internal/action/run":       14,
	"cmd/internal/action/generate":  11,
	"cmd/internal/action/scaffold":  11,
	"cmd/internal/action/connect":   11,
	"cmd/internal/action/leftover":  11,
	"cmd/internal/action/format":    11,
	"cmd/internal/action/edit":      13,
	"cmd/internal/action/attach":    12,
	"cmd/internal/action/usage":     13,
	"cmd/internal/action/page":      11,
	"cmd/internal/action/watch":     13,
	"cmd/internal/action/services":  14,
	"cmd/internal/action/report":    14,
	"cmd/internal/action/events":    13,
	"cmd/internal/action/logs":      12,
	"cmd/internal/flags":            8,
	"cmd/internal/reporter":         12,
	"cmd/internal/exit":             7,
	"cmd/internal/streams":          11,
	"cmd/internal/opener":           12,
	"cmd/internal/project":          10,
	"cmd/internal/cli":              15,
	"cmd/internal/manual":           16,
	"cmd/internal/sbom":             16,
	"cmd/internal/profiled":         16,
	"cmd/agentform":                 16,
	"cmd/agentform-shim":            16,

	"session/sessiontest":       1,
	"effect/effecttest":         6,
	"internal/test/executable":  0,
	"internal/test/fakeagent":   0,
	"internal/test/gitserver":   0,
	"internal/test/modelserver": 0,
	"internal/test/pipe":        0,
	"internal/test/seed":        0,
	"internal/test/stateserver": 0,
	"internal/test/tick":        0,
	"internal/test/backendtest": 1,
	"internal/test/postgres":    1,
	"internal/test/dockertest":  1,
	"internal/test/kubetest":    1,
	"internal/test/agenttest":   2,
	"internal/test/arch":        15,
	"internal/test/bench":       15,
	"internal/test/crowd":       10,
	"internal/test/page/agent":  15,
	"internal/test/relaytest":   3,
	"internal/test/picture":     15,
	"internal/test/receipt":     0,
	"internal/test/torture":     15,
	"internal/test/wait":        0,
	"docs":                      15,
	"examples":                  15,

	"internal/kubeclient":            0,
	"internal/backend/kubernetes":    1,
	"internal/test/kubetest/cluster": 2,
	"internal/test/kubetest/pause":   1,
	"examples/library":               15,
}

// forbidden imports, each with its reason. A pattern ends in /... or is the
// package itself; "./" begins those of this module.
var forbidden = []struct {
	in     []string // packages; nil: every one but except
	except []string
	what   []string
	why    string
}{
	{
		in:   []string{"session", "plan", "agent", "health", "internal/report"},
		what: []string{"os", "os/...", "net", "net/...", "log", "log/...", "syscall", "golang.org/x/sys/..."},
		why:  "it is pure: a decision is a function of its input, and its tests need no world",
	},
	{
		except: []string{"config", "config/expr"},
		what:   []string{"github.com/hashicorp/hcl/...", "github.com/hashicorp/go-cty-funcs/...", "github.com/zclconf/go-cty/...", "github.com/zclconf/go-cty-yaml"},
		why:    "the manifest loses its syntax once, in config, and is a plain value everywhere else",
	},
	{
		except: []string{"docker"},
		what:   []string{"github.com/docker/...", "github.com/moby/..."},
		why:    "one package knows Docker's SDK, so that one package changes with it",
	},
	{
		except: []string{"internal/backend/pg"},
		what:   []string{"github.com/jackc/..."},
		why:    "one package speaks to PostgreSQL",
	},
	{
		except: []string{"internal/backend/s3"},
		what:   []string{"github.com/aws/...", "github.com/johannesboyne/..."},
		why:    "one package knows the SDK of AWS, so that one package changes with it",
	},
	{
		except: []string{"internal/kubeclient", "internal/backend/kubernetes", "kubernetes"},
		what:   []string{"k8s.io/..."},
		why:    "what is on Kubernetes is behind a runtime and a backend",
	},
	{
		except: []string{"cmd/internal/cli", "cmd/internal/flags", "cmd/internal/help", "cmd/agentform", "cmd/internal/manual"},
		what:   []string{"github.com/spf13/..."},
		why:    "flags end where the work starts",
	},
	{
		in:   []string{"cmd/internal/cli"},
		what: []string{"./plan", "./apply", "./health", "./internal/engine", "./internal/launch", "./docker"},
		why:  "a command parses, calls an action and prints, so that others can call the action, too",
	},
	{
		in:   []string{"cmd/internal/action/..."},
		what: []string{"./cmd/internal/streams", "./cmd/internal/opener", "./cmd/internal/cli", "./cmd/internal/reporter"},
		why:  "an action takes values and returns values: it has no streams, and opens nothing",
	},
	{
		what: []string{"github.com/xeipuuv/..."},
		why:  "what checks documents in tests is no part of the program",
	},
	{
		except: []string{"cmd/internal/view"},
		what:   []string{"go.yaml.in/..."},
		why:    "documents are written as text in one package",
	},
	{
		in: []string{
			"internal/proc", "internal/shim", "internal/shim/rundir", "internal/shim/program", "internal/shim/initd",
			"internal/stamp", "internal/tmuxwire", "cmd/agentform-shim",
		},
		what: []string{"*.*/..."},
		why:  "the shim is every agent's parent: the standard library only keeps it small",
	},
}

// vague names say nothing about what is inside.
var vague = []string{"util", "utils", "common", "helper", "helpers", "types", "misc", "manager", "runtime"}

// most is how many methods a type may have. A type with more has more than one
// reason to change.
const most = 25

// large is how many fields an unexported struct may have before the functions that take it first count
// as its methods: a receiver that became an argument divides nothing.
const large = 15

// many are types that have more, and how many. They only become fewer.
var many = map[string]int{"config.loader": 67, "plan.join": 58, "apply.job": 29, "internal/shim/program.run": 28}

type pkg struct {
	ImportPath, Dir           string
	GoFiles                   []string
	TestGoFiles, XTestGoFiles []string
	Imports                   []string
	goos                      string
}

func (p pkg) name() string { return nameOf(p.ImportPath) }

// nameOf returns the path of a package below the module's, which itself is ".".
func nameOf(importPath string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}

func TestFloors(t *testing.T) {
	for _, p := range packages(t) {
		floor, known := floors[p.name()]
		if !known {
			t.Errorf("%s has no floor: give it one in this test and in docs/ARCHITECTURE.md", p.name())
			continue
		}
		for _, in := range p.Imports {
			dep := nameOf(in)
			if below, known := floors[dep]; known && below >= floor {
				t.Errorf("%s (floor %d) imports %s (floor %d): only lower floors may be imported", p.name(), floor, dep, below)
			}
		}
	}
}

func TestForbiddenImports(t *testing.T) {
	for _, p := range packages(t) {
		for _, f := range forbidden {
			if f.in != nil && !slices.ContainsFunc(f.in, func(w string) bool { return matches(w, p.name()) }) || slices.Contains(f.except, p.name()) {
				continue
			}
			for _, in := range p.Imports {
				if name := nameOf(in); name != in {
					in = "./" + name
				}
				if slices.ContainsFunc(f.what, func(w string) bool { return matches(w, in) }) {
					t.Errorf("%s imports %s: %s", p.name(), in, f.why)
				}
			}
		}
	}
}

func TestSourceRules(t *testing.T) {
	for _, p := range packages(t) {
		if slices.Contains(vague, path.Base(p.name())) {
			t.Errorf("%s: a package is named after what it is for", p.name())
		}
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" && p.name() != "internal/test/seed" {
					t.Errorf("%s/%s has an init function: nothing happens before main says so", p.name(), name)
				}
			}
		}
	}
}

func TestMethods(t *testing.T) {
	methods := map[string]map[string]bool{}
	fields := map[string]int{} // of unexported structs
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				countFields(p.name(), d, fields)
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Recv == nil && len(f.Type.Params.List) == 0 {
					continue
				}
				receiver := ""
				if f.Recv != nil {
					receiver = p.name() + "." + typeName(f.Recv.List[0].Type)
				} else {
					receiver = p.name() + ".." + typeName(f.Type.Params.List[0].Type)
				}
				if methods[receiver] == nil {
					methods[receiver] = map[string]bool{}
				}
				methods[receiver][f.Name.Name] = true
			}
		}
	}
	for key := range methods {
		p, name, ok := strings.Cut(key, "..")
		if of := p + "." + name; ok && methods[of] != nil && fields[of] > large {
			for f := range methods[key] {
				methods[of][f] = true
			}
		}
	}
	for receiver, names := range methods {
		if n := len(names); n < many[receiver] {
			t.Errorf("%s has %d methods, no longer %d: lower it in this test", receiver, n, many[receiver])
		}
		if len(names) > max(most, many[receiver]) && !strings.Contains(receiver, "..") {
			t.Errorf("%s has %d methods, more than %d: divide it by its reasons to change", receiver, len(names), most)
		}
	}
}

// countFields counts the fields of unexported structs.
func countFields(in string, d ast.Decl, fields map[string]int) {
	g, ok := d.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, s := range g.Specs {
		spec, ok := s.(*ast.TypeSpec)
		if !ok || spec.Name.IsExported() {
			continue
		}
		if x, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range x.Fields.List {
				fields[in+"."+spec.Name.Name] += max(1, len(f.Names))
			}
		}
	}
}

// typeName returns the name of a receiver's type, without its star and its type
// parameters.
func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.IndexExpr:
		return typeName(x.X)
	case *ast.IndexListExpr:
		return typeName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return "?"
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, in string
		want        bool
	}{
		{"os", "os", true},
		{"os", "os/exec", false},
		{"os/...", "os/exec", true},
		{"net/...", "netip", false},
		{"*.*/...", "golang.org/x/sys/unix", true},
		{"*.*/...", "os/exec", false},
	} {
		if got := matches(c.pattern, c.in); got != c.want {
			t.Errorf("matches(%q, %q) = %v", c.pattern, c.in, got)
		}
	}
}

// matches reports whether the import path is meant: the path itself, what is
// below "x/...", or, for "*.*/...", whatever is not in the standard library.
func matches(pattern, in string) bool {
	if pattern == "*.*/..." {
		first, _, _ := strings.Cut(in, "/")
		return first != "." && strings.Contains(first, ".")
	}
	below, ok := strings.CutSuffix(pattern, "...")
	return ok && strings.HasPrefix(in, below) || in == pattern
}

// packages lists the module's packages as the go command sees them for Linux
// and for macOS.
func packages(t *testing.T) []pkg {
	t.Helper()
	var all []pkg
	for _, goos := range []string{"linux", "darwin"} {
		cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles,Imports", module+"/...")
		cmd.Env = append(cmd.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				t.Fatalf("go list: %v: %s", err, exit.Stderr)
			}
			t.Fatalf("go list: %v", err)
		}
		for dec := json.NewDecoder(bytes.NewReader(out)); ; {
			var p pkg
			if err := dec.Decode(&p); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("go list: %v", err)
			}
			p.goos = goos
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		t.Fatal("go list found no package")
	}
	return all
}
