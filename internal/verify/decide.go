package verify

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// Action is what to do about the work of a session.
type Action string

// The actions.
const (
	Nothing Action = ""
	Commit  Action = "commit" // commit what its turn has left
	Run     Action = "run"    // verify it
	Send    Action = "send"   // give its agent the failure that is recorded
	Hold    Action = "hold"   // record that it needs a person
	Renew   Action = "renew"  // record that it still holds: another turn has ended at the same commit
)

// Facts are what Decide judges.
type Facts struct {
	Spec   session.Verify
	Was    *session.Verified // nil: nothing is recorded
	Finish session.Finish
	Commit string // of its branch
	Works  bool   // the commit has work that the base lacks
	Based  bool   // there is a base to compare it with
	// Unsaved are the files of its workspace that are not committed.
	Unsaved []string
	// Uncommittable is why they could not be committed, which was tried; empty: it was not.
	Uncommittable string
	Given         time.Time // when its agent was last given something; zero: it was not
	Ended         time.Time // when its agent ended the turn of that; zero: it has not
	From          time.Time // turns that ended before do not count: its agent was started again
}

// asked reports whether the agent has ended the turn of something that it was given since it was
// started.
func (f Facts) asked() bool { return !f.Given.IsZero() && f.Ended.After(f.From) }

// commits reports whether what is not committed is to be.
func (f Facts) commits() bool {
	return f.Spec.Commit && f.Based && len(f.Unsaved) > 0 && f.Uncommittable == "" && f.asked()
}

// unsent reports whether it is unknown if the agent received the failure: the sender was killed,
// perhaps after typing.
func (f Facts) unsent() bool {
	return f.Was != nil && !f.Was.SentAt.IsZero() && f.Given.Before(f.Was.SentAt)
}

// Decide returns what to do about the work of a session.
func Decide(f Facts) Action {
	was := f.Was
	known := was != nil && was.Commit == f.Commit && was.Block.SameTest(f.Spec)
	switch {
	case !f.Spec.Declared(), f.Ended.IsZero():
		return Nothing
	case f.commits() && (was == nil || f.Ended.After(was.At)):
		return Commit
	case !f.Works && !known:
		return decideNone(f)
	case !known:
		return Run
	case was.OK && f.Ended.After(was.At) && len(f.Unsaved) > 0:
		return Run
	case was.OK && f.Ended.After(was.At):
		return Renew
	case was.None && len(f.Unsaved) > 0 && f.Given.After(was.At): // it has begun
		return Run
	case was.Held && !was.None && !was.Block.Equal(f.Spec): // it may get more time, or rounds
		return Run
	case was.OK, was.Held, f.Spec.OnFailure == session.FailureIgnored:
		return Nothing
	case f.Spec.OnFailure == session.FailureHolds, was.Round >= f.Spec.Rounds:
		return Hold
	case was.SentAt.IsZero():
		return Send
	case f.unsent():
		return Hold
	case was.Unsaved && f.Ended.After(was.SentAt) && (f.Works || len(f.Unsaved) > 0):
		return Run
	case f.Ended.Before(was.SentAt):
		return Nothing
	}
	return Hold // its agent was given the failure, and committed nothing
}

// decideNone decides about a session whose branch has no work.
func decideNone(f Facts) Action {
	switch {
	case !f.asked():
		return Nothing
	case f.Based && len(f.Unsaved) > 0, f.Finish == session.FinishVerified: // else it may have been asked a question
		return Run
	}
	return Nothing
}

// Outcome is what a verification found.
type Outcome struct {
	Unsaved       []string             // files that were not committed: the command was not run
	Uncommittable string               // why not, if that was tried
	None          string               // why there is no work to verify: the command was not run
	Protected     []string             // files that the work changes and must not
	Diff          string               // of those
	Ran           session.Verification // of the command
	Moved         string               // the commit that the command left; empty: the same
	Changed       []string             // files that the command changed
}

// failure returns why the work does not hold, or "".
func (o Outcome) failure() string {
	switch {
	case len(o.Unsaved) > 0:
		detail := "not committed: " + list(o.Unsaved)
		if o.Uncommittable != "" {
			detail += "; git commit: " + o.Uncommittable
		}
		return detail
	case o.None != "":
		return o.None
	case len(o.Protected) > 0:
		return "it changes protected files: " + list(o.Protected)
	case o.Ran.Failed != "":
		return o.Ran.Failed
	case o.Moved != "":
		return movedTo(o.Moved)
	case len(o.Changed) > 0:
		return "the command changed the workspace: " + list(o.Changed)
	}
	return ""
}

