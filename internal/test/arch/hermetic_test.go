package arch_test

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// bounds are the calls whose result depends on how fast the machine is, unless a bubble
// of testing/synctest holds them.
var bounds = []string{
	"context.WithDeadline", "context.WithTimeout", "context.WithTimeoutCause",
	"time.After", "time.AfterFunc", "time.NewTicker", "time.NewTimer", "time.Now.Add",
	"time.Since", "time.Sleep", "time.Tick", "time.Until",
}

// listeners are the calls that need a network, if only the loopback interface.
var listeners = []string{
	"http.Get", "http.Head", "http.ListenAndServe", "http.ListenAndServeTLS", "http.Post", "http.PostForm",
	"httptest.NewServer", "httptest.NewTLSServer", "httptest.NewUnstartedServer",
	"net.Dialer", "net.DialTCP", "net.DialUDP", "net.Listen", "net.ListenConfig", "net.ListenPacket", "net.ListenTCP", "net.ListenUDP", "net.ListenUnix", "tls.Listen",
}

// starters are the calls that start a program past package exec's functions.
var starters = []string{"os.StartProcess", "syscall.Exec", "syscall.ForkExec", "syscall.StartProcess"}

// programs are those that a script of sh must not start.
var programs = regexp.MustCompile(`\b(tmux|docker|dockerd|kubectl|psql|curl|npm|node)\b`)

// seeded are the names of math/rand that need a seed, or are types.
var seeded = []string{"rand.New", "rand.NewChaCha8", "rand.NewPCG", "rand.NewSource", "rand.Rand", "rand.Source"}

// outside are the packages of tests that start engines, servers and clusters.
var outside = []string{
	"internal/test/agenttest", "internal/test/dockertest", "internal/test/gitserver", "internal/test/kubetest",
	"internal/test/postgres", "internal/test/relaytest",
}

// TestHermetic keeps make test free of chance: in a test file without the tag real,
// agents or kubernetes nothing waits for a time that is not virtual, starts a program
// other than Go, git, sh and the test itself, listens on a network or draws random numbers
// without a seed. What does so today is listed in testdata/chance.txt, which only gets shorter.
func TestHermetic(t *testing.T) {
	allowed := chances(t)
	found := map[string]int{}
	for _, p := range packages(t) {
		if p.goos != "linux" {
			continue
		}
		tests := &testFiles{calls: map[string][]string{}, bubbles: map[string]bool{}}
		var read []func()
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			read = append(read, tests.parse(t, filepath.Join(p.Dir, name), path.Join(p.name(), name)))
		}
		for _, file := range read {
			file()
		}
		maps.Copy(found, tests.chances())
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if n, most := found[key], allowed[key]; n > most {
			t.Errorf("%s: %d, at most %d: wait for the condition, use testing/synctest, or move the test to a file with the tag real", key, n, most)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(allowed)) {
		if n, most := found[key], allowed[key]; n < most {
			t.Errorf("%s: %d, no longer %d: lower it in testdata/chance.txt", key, n, most)
		}
	}
}

