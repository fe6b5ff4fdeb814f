package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostKinds is how often code above the runtimes may ask what kind a runtime is. It
// asks for one of session.Traits instead, so that a new runtime changes nothing there.
// Most of the rest read or compare the settings of Docker, or name a container for people.
const mostKinds = 20

// TestKinds counts the comparisons with a runtime's kind, by == and != and by the
// cases of a switch, and the questions whether there are settings of Docker or a
// container, outside of the runtimes themselves, their blocks in config, and test support.
func TestKinds(t *testing.T) {
	kind := func(x ast.Expr) bool {
		l, ok := x.(*ast.BasicLit)
		return ok && slices.Contains([]string{`"docker"`, `"kubernetes"`, `"tmux"`}, l.Value)
	}
	ofRuntime := func(x ast.Expr) bool {
		said := strings.ToLower(types.ExprString(x))
		return strings.Contains(said, "kind") || strings.Contains(said, "runtime")
	}
	hasDocker := func(x, y ast.Expr) bool {
		field, ok := x.(*ast.SelectorExpr)
		value := types.ExprString(y)
		return ok && (field.Sel.Name == "Docker" && value == "nil" || field.Sel.Name == "Container" && value == `""`)
	}
	found := map[string]bool{} // by position: files that are built on both systems count once
	for _, p := range packages(t) {
		if slices.Contains([]string{"tmux", "docker", "kubernetes", "config", "cmd/internal/backends"}, p.name()) || strings.HasPrefix(p.name(), "internal/test/") {
			continue
		}
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			note := func(at ast.Node, asks bool) {
				if asks {
					found[strings.TrimPrefix(files.Position(at.Pos()).String(), p.Dir)+" in "+p.name()] = true
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BinaryExpr:
					note(n, (n.Op == token.EQL || n.Op == token.NEQ) && (kind(n.X) && ofRuntime(n.Y) || kind(n.Y) && ofRuntime(n.X) || hasDocker(n.X, n.Y)))
				case *ast.SwitchStmt:
					for _, c := range n.Body.List {
						note(c, n.Tag != nil && ofRuntime(n.Tag) && slices.ContainsFunc(c.(*ast.CaseClause).List, kind))
					}
				}
				return true
			})
		}
	}
	if len(found) > mostKinds {
		t.Errorf("%d tests of a runtime's kind, more than %d: ask for one of session.Traits\n%v", len(found), mostKinds, found)
	}
	if len(found) < mostKinds {
		t.Errorf("%d tests of a runtime's kind: lower mostKinds from %d", len(found), mostKinds)
	}
}
