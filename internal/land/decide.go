package land

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// Method is how work comes to its base.
type Method string

// The methods.
const (
	Merge  Method = "merge"
	Squash Method = "squash"
	Rebase Method = "rebase"
	PR     Method = "pr"
)

// Request is what a person asks for.
type Request struct {
	Method  Method
	Commit  string // message for what is not committed; empty: that is refused
	Message string // of the merge, the squashed commit or the pull request; empty: made from the commits
	Into    string // the base; empty: that of the workspace
	Verify  bool   // run the hooks that can refuse
	// Unverified lands also what the session's verify block has not verified.
	Unverified bool
	Tree       string // of the base afterwards; another one is not landed; empty: any
}

// Facts are what Decide judges.
type Facts struct {
	Address    session.Address
	Branch     string
	Commit     string           // of the branch; empty: it has none
	At         session.Checkout // the workspace
	Ref        string           // in the repository, of a branch that was fetched from a clone; empty: it works in a worktree
	Doing      session.Activity
	Asks       string // what it asks, if it is blocked
	Answers    bool   // the answers to it are known
	Unsaved    git.Risk
	Committed  bool   // what was not committed was, by this landing
	Verifies   bool   // the work has to be verified
	Unverified bool   // and the commit is not
	Red        string // why its verification failed; empty: it was not verified

	Base     string       // a branch; empty: none is known
	BaseTip  string       // empty: it is not a branch of the repository
	Merged   bool         // the base has all the work
	In       string       // the commit of the base that has it, if Merged
	Commits  []git.Commit // that the base lacks
	Conflict []string     // files that conflict, as far as that is known beforehand
	Holders  []Holder     // checkouts of the base

	Remote Remote
}

// unsaved reports whether something is not committed.
func (f Facts) unsaved() bool { return f.Unsaved.Uncommitted+f.Unsaved.Untracked > 0 }

// count returns how many commits are landed, with the one for what is not committed.
func (f Facts) count() int {
	if f.unsaved() {
		return len(f.Commits) + 1
	}
	return len(f.Commits)
}

// done reports whether the base has all the work.
func (f Facts) done() bool { return f.Merged && !f.unsaved() }

// Holder is a checkout of the base.
type Holder struct {
	Path string
	git.Obstacles
	Session session.Address // that works there; empty: none
	Doing   session.Activity
}

// Remote is where a branch is pushed to.
type Remote struct{ Name, URL string }

// Refusal is why work is not landed. Nothing was changed.
type Refusal struct {
	Why   string
	Files []string // that conflict, or would be overwritten
	Next  string   // what to do, a command line; empty: nothing is known
	Send  string   // a message that asks the session's agent to mend it; empty: it cannot
	// Unsaved is what is not committed, for people, if a message for it is all that lacks.
	Unsaved string
}

// maxFiles bounds the files that an error lists.
const maxFiles = 50

// Error returns the reason, the files and what to do.
func (r *Refusal) Error() string {
	text := r.Why
	for _, file := range r.Files[:min(len(r.Files), maxFiles)] {
		text += "\n  " + file
	}
	if more := len(r.Files) - maxFiles; more > 0 {
		text += fmt.Sprintf("\n  … and %d more", more)
	}
	if r.Next != "" {
		text += "\n" + r.Next
	}
	return text
}

// Step is one thing that landing does.
type Step struct {
	Kind   string `json:"kind"` // commit, fetch, merge, squash, rebase, advance, push, pull_request
	Detail string `json:"detail"`
}

// Decide returns the steps that land the work, none if the base has it, or a *Refusal.
func Decide(f Facts, q Request) ([]Step, error) {
	for _, check := range []func(Facts, Request) *Refusal{checkSession, checkWork, checkVerified, checkBase, checkMethod} {
		if r := check(f, q); r != nil {
			return nil, r
		}
	}
	if f.done() {
		return nil, nil
	}
	var steps []Step
	add := func(kind, format string, args ...any) {
		steps = append(steps, Step{kind, fmt.Sprintf(format, args...)})
	}
	if f.unsaved() {
		add("commit", "commit %s on %s: %s", f.Unsaved, f.Branch, firstLine(q.Commit))
	}
	what := plaintext.Count(f.count(), "commit")
	if q.Method == PR {
		add("push", "push %s (%s) to %s", f.Branch, what, f.Remote.Name)
		add("pull_request", "open a pull request against %s: %s", f.Base, firstLine(MessageOf(f, q).Title()))
		return steps, nil
	}
	switch q.Method {
	case Squash:
		add("squash", "squash %s of %s into one: %s", what, f.Branch, MessageOf(f, q).Title())
	case Rebase:
		add("rebase", "rebase %s of %s onto %s", what, f.Branch, f.Base)
	default:
		add("merge", "merge %s of %s into %s", what, f.Branch, f.Base)
	}
	where := ""
	if len(f.Holders) > 0 {
		where = ", checked out at " + f.Holders[0].Path
	}
	add("advance", "move %s%s", f.Base, where)
	return steps, nil
}

