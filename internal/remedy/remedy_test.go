package remedy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

var unfilled = regexp.MustCompile(`\{\w`)

// A remedy without words would be lost.
func TestEveryRemedyHasWords(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../session/remedy.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			code, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes++
			words := With("", session.Remedy{Code: session.RemedyCode(code), Address: "session.a"})
			if words == "" || unfilled.MatchString(words) {
				t.Errorf("%s: %q", code, words)
			}
		}
		return true
	})
	if codes != len(table) {
		t.Errorf("%d codes, and words for %d", codes, len(table))
	}
}

// command matches the beginning of a command line in words.
var command = regexp.MustCompile(`: (agentform|cp|git|mv) `)

func TestEachCommandHasALine(t *testing.T) {
	for code := range table {
		for line := range strings.SplitSeq(With("", session.Remedy{Code: code, Path: "/p", Address: "session.a"}), "\n") {
			if len(command.FindAllString(line, -1)) > 1 {
				t.Errorf("%s: two commands on a line: %s", code, line)
			}
		}
	}
}

func TestWords(t *testing.T) {
	a := session.Remedy{Address: `session.a["x"]`, Holder: "session.b", Renamed: "", ID: "tmux:/run/t/b c", Host: "mars",
		Repo: "/src/my shop", Path: "/ws/a", Branch: "agents/a", HolderPath: "/ws/b", HolderBranch: "agents/b", Commit: "012345678"}
	of := func(code session.RemedyCode, change ...func(*session.Remedy)) session.Remedy {
		r := a
		r.Code = code
		for _, c := range change {
			c(&r)
		}
		return r
	}
	free := func(r *session.Remedy) { r.HolderPath = "" }
	inside := func(r *session.Remedy) { r.InContainer = true }
	const gone = "it is the workspace of session.b, which is no longer in the manifest, and is not changed\n"
	const moved = gone + "if it was renamed, write in the manifest:\nmoved {\n  from = session.b\n  to   = session.a[\"x\"]\n}\n"
	for want, r := range map[string]session.Remedy{
		"x; agentform adopt session.b 'tmux:/run/t/b c' takes it back":                                                                           of(session.RemedyAdopt),
		"x; stop or rename it, or adopt it: agentform adopt a tmux:/run/t/b c":                                                                   of(session.RemedyAdoptForeign),
		"x: agentform apply --replace 'session.a[\"x\"]' creates another":                                                                        of(session.RemedyReplaceStuck),
		"x; agentform apply --replace 'session.a[\"x\"]' creates one that has":                                                                   of(session.RemedyReplaceShimless),
		"x: agentform doctor 'a[\"x\"]' shows why and what to do":                                                                                of(session.RemedyDoctor),
		"x: agentform resume 'a[\"x\"]' resumes it":                                                                                              of(session.RemedyResume),
		"x\nremove one of them from the state first: agentform state rm 'session.a[\"x\"]'":                                                      of(session.RemedyForgetRecord),
		"x\n" + moved + "else stop it, and move its workspace away: agentform destroy --target session.b":                                        of(session.RemedyDestroyHolder),
		"x\n" + moved + "else stop it, and free the branch: agentform destroy --target session.b && git -C '/src/my shop' worktree remove /ws/b": of(session.RemedyHolderRemoved),
		"x\n" + gone + "if it was renamed, move session.a[\"x\"] to its new address first, then: agentform state mv session.b 'session.a[\"x\"]'\n" +
			"else stop it, and free the branch: agentform destroy --target session.b && git -C '/src/my shop' worktree remove /ws/b": of(session.RemedyMoveHolder),
		"x\nit is the workspace of session.b, which is declared on another branch\nif it was renamed: agentform state mv session.b 'session.a[\"x\"]'\nelse " + freeBranch: of(session.RemedyHolderMoves),
		"x\nit is the workspace of session.b; " + freeBranch: of(session.RemedyHolderStays),
		"x\nit is the workspace of session.b: the two sessions swap their branches, and agentform never switches branches\n" +
			"to swap them: git -C /ws/a switch --detach && git -C /ws/b switch agents/b && git -C /ws/a switch agents/a": of(session.RemedySwapBranches),
		"x\nto fix it: \"agents/a\" is checked out by /ws/b; switch that checkout to another branch first, then git -C /ws/a switch agents/a": of(session.RemedySwitch),
		"x\nto fix it: git -C /ws/a switch agents/a":                                                  of(session.RemedySwitch, free),
		"x\nto fix it: agentform exec 'a[\"x\"]' -- git switch agents/a":                              of(session.RemedySwitch, inside),
		"x\nagentform never switches branches: git -C /ws/a switch agents/a":                          of(session.RemedySwitchDeclared, free),
		"x\nto fix it, keeping the commits there: git -C /ws/a switch agents/a":                       of(session.RemedySwitchDetached, free),
		"x\nto restore it: git -C /ws/a branch agents/a 012345678":                                    of(session.RemedyRestoreBranch),
		"x\nto restore it: git -C /ws/a branch agents/a COMMIT":                                       of(session.RemedyRestoreBranch, func(r *session.Remedy) { r.Commit = "" }),
		"x\nto restore it: agentform exec 'a[\"x\"]' -- git branch agents/a 012345678":                of(session.RemedyRestoreBranch, inside),
		"x; run agentform there, or, if mars no longer exists: agentform state rm 'session.a[\"x\"]'": of(session.RemedyOtherHost),
		"x\n" + moved + "to fix it: git -C /ws/a switch agents/a":                                     of(session.RemedySwitch, free, func(r *session.Remedy) { r.Renamed = "session.b" }),
		"x": {},
	} {
		if diff := cmp.Diff(want, With("x", r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", r.Code, diff)
		}
	}
}
