package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// words are those that users of tmux, git, kubectl or Terraform do not know, and what
// to write instead.
var words = []struct{ not, say string }{
	{`\b(on|off the|from the) record\b`, "in the state, removed from the state"},
	{`\b(made|begins?|began|starts?|written) anew\b`, "recreated, started over"},
	{`\b(look(s|ed)? at|lay beside|laid beside|held against)\b`, "inspect, check, compare with"},
	{`\bby hand\b`, "manually"},
	{`\bputs? (it |them )?right\b|\bmend(s|ed)?\b`, "fix, repair"},
	{`(^|[^e]) is no (number|duration|text|string|list|valid|git|commit|directory|file|regular|executable|socket|name|terminal|worktree|clone|checkout|JSON|login)\b`, "is not a …"},
	{`\b(stands?|standing)\b`, "exists, is at; is suspended"},
	{`\b(somebody|anybody|a person)\b`, "someone, you; needs attention"},
	{`\bfolders?\b`, "directory"},
	{`\bfor ever\b`, "no limit"},
	{`\bbeside\b`, "next to"},
	{`\bbesides\b`, "also, in addition to"},
	{`\b(so long|so far|as often as)\b`, "the time, until now, continuously"},
	{`\b(takes?|taken) over\b`, "adopt"},
	{`\bours\b`, "managed by agentform"},
	{`\b(lives?|goes) on\b`, "keeps running, continues, resumes"},
	{`\b(is|are|was|were|be) told\b|\btells (it|what|how|which|the|them)\b`, "is reported, shows, prints"},
	{`: want\b|\bwants? [A-Z:]+\b`, "expected …, must be …"},
	{`\b(is|wanted) (wanted|running|stopped|paused) (again|by the manifest)\b|\bwanted (running|stopped|paused)\b`, "declared"},
	{`\busual form\b`, "format"},
	{`\bbegins? (a|an|the|to|with)\b`, "start"},
	{`\bsupervises?\b`, "the hub watches over, a hub is running"},
	{`\b(live world|what is live|lives)\b`, "running sessions; is running"},
	{`\bagentform [a-z-]+ makes\b|\bmakes another\b`, "creates"},
	{`\bthere already\b|\bis not there\b`, "already exists, does not exist"},
	{`\bcannot be (told|had|looked)\b`, "is unknown, is not available, cannot be inspected"},
	{`\bas it is seen\b|\bof usual\b`, "as detected"},
}

// inComments are those that comments must not have either, in which the names of the program's own
// parts may stand.
var inComments = []struct{ not, say string }{
	{`\b(is|are) told\b|\bwhat tells\b`, "is reported, shows, is distinguished from"},
	{`\bof which this\b`, "whose, with"},
	{`\bno matter of\b`, "does not affect"},
	{`\bbut for\b`, "except"},
	{`\bis no error\b`, "is not an error"},
	{`\bfolders?\b`, "directory"},
}

// kept are words that others chose, or that a reader of code may meet.
var kept = []struct{ in, part, why string }{
	{"agent/", "folder", "the built-in agents ask whether to trust a folder"},
	{"", "rust the folder", "as the agents ask"},
	{"", "rust this folder", "as the agents ask"},
	{"", "rust folder", "as the agents ask"},
	{"", "rust a folder", "as the agents ask"},
	{"", "files in this folder", "as the agents ask"},
	{"session/sessiontest/", "", "failures of tests, read by those who write a runtime"},
	{"cmd/internal/sbom/", "", "run by those who release"},
	{"docs/json.md", `"supervisor"`, "a field that programs read"},
	{"docs/json.md", "on_record", "a field that programs read"},
	{"docs/agents/custom.md", "go on?", "what the agent of the example says"},
	{"docs/from-tmux-scripts.md", "'go on'", "what the agent of the example is sent"},
}

func TestWords(t *testing.T) {
	var bad, plain []*regexp.Regexp
	for _, w := range words {
		bad = append(bad, regexp.MustCompile(w.not))
	}
	for _, w := range inComments {
		plain = append(plain, regexp.MustCompile(w.not))
	}
	used, seen := map[int]bool{}, map[string]bool{}
	check := func(file, at, text string) {
		if !strings.Contains(strings.TrimSpace(text), " ") {
			return // a key, a name
		}
		for i, k := range kept {
			if strings.HasPrefix(file, k.in) && strings.Contains(text, k.part) {
				used[i] = true
				if k.part == "" {
					return
				}
				text = strings.ReplaceAll(text, k.part, "")
			}
		}
		for i, re := range bad {
			if found := re.FindString(text); found != "" {
				t.Errorf("%s: %q: write instead: %s\n\t%.160q", at, found, words[i].say, text)
			}
		}
	}
	for _, p := range packages(t) {
		if strings.HasPrefix(p.name(), "internal/test/") {
			continue
		}
		for _, name := range p.GoFiles {
			if seen[p.name()+"/"+name] {
				continue
			}
			seen[p.name()+"/"+name] = true
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, group := range file.Comments {
				for i, re := range plain {
					if found := re.FindString(group.Text()); found != "" && !strings.HasPrefix(p.name(), "agent") {
						t.Errorf("%s: a comment has %q: write instead: %s", files.Position(group.Pos()), found, inComments[i].say)
					}
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ImportSpec:
					return false
				case *ast.BasicLit:
					if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
						check(p.name()+"/"+name, files.Position(n.Pos()).String(), text)
					}
				}
				return true
			})
		}
	}
	// What developers read has words of its own, and BENCHMARKS.md is written by make bench.
	inner := []string{"ARCHITECTURE.md", "BENCHMARKS.md", "GLOSSARY.md"}
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/agents/*.md", "docs/backends/*.md", "internal/server/page/*.html", "internal/server/page/*js"} {
		all, err := filepath.Glob("../../../" + pattern)
		if err != nil || len(all) == 0 {
			t.Fatalf("%s: %v, %v", pattern, all, err)
		}
		for _, path := range all {
			if slices.Contains(inner, filepath.Base(path)) || strings.HasSuffix(path, ".test.mjs") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file := strings.TrimPrefix(filepath.ToSlash(path), "../../../")
			n := 0
			for line := range strings.Lines(string(text)) {
				n++
				if !strings.HasPrefix(strings.TrimSpace(line), "//") || strings.HasSuffix(file, ".md") {
					check(file, file+":"+strconv.Itoa(n), line)
				}
			}
		}
	}
	for i, k := range kept {
		if !used[i] {
			t.Errorf("nothing in %q has %q any more: remove it", k.in, k.part)
		}
	}
}