// checkSession refuses work that is not at rest.
func checkSession(f Facts, _ Request) *Refusal {
	name := word(f.Address)
	switch f.Doing {
	case session.Working, session.Booting:
		return &Refusal{Why: fmt.Sprintf("%s is %s: what it is about to do would be missing", f.Address, f.Doing),
			Next: fmt.Sprintf("agentform wait %[1]s && agentform land %[1]s lands it when its turn has ended", name)}
	case session.Blocked:
		asks := ""
		if f.Asks != "" {
			asks = ": " + f.Asks
		}
		next := "agentform attach " + name + " shows it"
		if f.Answers {
			next = "agentform answer " + name + " ANSWER answers it"
		}
		return &Refusal{Why: fmt.Sprintf("%s asks a question%s", f.Address, asks), Next: next}
	}
	return nil
}

// checkWork refuses work that is not there, or not committed.
func checkWork(f Facts, q Request) *Refusal {
	name, u := word(f.Address), f.Unsaved
	switch {
	case f.At.Exists && f.At.Branch != f.Branch && f.At.Git:
		is := "detached"
		if f.At.Branch != "" {
			is = fmt.Sprintf("on %q", f.At.Branch)
		}
		return &Refusal{Why: fmt.Sprintf("%s: branch mismatch: its workspace is %s, its branch is %q", f.Address, is, f.Branch),
			Next: fmt.Sprintf("git -C %s switch %s switches it back", plaintext.ShellWord(f.At.Path), f.Branch)}
	case f.Commit == "":
		return &Refusal{Why: fmt.Sprintf("%s: its branch %s does not exist", f.Address, f.Branch)}
	case u.Busy != "":
		return &Refusal{Why: fmt.Sprintf("%s: a %s is in progress in %s", f.Address, u.Busy, f.At.Path),
			Next: "let the agent finish it, or: " + abort(f.At.Path, u.Busy)}
	case f.unsaved() && q.Commit == "":
		why := fmt.Sprintf("%s has %s in %s", f.Address, u, f.At.Path)
		if r := checkMethod(f, q); r != nil && len(r.Files) > 0 { // also when they are committed
			r.Why = why + ", and " + r.Why
			return r
		}
		return &Refusal{Why: why, Next: fmt.Sprintf("agentform land %s --commit MESSAGE commits them first", name), Unsaved: u.String()}
	}
	return nil
}

// checkVerified refuses work that has to be verified and is not.
func checkVerified(f Facts, q Request) *Refusal {
	anyway := fmt.Sprintf("agentform land %s --unverified lands it without that", word(f.Address))
	switch {
	case q.Unverified || f.done() || !f.Unverified && !(f.Verifies && f.unsaved()):
		return nil
	case f.unsaved():
		return &Refusal{Why: fmt.Sprintf("%s: what is not committed is not verified", f.Address), Next: "let the agent commit it, or: " + anyway}
	case f.Red != "":
		return &Refusal{Why: fmt.Sprintf("%s: its commit %s fails verification: %s", f.Address, f.Commit[:min(7, len(f.Commit))], f.Red), Next: anyway}
	}
	return &Refusal{Why: fmt.Sprintf("%s: its commit %s is not verified", f.Address, f.Commit[:min(7, len(f.Commit))]),
		Next: fmt.Sprintf("agentform verify %s does that; %s", word(f.Address), anyway)}
}

