package arch_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// factual are the packages that leave the words of remedies to internal/remedy.
var factual = []string{"plan", "apply", "state", "docker", "tmux", "session", "internal/engine"}

var commandLine = regexp.MustCompile(`\bagentform (adopt|apply|attach|capture|destroy|doctor|drift|events|fetch|init|logs|next|output|pause|plan|prune|restart|resume|run|send|serve|show|start|state|status|stop|validate|wait|watch)\b`)

func TestNoCommandLines(t *testing.T) {
	for _, p := range packages(t) {
		if !slices.Contains(factual, p.name()) {
			continue
		}
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING && commandLine.MatchString(s.Value) {
					t.Errorf("%s: %s: command lines are in internal/remedy, by the code of the problem", files.Position(s.Pos()), s.Value)
				}
				return true
			})
		}
	}
}

// longestCommand is how many lines a file of a command may have: its help and flags, what it calls, and how
// it prints the result.
const longestCommand = 150

func TestCommandsAreShort(t *testing.T) {
	for _, p := range packages(t) {
		if p.name() != "cmd/internal/cli" {
			continue
		}
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(text, []byte("\n")); n > longestCommand {
				t.Errorf("%s has %d lines, more than %d: an action in cmd/internal/action does what a command does", name, n, longestCommand)
			}
		}
	}
}
