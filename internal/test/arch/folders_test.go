package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"testing"
)

// TestFolders checks that only layout.Data knows the names of directories in a data directory.
func TestFolders(t *testing.T) {
	names := []string{`"agents"`, `"blobs"`, `"containers"`, `"copies"`, `"runs"`, `"workspaces"`}
	for _, p := range packages(t) {
		if p.name() == "internal/layout" {
			continue
		}
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !slices.Contains([]string{"filepath.Join", "path.Join"}, types.ExprString(call.Fun)) {
					return true
				}
				for _, arg := range call.Args {
					if l, ok := arg.(*ast.BasicLit); ok && slices.Contains(names, l.Value) {
						t.Errorf("%s joins %s: ask layout.Data where it is", files.Position(l.Pos()), l.Value)
					}
				}
				return true
			})
		}
	}
}