// checkBase refuses a base that cannot be moved.
func checkBase(f Facts, q Request) *Refusal {
	name := word(f.Address)
	into := fmt.Sprintf("agentform land %s --into BRANCH names it", name)
	switch {
	case f.Base == "":
		return &Refusal{Why: fmt.Sprintf("%s: cannot determine which branch its work belongs to", f.Address), Next: into}
	case f.Base == f.Branch:
		return &Refusal{Why: fmt.Sprintf("%s works on %s itself: there is nothing to land", f.Address, f.Branch), Next: into}
	case q.Method == PR || f.done():
		return nil
	case f.BaseTip == "":
		return &Refusal{Why: fmt.Sprintf("%s: its base %s is not a branch of this repository", f.Address, f.Base),
			Next: fmt.Sprintf("agentform land %s --pr opens a pull request; %s", name, into)}
	case len(f.Holders) > 1:
		return &Refusal{Why: fmt.Sprintf("%s is checked out twice: %s, %s", f.Base, f.Holders[0].Path, f.Holders[1].Path)}
	}
	for _, h := range f.Holders {
		otherwise := fmt.Sprintf(", or: agentform land %s --pr", name)
		switch {
		case h.Busy != "":
			return &Refusal{Why: fmt.Sprintf("%s is checked out at %s, where a %s is in progress", f.Base, h.Path, h.Busy),
				Next: "finish it first, or: " + abort(h.Path, h.Busy)}
		case len(h.Unmerged) > 0:
			return &Refusal{Why: fmt.Sprintf("%s is checked out at %s with unresolved conflicts; %s:", f.Base, h.Path, unchanged(f)), Files: h.Unmerged,
				Next: "resolve and commit them first" + otherwise}
		case len(h.Overwritten) > 0:
			next := "commit, stash or move them first"
			if h.Hidden {
				next += fmt.Sprintf(" (git status hides what git -C %s ls-files -v marks with S or a small letter)", plaintext.ShellWord(h.Path))
			}
			return &Refusal{Why: fmt.Sprintf("%s is checked out at %s, where landing would overwrite uncommitted work in %s; %s:",
				f.Base, h.Path, plaintext.Count(len(h.Overwritten), "file"), unchanged(f)), Files: h.Overwritten, Next: next + otherwise}
		case h.Session != "" && (h.Doing == session.Working || h.Doing == session.Booting):
			return &Refusal{Why: fmt.Sprintf("%s is checked out at %s, where %s is %s", f.Base, h.Path, h.Session, h.Doing),
				Next: fmt.Sprintf("agentform wait %s waits for it", word(h.Session))}
		}
	}
	return nil
}

// checkMethod refuses what the method cannot do.
func checkMethod(f Facts, q Request) *Refusal {
	switch {
	case f.done():
		return nil
	case q.Method == PR && f.Remote.Name == "":
		return &Refusal{Why: "there is no remote to push " + f.Branch + " to", Next: "git remote add origin URL adds one"}
	case len(f.Conflict) > 0 && q.Method != PR:
		return conflict(f, f.Conflict)
	}
	return nil
}

// abort returns the command line that gives up an operation under way in a checkout.
func abort(path, busy string) string {
	how := "--abort"
	if busy == "bisect" {
		how = "reset"
	}
	return fmt.Sprintf("git -C %s %s %s", plaintext.ShellWord(path), busy, how)
}

// lacks refuses a rebase that would lose what merge commits have.
func lacks(f Facts, merges *git.MergesError) *Refusal {
	return &Refusal{Why: fmt.Sprintf("%s cannot be rebased onto %s: %v", f.Branch, f.Base, merges),
		Next: "merge or squash it instead: land without --rebase, or method = \"merge\" in the refresh block"}
}

// conflict is the refusal of work that conflicts with its base.
func conflict(f Facts, files []string) *Refusal {
	slices.Sort(files)
	files = slices.Compact(files)
	send := fmt.Sprintf("Merge %s into your branch and resolve the conflicts.", f.Base)
	if f.unsaved() {
		send = "Commit your work. " + send
	}
	next := fmt.Sprintf("agentform send %s '%s' asks the agent to; then land it again", word(f.Address), send)
	if f.Ref != "" || f.Doing == "" {
		send = ""
	}
	switch {
	case f.Ref == "" && f.Doing == "" && f.At.Exists:
		next = fmt.Sprintf("its agent does not run; to merge manually: git -C %s merge %s\nthen land it again, or start its agent first: agentform start %s", plaintext.ShellWord(f.At.Path), f.Base, word(f.Address))
	case f.Ref != "":
		next = fmt.Sprintf("its clone does not have %s; to merge manually: git switch %[1]s && git merge %s", f.Base, f.Ref)
	}
	return &Refusal{
		Why:   fmt.Sprintf("%s conflicts with %s in %s; %s:", f.Branch, f.Base, plaintext.Count(len(files), "file"), unchanged(f)),
		Files: files, Next: next, Send: send,
	}
}

// unchanged says what a landing has changed that is refused.
func unchanged(f Facts) string {
	if f.Committed {
		return "its work is committed on " + f.Branch + ", and nothing else was changed"
	}
	return "nothing was changed"
}

// word returns an address as it is typed into a shell.
func word(a session.Address) string { return plaintext.ShellWord(a.Short()) }

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