// shown returns what shows the failure, and the command that printed it.
func (o Outcome) shown(v session.Verify) (command, output string) {
	if o.Diff != "" {
		return "git diff", o.Diff
	}
	return plaintext.ShellWords(v.Command...), o.Ran.Output
}

// diffLines and diffSize bound what is shown of a diff.
const (
	diffLines = 100
	diffSize  = 10 << 10
)

// firstLines returns the beginning of a diff.
func firstLines(diff string) string {
	cut := diff
	if lines := strings.SplitAfterN(diff, "\n", diffLines+1); len(lines) > diffLines {
		cut = strings.Join(lines[:diffLines], "")
	}
	if cut = cut[:min(len(cut), diffSize)]; cut == diff {
		return diff
	}
	return strings.ToValidUTF8(cut, "") + "\n…\n"
}

// Judge returns what an outcome records of a commit.
func Judge(f Facts, o Outcome, at time.Time) session.Verified {
	v := session.Verified{Commit: f.Commit, Block: f.Spec, At: at.UTC(), Detail: o.failure(), Log: o.Ran.Log, Unsaved: len(o.Unsaved) > 0, None: o.None != ""}
	if v.OK = v.Detail == ""; v.OK {
		return v
	}
	if f.Spec.OnFailure != session.FailureSends {
		v.Held = f.Spec.OnFailure == session.FailureHolds
		return v
	}
	if v.None { // its agent has reported that it is done: it has no failure to fix
		v.Held = true
		return v
	}
	v.Round = 1
	switch was := f.Was; {
	case was == nil || was.OK:
	case !was.Unsaved && !was.None && was.Commit == f.Commit && was.Block.SameTest(v.Block): // it was verified once more
		v.Round, v.SentAt, v.Held = max(was.Round, 1), was.SentAt, was.Held && was.Block.Equal(v.Block)
	case was.Round < f.Spec.Rounds:
		v.Round = was.Round + 1
	case !was.SentAt.IsZero() || !f.Given.After(was.At): // otherwise someone has helped since
		v.Round = was.Round
	}
	v.Held = v.Held || v.Round >= f.Spec.Rounds
	return v
}

// Message returns what an agent is sent of a failure. output shows it, as a command has printed.
func Message(v session.Verified, command, output string) string {
	var b strings.Builder
	work := "commit " + short(v.Commit)
	if v.Unsaved {
		work = "work"
	}
	fmt.Fprintf(&b, "Your %s does not pass verification: %s.\n", work, v.Detail)
	if output != "" {
		fmt.Fprintf(&b, "\n$ %s\n%s\n", command, strings.TrimRight(plaintext.Safe(output), "\n"))
	}
	if v.Log != "" {
		fmt.Fprintf(&b, "\nThe whole output is in %s.\n", v.Log)
	}
	b.WriteString("\nFix it and commit the result.")
	return b.String()
}

// listed bounds the files that a failure names.
const listed = 10

func list(files []string) string {
	names := make([]string, min(len(files), listed))
	for i := range names {
		names[i] = plaintext.FileName(files[i])
	}
	text := strings.Join(names, ", ")
	if more := len(files) - listed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// short returns the beginning of a commit, as people read it.
func short(commit string) string { return commit[:min(7, len(commit))] }

// Protected returns the files that match a pattern, sorted.
func Protected(patterns []string, files []git.FileChange) []string {
	var found []string
	for _, file := range files {
		if slices.ContainsFunc(patterns, func(p string) bool { return matches(strings.Split(p, "/"), strings.Split(file.Name, "/"), file.Link) }) {
			found = append(found, file.Name)
		}
	}
	slices.Sort(found)
	return found
}

// matches reports whether a pattern, in which ** is any number of directories, matches a file or
// a directory that it is in. A link also matches if the pattern names files below it: these are
// others if it leads elsewhere.
func matches(pattern, file []string, link bool) bool {
	switch {
	case len(pattern) == 0:
		return true
	case len(file) == 0:
		return link
	case pattern[0] == "**":
		for i := range file {
			if matches(pattern[1:], file[i:], link) {
				return true
			}
		}
		return false
	}
	ok, _ := path.Match(pattern[0], file[0]) // config has checked the pattern
	return ok && matches(pattern[1:], file[1:], link)
}

// movedTo says where a command has left the workspace: on a ref, or its branch at a commit.
func movedTo(at string) string {
	branch, is := strings.CutPrefix(at, headsPrefix)
	switch {
	case is:
		return "the command switched to the branch " + branch
	case at == "HEAD":
		return "the command detached the workspace from its branch"
	}
	return "the command moved the branch to " + short(at)
}
