package verify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

func spec(on session.OnFailure) session.Verify {
	return session.Verify{Command: []string{"make", "test"}, OnFailure: on, Rounds: 3}
}

// failed is the recorded failure of a commit, at noon.
func failed(commit string, round int, change ...func(*session.Verified)) *session.Verified {
	v := session.Verified{Commit: commit, Block: spec(session.FailureSends), At: noon, Round: round, Detail: "exit status 2"}
	for _, c := range change {
		c(&v)
	}
	return &v
}

func sent(v *session.Verified)    { v.SentAt = minute(1) }
func held(v *session.Verified)    { v.Held = true }
func unsaved(v *session.Verified) { v.Unsaved = true }

func TestDecide(t *testing.T) {
	ok := &session.Verified{Commit: "b", Block: spec(session.FailureSends), OK: true, At: noon}
	send := spec(session.FailureSends)
	change := func(change func(*session.Verify)) session.Verify {
		s := send
		change(&s)
		return s
	}
	commits := change(func(v *session.Verify) { v.Commit = true })
	for name, c := range map[string]struct {
		Facts
		want Action
	}{
		"no block":                         {Facts{Commit: "b", Ended: noon}, Nothing},
		"its turn goes on":                 {Facts{Spec: send, Commit: "b"}, Nothing},
		"it has committed nothing":         {Facts{Spec: send, Ended: noon}, Nothing},
		"never verified":                   {Facts{Spec: send, Commit: "b", Ended: noon}, Run},
		"another commit":                   {Facts{Spec: send, Commit: "c", Ended: noon, Was: ok}, Run},
		"another command":                  {Facts{Spec: session.Verify{Command: []string{"make"}}, Commit: "b", Ended: noon, Was: ok}, Run},
		"another protected file":           {Facts{Spec: change(func(v *session.Verify) { v.Protect = []string{"a"} }), Commit: "b", Ended: noon, Was: ok}, Run},
		"more time, and verified":          {Facts{Spec: change(func(v *session.Verify) { v.Timeout = 9 }), Commit: "b", Ended: noon, Was: ok}, Nothing},
		"more time, and somebody needed":   {Facts{Spec: change(func(v *session.Verify) { v.Timeout = 9 }), Commit: "b", Given: minute(2), Ended: minute(3), Was: failed("b", 1, sent, held)}, Run},
		"more rounds":                      {Facts{Spec: change(func(v *session.Verify) { v.Rounds = 9 }), Commit: "b", Ended: noon, Was: failed("b", 3, held)}, Run},
		"verified":                         {Facts{Spec: send, Commit: "b", Ended: noon, Was: ok}, Nothing},
		"verified, and another turn":       {Facts{Spec: send, Commit: "b", Ended: minute(1), Was: &session.Verified{Commit: "b", Block: send, OK: true, At: noon}}, Renew},
		"verified, and changed":            {Facts{Spec: send, Commit: "b", Ended: minute(1), Unsaved: []string{"a"}, Was: ok}, Run},
		"it fails":                         {Facts{Spec: send, Commit: "b", Ended: noon, Was: failed("b", 1)}, Send},
		"it is being sent":                 {Facts{Spec: send, Commit: "b", Given: minute(2), Was: failed("b", 1, sent)}, Nothing},
		"killed while it sent":             {Facts{Spec: send, Commit: "b", Ended: noon, Was: failed("b", 1, sent)}, Hold},
		"the next turn committed nothing":  {Facts{Spec: send, Commit: "b", Given: minute(2), Ended: minute(3), Was: failed("b", 1, sent)}, Hold},
		"the next turn committed":          {Facts{Spec: send, Commit: "c", Given: minute(2), Ended: minute(3), Was: failed("b", 1, sent)}, Run},
		"the next turn removed a file":     {Facts{Spec: send, Commit: "b", Given: minute(2), Ended: minute(3), Was: failed("b", 1, sent, unsaved)}, Run},
		"what was not committed fails":     {Facts{Spec: send, Commit: "b", Ended: noon, Was: failed("b", 1, unsaved)}, Send},
		"all rounds are used":              {Facts{Spec: send, Commit: "b", Ended: noon, Was: failed("b", 3)}, Hold},
		"somebody is needed":               {Facts{Spec: send, Commit: "b", Given: minute(2), Ended: minute(3), Was: failed("b", 3, held)}, Nothing},
		"somebody has helped":              {Facts{Spec: send, Commit: "c", Given: minute(2), Ended: minute(3), Was: failed("b", 3, held)}, Run},
		"a failure that holds":             {Facts{Spec: spec(session.FailureHolds), Commit: "b", Ended: noon, Was: failed("b", 0)}, Hold},
		"a failure that is ignored":        {Facts{Spec: spec(session.FailureIgnored), Commit: "b", Ended: noon, Was: failed("b", 0)}, Nothing},
		"ignored, and another commit":      {Facts{Spec: spec(session.FailureIgnored), Commit: "c", Ended: noon, Was: failed("b", 0)}, Run},
		"what it left is committed":        {Facts{Spec: commits, Commit: "b", Given: minute(2), Ended: minute(3), Unsaved: []string{"a"}, Was: ok}, Commit},
		"of its first turn, too":           {Facts{Spec: commits, Given: minute(2), Ended: minute(3), Unsaved: []string{"a"}}, Commit},
		"it could not be committed":        {Facts{Spec: commits, Commit: "c", Given: minute(2), Ended: minute(3), Unsaved: []string{"a"}, Uncommittable: "no", Was: ok}, Run},
		"changed after its turn":           {Facts{Spec: commits, Commit: "b", Given: minute(2), Ended: minute(3), Unsaved: []string{"a"}, Was: &session.Verified{Commit: "b", Block: send, OK: true, At: minute(4)}}, Nothing},
		"changed before it was asked":      {Facts{Spec: commits, Commit: "b", Ended: minute(3), Unsaved: []string{"a"}, Was: ok}, Run},
		"in a fresh checkout from now on":  {Facts{Spec: change(func(v *session.Verify) { v.Clean = true }), Commit: "b", Ended: noon, Was: ok}, Run},
		"the turn before what it was sent": {Facts{Spec: send, Commit: "b", Given: minute(1), Ended: noon, Was: failed("b", 1, sent)}, Nothing},
	} {
		c.Based, c.Works = true, c.Commit != ""
		if got := Decide(c.Facts); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestDecideNone checks what becomes of a session whose agent has ended its turn without a commit.
func TestDecideNone(t *testing.T) {
	send, file := spec(session.FailureSends), []string{"a"}
	none := func(v *session.Verified) { v.None, v.Held, v.Round = true, true, 0 }
	for name, c := range map[string]struct {
		Facts
		finish, never Action
	}{
		"nothing":                         {Facts{}, Run, Nothing},
		"a file":                          {Facts{Unsaved: file}, Run, Run},
		"asked nothing":                   {Facts{Given: time.Time{}, Unsaved: file}, Nothing, Nothing},
		"asked nothing since it started":  {Facts{From: minute(9), Unsaved: file}, Nothing, Nothing},
		"it works":                        {Facts{Ended: time.Time{}, Unsaved: file}, Nothing, Nothing},
		"nothing again":                   {Facts{Was: failed("b", 1, none)}, Nothing, Nothing},
		"a file, since somebody helped":   {Facts{Was: failed("b", 1, none), Unsaved: file}, Run, Run},
		"a file still":                    {Facts{Was: failed("b", 1, sent, unsaved), Unsaved: file}, Run, Run},
		"a file no more":                  {Facts{Was: failed("b", 1, sent, unsaved)}, Hold, Hold},
		"the work is in its base":         {Facts{Was: &session.Verified{Commit: "b", Block: send, OK: true, At: noon}}, Renew, Renew},
		"its base has all, and a file":    {Facts{Was: &session.Verified{Commit: "b", Block: send, OK: true, At: noon}, Unsaved: file}, Run, Run},
		"nothing, after work was removed": {Facts{Was: failed("a", 1, sent)}, Run, Nothing},
	} {
		c.Spec, c.Based, c.Commit = send, true, "b"
		if name != "asked nothing" {
			c.Given = minute(2)
		}
		if name != "it works" {
			c.Ended = minute(3)
		}
		for finish, want := range map[session.Finish]Action{session.FinishVerified: c.finish, session.FinishNever: c.never} {
			c.Finish = finish
			if got := Decide(c.Facts); got != want {
				t.Errorf("%s, finish %s: %q, want %q", name, finish, got, want)
			}
		}
	}
	f := Facts{Spec: send, Given: noon, Ended: noon, Unsaved: file}
	if got := Decide(f); got != Nothing {
		t.Errorf("without a base: %q", got)
	}
	if f.Finish = session.FinishVerified; Decide(f) != Run {
		t.Error("without a base it is finished by nothing, and nobody is called")
	}
}

func TestJudge(t *testing.T) {
	send, ran := spec(session.FailureSends), Outcome{Ran: session.Verification{Failed: "exit status 2", Log: "/log"}}
	for name, c := range map[string]struct {
		Facts
		Outcome
		want session.Verified // without what is the same in all
	}{
		"it holds":          {Facts{Spec: send}, Outcome{}, session.Verified{OK: true}},
		"it holds again":    {Facts{Spec: send, Was: failed("a", 2, sent)}, Outcome{}, session.Verified{OK: true}},
		"it fails":          {Facts{Spec: send}, ran, session.Verified{Round: 1, Detail: "exit status 2", Log: "/log"}},
		"after a success":   {Facts{Spec: send, Was: &session.Verified{Commit: "a", OK: true}}, ran, session.Verified{Round: 1, Detail: "exit status 2", Log: "/log"}},
		"once more":         {Facts{Spec: send, Was: failed("a", 1, sent)}, ran, session.Verified{Round: 2, Detail: "exit status 2", Log: "/log"}},
		"the last time":     {Facts{Spec: send, Was: failed("a", 2, sent)}, ran, session.Verified{Round: 3, Detail: "exit status 2", Log: "/log", Held: true}},
		"after somebody":    {Facts{Spec: send, Given: minute(1), Was: failed("a", 3, held)}, ran, session.Verified{Round: 1, Detail: "exit status 2", Log: "/log"}},
		"after nobody":      {Facts{Spec: send, Given: minute(-1), Was: failed("a", 3, held)}, ran, session.Verified{Round: 3, Detail: "exit status 2", Log: "/log", Held: true}},
		"fewer rounds":      {Facts{Spec: send, Given: minute(2), Was: failed("a", 4, sent)}, ran, session.Verified{Round: 4, Detail: "exit status 2", Log: "/log", Held: true}},
		"the same by hand":  {Facts{Spec: send, Was: failed("b", 2, sent)}, ran, session.Verified{Round: 2, Detail: "exit status 2", Log: "/log", SentAt: minute(1)}},
		"the last by hand":  {Facts{Spec: send, Was: failed("b", 3, held)}, ran, session.Verified{Round: 3, Detail: "exit status 2", Log: "/log", Held: true}},
		"more rounds":       {Facts{Spec: session.Verify{Command: send.Command, OnFailure: send.OnFailure, Rounds: 5}, Was: failed("b", 3, held)}, ran, session.Verified{Round: 3, Detail: "exit status 2", Log: "/log"}},
		"another command":   {Facts{Spec: send, Was: failed("b", 1, sent, func(v *session.Verified) { v.Block.Command = nil })}, ran, session.Verified{Round: 2, Detail: "exit status 2", Log: "/log"}},
		"a failure holds":   {Facts{Spec: spec(session.FailureHolds)}, ran, session.Verified{Detail: "exit status 2", Log: "/log", Held: true}},
		"it is ignored":     {Facts{Spec: spec(session.FailureIgnored)}, ran, session.Verified{Detail: "exit status 2", Log: "/log"}},
		"not committed":     {Facts{Spec: send}, Outcome{Unsaved: []string{"a", "b"}}, session.Verified{Round: 1, Detail: "not committed: a, b", Unsaved: true}},
		"begun after all":   {Facts{Spec: send, Was: failed("b", 0, held, func(v *session.Verified) { v.None = true })}, Outcome{Unsaved: []string{"a"}}, session.Verified{Round: 1, Detail: "not committed: a", Unsaved: true}},
		"nothing":           {Facts{Spec: send}, Outcome{None: "no commit"}, session.Verified{Detail: "no commit", None: true, Held: true}},
		"nothing, ignored":  {Facts{Spec: spec(session.FailureIgnored)}, Outcome{None: "no commit"}, session.Verified{Detail: "no commit", None: true}},
		"still not":         {Facts{Spec: send, Was: failed("b", 1, sent, unsaved)}, Outcome{Unsaved: []string{"a"}}, session.Verified{Round: 2, Detail: "not committed: a", Unsaved: true}},
		"protected":         {Facts{Spec: send}, Outcome{Protected: []string{"Makefile"}}, session.Verified{Round: 1, Detail: "it changes protected files: Makefile"}},
		"it moves the work": {Facts{Spec: send}, Outcome{Moved: "0123456789"}, session.Verified{Round: 1, Detail: "the command moved the branch to 0123456"}},
		"it changes files":  {Facts{Spec: send}, Outcome{Changed: []string{"go.sum"}}, session.Verified{Round: 1, Detail: "the command changed the workspace: go.sum"}},
	} {
		c.Facts.Commit = "b"
		c.want.Commit, c.want.Block, c.want.At = "b", c.Spec, minute(9)
		if d := cmp.Diff(c.want, Judge(c.Facts, c.Outcome, minute(9))); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestProtected(t *testing.T) {
	changes := func(files []string) (all []git.FileChange) { // those that end with @ are links
		for _, f := range files {
			name, link := strings.CutSuffix(f, "@")
			all = append(all, git.FileChange{Name: name, Link: link})
		}
		return all
	}
	plain := func(files []string) (names []string) {
		for _, f := range changes(files) {
			names = append(names, f.Name)
		}
		slices.Sort(names)
		return names
	}
	for _, c := range []struct {
		pattern   string
		yes, nope []string
	}{
		{"Makefile", []string{"Makefile"}, []string{"a/Makefile", "Makefile2"}},
		{"tests", []string{"tests/a", "tests/b/c"}, []string{"a/tests/x"}},
		{"tests/**", []string{"tests/a", "tests/b/c"}, []string{"tests", "test/a", "a/tests/b"}},
		{"**/*_test.go", []string{"a_test.go", "a/b_test.go", "a/b/c_test.go"}, []string{"a.go", "a/test.go"}},
		{"a/**/z", []string{"a/z", "a/b/z", "a/b/c/z", "a/b/z/x"}, []string{"z", "a/b", "b/a/z"}},
		{"*.md", []string{"a.md"}, []string{"a/b.md"}},
		{"**", []string{"a", "a/b"}, nil},
		{"tsub/**", []string{"tsub@"}, []string{"sub@"}},
		{"a/b/c", []string{"a@", "a/b@", "a/b/c@"}, []string{"b@", "a/c@"}},
		{"*/x", []string{"a@", "b/x"}, []string{"a", "a/b@"}},
		{"**/*_test.go", nil, []string{"a@", "a/b@"}},
	} {
		if got := Protected([]string{"other", c.pattern}, changes(slices.Concat(c.nope, c.yes))); !slices.Equal(got, plain(c.yes)) {
			t.Errorf("%s matches %q, want %q", c.pattern, got, c.yes)
		}
	}
}

func TestMessage(t *testing.T) {
	v := session.Verified{Commit: "0123456789", Block: session.Verify{Command: []string{"sh", "-c", "make test"}}, Detail: "exit status 2: FAIL", Log: "/runs/1/verify.log"}
	const want = "Your commit 0123456 does not pass verification: exit status 2: FAIL.\n\n$ sh -c 'make test'\none\ntwo\n\nThe whole output is in /runs/1/verify.log.\n\nFix it and commit the result."
	if d := cmp.Diff(want, Message(v, "sh -c 'make test'", "\x1b[31mone\x1b[0m\r\ntwo\n")); d != "" {
		t.Error(d)
	}
	v.Unsaved, v.Detail, v.Log = true, "not committed: a", ""
	if d := cmp.Diff("Your work does not pass verification: not committed: a.\n\nFix it and commit the result.", Message(v, "make test", "")); d != "" {
		t.Error(d)
	}
}

func TestFirstLines(t *testing.T) {
	many := strings.Repeat("+a\n", 100)
	for diff, want := range map[string]string{
		"":                        "",
		many:                      many,
		many + "+b\n":             many + "\n…\n",
		strings.Repeat("é", 6000): strings.Repeat("é", 5120) + "\n…\n",
	} {
		if got := firstLines(diff); got != want {
			t.Errorf("%.20q: %d bytes, want %d", diff, len(got), len(want))
		}
	}
}