// chances reads testdata/chance.txt: a number, a file and a kind in each line.
func chances(t *testing.T) map[string]int {
	file, err := os.Open("testdata/chance.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all := map[string]int{}
	for in := bufio.NewScanner(file); in.Scan(); {
		if strings.HasPrefix(in.Text(), "#") || in.Text() == "" {
			continue
		}
		var n int
		var name, kind string
		if _, err := fmt.Sscan(in.Text(), &n, &name, &kind); err != nil {
			t.Fatalf("testdata/chance.txt: %q: %v", in.Text(), err)
		}
		all[name+" "+kind] = n
	}
	return all
}

// testFiles are the test files of a package.
type testFiles struct {
	uses  []use
	calls map[string][]string // by a function's name: those that mention it, "" for a bubble
	seed  bool                // they import internal/test/seed, so rapid draws the same numbers
	// bubbles are the functions that call a function in a bubble which is their argument.
	bubbles map[string]bool
}

// A use is a place that depends on chance.
type use struct{ file, kind, in string } // in is the function, "" in a bubble

// parse parses a file, and returns a function that reads what it uses once all are parsed.
func (f *testFiles) parse(t *testing.T, file, name string) (read func()) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string]string{}
	for _, spec := range parsed.Imports {
		full, _ := strconv.Unquote(spec.Path.Value)
		as := path.Base(strings.TrimSuffix(full, "/v2"))
		if spec.Name != nil {
			imports[spec.Name.Name] = as
		} else {
			imports[as] = as
		}
		if short, ours := strings.CutPrefix(full, module+"/"); ours && slices.Contains(outside, short) {
			f.uses = append(f.uses, use{name, "outside", "import"})
		} else if short == "internal/test/seed" {
			f.seed = true
		}
	}
	// called returns what a selector names, such as time.Sleep, if it is of an import.
	called := func(x ast.Expr) string {
		sel, ok := x.(*ast.SelectorExpr)
		if !ok {
			return ""
		}
		said := strings.ReplaceAll(types.ExprString(sel), "()", "")
		first, rest, _ := strings.Cut(said, ".")
		if imports[first] == "" {
			return ""
		}
		return imports[first] + "." + rest
	}
	var walk func(n ast.Node, in string)
	walk = func(n ast.Node, in string) {
		ast.Inspect(n, func(n ast.Node) bool {
			note := func(kind string) { f.uses = append(f.uses, use{name, kind, in}) }
			switch n := n.(type) {
			case *ast.CallExpr:
				by, _ := n.Fun.(*ast.Ident)
				switch name := called(n.Fun); {
				case name == "synctest.Test", by != nil && f.bubbles[by.Name]:
					for _, arg := range n.Args {
						walk(arg, "")
					}
					return false
				case name == "exec.Command" && !harmless(n.Args), name == "exec.CommandContext" && !harmless(n.Args[1:]), slices.Contains(starters, name):
					note("program")
				case (name == "net.Dial" || name == "net.DialTimeout") && types.ExprString(n.Args[0]) != `"unix"`:
					note("listener")
				case name == "rapid.Check" || name == "rapid.MakeCheck" || name == "rapid.MakeFuzz":
					note("rapid")
				}
			case *ast.CompositeLit:
				if called(n.Type) == "exec.Cmd" {
					note("program")
				}
			case *ast.ReturnStmt: // of a clock that is ahead or behind
				if call, ok := first(n.Results).(*ast.CallExpr); ok && called(call.Fun) == "time.Now.Add" {
					walk(call.Args[0], in)
					return false
				}
			case *ast.SelectorExpr:
				switch name := called(n); {
				case slices.Contains(bounds, name):
					note("time")
				case slices.Contains(listeners, name):
					note("listener")
				case strings.HasPrefix(name, "rand.") && !slices.Contains(seeded, name), name == "maphash.MakeSeed":
					note("random")
				}
			case *ast.Ident:
				f.calls[n.Name] = append(f.calls[n.Name], in)
			}
			return true
		})
	}
	for _, d := range parsed.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && callsInBubble(fn, called) {
			f.bubbles[fn.Name.Name] = true
		}
	}
	return func() {
		for _, d := range parsed.Decls {
			in := "package"
			if fn, ok := d.(*ast.FuncDecl); ok {
				in = fn.Name.Name
				if fn.Body != nil {
					walk(fn.Body, in)
				}
				continue
			}
			walk(d, in)
		}
	}
}

// callsInBubble reports whether a function calls one of its parameters in a bubble.
func callsInBubble(fn *ast.FuncDecl, called func(ast.Expr) string) bool {
	params := map[string]bool{}
	for _, field := range fn.Type.Params.List {
		if _, is := field.Type.(*ast.FuncType); is {
			for _, name := range field.Names {
				params[name.Name] = true
			}
		}
	}
	found := false
	ast.Inspect(fn, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && called(call.Fun) == "synctest.Test" {
			ast.Inspect(call, func(n ast.Node) bool {
				x, ok := n.(*ast.Ident)
				found = found || ok && params[x.Name]
				return true
			})
		}
		return true
	})
	return found
}

// first returns the first of some expressions, nil without one.
func first(all []ast.Expr) ast.Expr {
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// harmless reports whether the program of a command line is Go, git, sh or the test itself, and
// starts no other one of programs.
func harmless(argv []ast.Expr) bool {
	for _, arg := range argv[1:] {
		if text, ok := arg.(*ast.BasicLit); ok && programs.MatchString(text.Value) {
			return false
		}
	}
	return slices.Contains([]string{`"go"`, `"git"`, `"sh"`, `"/bin/sh"`, "os.Args[0]"}, types.ExprString(argv[0]))
}

// chances counts the uses by file and kind, without the times of functions that are called in
// bubbles alone, and without rapid where its seed is set.
func (f *testFiles) chances() map[string]int {
	var virtual func(name string, seen []string) bool
	virtual = func(name string, seen []string) bool {
		if name == "" || slices.Contains(seen, name) {
			return true
		}
		return len(f.calls[name]) > 0 && !slices.ContainsFunc(f.calls[name], func(by string) bool { return !virtual(by, append(seen, name)) })
	}
	count := map[string]int{}
	for _, u := range f.uses {
		if u.kind == "time" && virtual(u.in, nil) || u.kind == "rapid" && f.seed {
			continue
		}
		count[u.file+" "+u.kind]++
	}
	return count
}
