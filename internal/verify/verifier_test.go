package verify

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/changes"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/session"
)

// bench is a repository, the worktree of a session, and what was done about it. A command of it is
// run at once.
type bench struct {
	session.Runtime
	t         *testing.T
	repo      string
	work      string
	record    session.Record
	doing     session.Doing
	now       time.Time
	recorded  []session.Verified
	sent      []string
	told      []string
	refuses   error // the runtime
	unsent    error // the agent takes no text
	meanwhile func()
}

func newBench(t *testing.T, change ...func(*session.Verify)) *bench {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", top)
	t.Setenv("XDG_CONFIG_HOME", top)
	b := &bench{t: t, repo: filepath.Join(top, "repo"), work: filepath.Join(top, "work"), now: minute(10)}
	b.sh(top, "git config --global user.name Ann; git config --global user.email ann@example.invalid; git init -q -b main repo")
	b.sh(b.repo, "mkdir tests; echo 'test -e done' > tests/all; echo '*.log' > .gitignore; git add .; git commit -q -m base; git worktree add -q -b agents/api ../work")
	b.record = session.Record{ID: "id", Address: "session.api", Run: session.Run{ID: "run"},
		Tree: session.WorkspaceState{Mode: session.Worktree, Repo: b.repo, Path: b.work, Branch: "agents/api"}}
	b.record.Spec.Verify = session.Verify{Command: []string{"sh", "tests/all"}, Timeout: session.Duration(time.Minute), OnFailure: session.FailureSends, Rounds: 3, Protect: []string{"tests", "tsub/**"}}
	for _, c := range change {
		c(&b.record.Spec.Verify)
	}
	b.turn("")
	return b
}

func (b *bench) sh(dir, script string) string {
	b.t.Helper()
	c := exec.Command("sh", "-e", "-c", script)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// turn is a turn of the agent, of a minute.
func (b *bench) turn(script string) {
	b.t.Helper()
	b.sh(b.work, script)
	b.doing = session.Doing{Run: "run", Since: b.now.Add(time.Second), Ended: b.now.Add(time.Minute)}
	b.now = b.now.Add(2 * time.Minute)
}

func (b *bench) Verify(_ context.Context, _ session.Location, run string, argv []string, _ time.Duration) (v session.Verification, err error) {
	if b.refuses != nil || run != "run" {
		return v, errors.Join(session.ErrUnprobeable, b.refuses)
	}
	c := exec.Command("sh", argv[1:]...) // which argv[0] is
	c.Dir = b.work
	c.Env = append(os.Environ(), "AGENTFORM_RUN="+run)
	out, err := c.CombinedOutput()
	if err != nil {
		v.Failed, v.Code = err.Error(), c.ProcessState.ExitCode()
	}
	if b.meanwhile != nil {
		b.meanwhile()
	}
	v.Output, v.Log = string(out), "/log"
	return v, nil
}

func (b *bench) verifier() *Verifier {
	return &Verifier{
		Session: b.record, Runtime: b, Now: func() time.Time { return b.now },
		Workspace: changes.Workspace{Repo: b.repo, Branch: "agents/api", Git: git.Here(b.work)},
		Doing:     func(context.Context) (session.Doing, error) { return b.doing, nil },
		Record: func(_ context.Context, was *session.Verified, v session.Verified) error {
			if !was.Same(b.record.Verified) {
				return ErrOutdated
			}
			b.recorded, b.record.Verified = append(b.recorded, v), &v
			return nil
		},
		Send: func(_ context.Context, text string) error {
			if b.unsent != nil {
				return b.unsent
			}
			b.sent = append(b.sent, text)
			b.doing = session.Doing{Run: "run", Since: b.now.Add(time.Second)}
			return nil
		},
		Tell: func(e history.Event) { b.told = append(b.told, strings.TrimSpace(string(e.Kind)+" "+e.Reason)) },
	}
}

// do does what is due, and compares what was told since.
func (b *bench) do(what string, told ...string) {
	b.t.Helper()
	b.told, b.sent = nil, nil
	if err := b.verifier().Do(b.t.Context()); err != nil {
		b.t.Errorf("%s: %v", what, err)
	}
	if d := cmp.Diff(told, b.told); d != "" {
		b.t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// TestRounds leads the work of a session to its end: nothing committed, red, sent, red again,
// not committed, and verified.
func TestRounds(t *testing.T) {
	b := newBench(t)
	b.do("without a commit")
	b.turn("git commit -q --allow-empty -m one")
	b.do("red", "verification_failed red 1/3")
	if len(b.sent) != 1 || !strings.Contains(b.sent[0], "exit status 1") {
		t.Errorf("it was sent %q", b.sent)
	}
	b.do("it works on that")
	b.turn("touch done")
	b.do("it has not committed", "escalated verification_failed")
	if v := b.record.Verified; !v.Held || v.Detail != "exit status 1" {
		t.Errorf("%+v", v)
	}
	b.do("a person is needed")
	b.turn("git commit -q --allow-empty -m two")
	b.do("a file is left", "verification_failed red 2/3")
	if v := b.record.Verified; !v.Unsaved || v.Detail != "not committed: done" || v.Log != "" || len(b.sent) != 1 {
		t.Errorf("%+v, sent %q", v, b.sent)
	}
	b.turn("git add done; git commit -q -m three; echo ignored > all.log")
	b.do("green", "verified")
	if v := b.record.Verified; !v.OK || v.Commit != b.sh(b.work, "git rev-parse HEAD") || !v.At.Equal(b.now) || v.Round != 0 {
		t.Errorf("%+v", v)
	}
	b.do("nothing is due")
	b.turn("")
	b.do("a turn without a commit")
	if v := b.record.Verified; !v.OK || !v.At.Equal(b.now) {
		t.Errorf("%+v", v)
	}
	b.turn("git commit -q --allow-empty -m four")
	b.do("another commit", "verified")
	b.turn("echo more > done")
	b.do("a file is changed since", "verification_failed red 1/3")
	if v := b.record.Verified; !v.Unsaved || v.Detail != "not committed: done" || len(b.sent) != 1 {
		t.Errorf("%+v, sent %q", v, b.sent)
	}
	b.turn("git checkout -q done")
	b.do("it is as it was", "verified")
}

// TestNoCommit checks that an agent is sent what it has not committed, and that a session that is
// to finish needs a person if its agent has done nothing.
func TestNoCommit(t *testing.T) {
	b := newBench(t)
	b.turn("touch done")
	b.do("a file is left", "verification_failed red 1/3")
	if v := b.record.Verified; !v.Unsaved || v.Detail != "not committed: done" || len(b.sent) != 1 || !strings.HasPrefix(b.sent[0], "Your work does not") {
		t.Errorf("%+v, sent %q", v, b.sent)
	}
	b.turn("")
	b.do("it is left still", "verification_failed red 2/3")
	b.turn("git add .; git commit -q -m one")
	b.do("it is committed", "verified")

	b = newBench(t)
	b.record.Spec.Finish = session.FinishVerified
	b.doing = session.Doing{Run: "run", Ended: b.now}
	b.do("it was asked nothing")
	b.turn("")
	b.do("nothing is done", "verification_failed red", "escalated verification_failed")
	if v := b.record.Verified; !v.Held || !v.None || v.Detail != "its branch has no commit that main lacks" || len(b.sent) > 0 {
		t.Errorf("%+v, sent %q", v, b.sent)
	}
	b.do("a person is needed")
	b.turn("touch done")
	b.do("a file is left", "verification_failed red 1/3")
	b.turn("git add .; git commit -q -m one")
	b.do("it is committed", "verified")

	b = newBench(t)
	b.record.Tree.Mode = session.InPlace
	b.turn("touch notes")
	b.do("a file is left in a person's checkout")
	b.record.Spec.Finish = session.FinishVerified
	b.turn("")
	b.do("and nothing is done", "verification_failed red", "escalated verification_failed")
	b.turn("touch done; git add done; git commit -q -m one")
	b.do("and a commit is made", "verification_failed red 1/3")

	b = newBench(t)
	b.record.Spec.Finish = session.FinishVerified
	b.sh(b.repo, "git checkout -q --detach; git branch -q -D main")
	b.turn("touch done")
	b.do("there is no base", "verification_failed red", "escalated verification_failed")
	if v := b.record.Verified; !v.Held || !strings.HasPrefix(v.Detail, "its branch has no base") {
		t.Errorf("%+v", v)
	}
}

// TestRenewed checks that work is not verified still if its agent was given more meanwhile.
func TestRenewed(t *testing.T) {
	b := newBench(t)
	b.turn("touch done; git add .; git commit -q -m one")
	b.do("green", "verified")
	was := b.record.Verified.At
	b.turn("")
	v, looks := b.verifier(), 0
	v.Doing = func(context.Context) (session.Doing, error) {
		if looks++; looks > 1 {
			b.doing = session.Doing{Run: "run", Since: b.now}
		}
		return b.doing, nil
	}
	if err := v.Do(t.Context()); !errors.Is(err, ErrWorksOn) || !b.record.Verified.At.Equal(was) {
		t.Errorf("%v, %+v", err, b.record.Verified)
	}
}

// TestRoundsUsedUp checks that after its rounds a session needs a person, and is sent nothing.
func TestRoundsUsedUp(t *testing.T) {
	b := newBench(t)
	for i, told := range [][]string{{"verification_failed red 1/3"}, {"verification_failed red 2/3"}, {"verification_failed red 3/3", "escalated verification_failed"}, {"verification_failed red 1/3"}} {
		b.turn("git commit -q --allow-empty -m more")
		b.do("red", told...)
		if sent := len(b.sent) == 1; sent == (i == 2) {
			t.Errorf("round %d: it was sent %q", i, b.sent)
		}
	}
}

// TestNobodyHelped checks that rounds do not start over for commits that nobody asked for.
func TestNobodyHelped(t *testing.T) {
	b := newBench(t, func(v *session.Verify) { v.Rounds = 1 })
	b.turn("git commit -q --allow-empty -m one")
	b.do("red", "verification_failed red 1/1", "escalated verification_failed")
	b.sh(b.work, "git commit -q --allow-empty -m two")
	b.doing.Ended, b.now = b.now.Add(time.Minute), b.now.Add(2*time.Minute)
	b.do("it has worked on by itself", "verification_failed red 1/1")
	if v := b.record.Verified; !v.Held || len(b.sent) > 0 {
		t.Errorf("%+v, sent %q", v, b.sent)
	}
	b.record.Spec.Verify.Rounds = 2
	b.turn("git commit -q --allow-empty -m three")
	b.do("it was given more", "verification_failed red 2/2", "escalated verification_failed")
}

// TestFailures checks what makes work fail whose command succeeds.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct{ command, turn, want string }{
		"protected files":      {"true", "echo true > tests/all; git add .; git commit -q -m cheat", "it changes protected files: tests/all"},
		"a new protected file": {"true", "touch tests/new; git add .; git commit -q -m more", "it changes protected files: tests/new"},
		"in an earlier commit": {"true", "git rm -q tests/all; git commit -q -m gone; touch a; git add a; git commit -q -m a", "it changes protected files: tests/all"},
		"a submodule":          {"true", "mkdir tsub; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),tsub; git commit -q -m sub", "it changes protected files: tsub"},
		"a link":               {"true", "ln -s tests tsub; git add .; git commit -q -m link", "it changes protected files: tsub"},
		"a new file":           {"touch new", "touch a; git add .; git commit -q -m a", "the command changed the workspace: new"},
		"a changed file":       {"echo b > a", "touch a; git add .; git commit -q -m a", "the command changed the workspace: a"},
		"another commit":       {"git commit -q --allow-empty -m b", "touch a; git add .; git commit -q -m a", "the command moved the branch to "},
		"another branch":       {"git switch -q -c other", "touch a; git add .; git commit -q -m a", "the command switched to the branch other"},
		"no branch":            {"git checkout -q --detach", "touch a; git add .; git commit -q -m a", "the command detached the workspace from its branch"},
		"another name":         {"git branch -m renamed", "touch a; git add .; git commit -q -m a", "the command switched to the branch renamed"},
		"its exit":             {"touch new; exit 3", "touch a; git add .; git commit -q -m a", "exit status 3"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(v *session.Verify) { v.Command = []string{"sh", "-c", c.command} })
			b.turn(c.turn)
			b.do("it fails", "verification_failed red 1/3")
			if v := b.record.Verified; !strings.HasPrefix(v.Detail, c.want) {
				t.Errorf("%q, want %q", v.Detail, c.want)
			}
		})
	}
}

// TestNotJudged checks that what was not verified whole is not recorded.
func TestNotJudged(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*bench)
		want    error
	}{
		"the runtime refuses":       {func(b *bench) { b.refuses = errors.New("busy") }, session.ErrUnprobeable},
		"the agent was given more":  {func(b *bench) { b.meanwhile = func() { b.doing = session.Doing{Run: "run", Since: b.now} } }, ErrWorksOn},
		"and has done that":         {func(b *bench) { b.meanwhile = func() { b.turn("git commit -q --allow-empty -m more") } }, ErrWorksOn},
		"it was started once more":  {func(b *bench) { b.meanwhile = func() { b.doing.Run = "next" } }, ErrWorksOn},
		"it is on another branch":   {func(b *bench) { b.sh(b.work, "git switch -q -c other") }, nil},
		"there is no runtime to do": {func(b *bench) { b.record.Run.ID = "gone" }, session.ErrUnprobeable},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.turn("touch done; git add .; git commit -q -m one")
			c.prepare(b) // the command succeeds
			err := b.verifier().Do(t.Context())
			if err == nil || c.want != nil && !errors.Is(err, c.want) || len(b.recorded)+len(b.told) > 0 {
				t.Errorf("%v, recorded %+v", err, b.recorded)
			}
		})
	}
}

// TestKilled checks that a failure counts once, and is sent once, if the process that verifies is
// killed before it is recorded, or before it is recorded as sent.
func TestKilled(t *testing.T) {
	b := newBench(t)
	b.turn("git commit -q --allow-empty -m one")
	for records := range 2 {
		v := b.verifier()
		record := v.Record
		v.Record = func(ctx context.Context, was *session.Verified, now session.Verified) error {
			if len(b.recorded) == records {
				return errors.New("killed")
			}
			return record(ctx, was, now)
		}
		if err := v.Do(t.Context()); err == nil || len(b.recorded) != records || len(b.sent) > 0 {
			t.Errorf("after %d records: %v, recorded %+v, sent %q", records, err, b.recorded, b.sent)
		}
	}
	b.do("once more")
	if v := b.record.Verified; v.Round != 1 || v.SentAt.IsZero() || len(b.sent) != 1 {
		t.Errorf("%+v, sent %q", v, b.sent)
	}
}

// TestTwoVerifiers checks that of two processes that verify the same turn one records the failure
// and sends it, whenever the other begins to do so.
func TestTwoVerifiers(t *testing.T) {
	for name, after := range map[string]int{"it is recorded": 0, "it is sent": 1} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.turn("git commit -q --allow-empty -m one; touch left")
			first, done := b.verifier(), 0
			record := first.Record
			first.Record = func(ctx context.Context, was *session.Verified, now session.Verified) error {
				if done++; done == after+1 {
					if err := b.verifier().Do(ctx); err != nil {
						t.Error(err)
					}
				}
				return record(ctx, was, now)
			}
			if err := first.Do(t.Context()); !errors.Is(err, ErrOutdated) {
				t.Error(err)
			}
			if v := b.record.Verified; v.Round != 1 || v.SentAt.IsZero() || v.Held || len(b.sent) != 1 || len(b.told) != 1 {
				t.Errorf("%+v, sent %q, told %q", v, b.sent, b.told)
			}
		})
	}
}

// TestKilledWhileItSends checks that a person is needed, and why, if it is not known whether the
// agent was sent the failure.
func TestKilledWhileItSends(t *testing.T) {
	b := newBench(t)
	b.turn("git commit -q --allow-empty -m one")
	v := b.verifier()
	v.Send = func(context.Context, string) error { panic("killed") }
	func() {
		defer func() {
			if recover() != "killed" {
				t.Error("it was not about to send it")
			}
		}()
		_ = v.Do(t.Context()) // it does not return
	}()
	b.do("the next hub", "escalated verification_failed")
	if v := b.record.Verified; !v.Held || v.Detail != "exit status 1; its agent may not have been sent that" || len(b.sent) > 0 {
		t.Errorf("%+v, sent %q", v, b.sent)
	}
}

// TestUnsent checks that a session needs a person whose agent cannot be given the failure.
func TestUnsent(t *testing.T) {
	b := newBench(t)
	b.turn("git commit -q --allow-empty -m one")
	b.unsent = session.ErrRefused
	if err := b.verifier().Do(t.Context()); !errors.Is(err, session.ErrRefused) {
		t.Error(err)
	}
	if v := b.record.Verified; !v.Held || v.Round != 1 {
		t.Errorf("%+v", v)
	}
	b.do("it stays so")
}

// TestPaused checks that a session that is paused while its work is verified is sent the failure
// when it is no longer.
func TestPaused(t *testing.T) {
	for name, why := range map[string]error{"it is seen to be": nil, "it is found to be": &input.PausedError{Err: session.ErrRefused}, "its agent asks": &input.DialogError{Question: "Sure?"},
		"somebody types": &input.DraftError{}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.turn("echo 'echo no; false' > tests/all; git commit -q -a -m one")
			b.record.Spec.Verify.Protect = nil
			b.unsent = why
			var kept ran
			v := b.verifier()
			v.ran = &kept
			v.Takes = func() error {
				if why == nil {
					return ErrOutdated
				}
				return nil
			}
			if err := v.Do(t.Context()); !errors.Is(err, ErrOutdated) {
				t.Error(err)
			}
			if v := b.record.Verified; v.Held || v.Round != 1 || !v.SentAt.IsZero() {
				t.Errorf("%+v", v)
			}
			b.unsent = nil
			v = b.verifier()
			v.ran = &kept
			if err := v.Do(t.Context()); err != nil {
				t.Error(err)
			}
			if v := b.record.Verified; v.SentAt.IsZero() || len(b.sent) != 1 || !strings.Contains(b.sent[0], "\n$ sh tests/all\nno\n") {
				t.Errorf("%+v, sent %q", v, b.sent)
			}
		})
	}
}

// TestAbandonedDraft checks that a person is called when the composer of the agent has had a text for
// long, and that the text stays.
func TestAbandonedDraft(t *testing.T) {
	b := newBench(t)
	b.turn("git commit -q --allow-empty -m one")
	v := b.verifier()
	seen := b.seen()
	seen.DraftSince = time.Unix(1000, 0)
	now := seen.DraftSince.Add(draftPatience - time.Second)
	v.Takes = func() error { return seen.Takes(now) }
	if err := v.Do(t.Context()); !errors.Is(err, ErrOutdated) || b.record.Verified.Held || len(b.sent) > 0 {
		t.Errorf("%v, %+v, sent %q", err, b.record.Verified, b.sent)
	}
	now = now.Add(time.Second)
	v.Session = b.record
	if err := v.Do(t.Context()); err != nil || !b.record.Verified.Held || len(b.sent) > 0 || !strings.HasSuffix(b.record.Verified.Detail, unsentBecause+(&input.DraftError{}).Error()) {
		t.Errorf("%v, %+v, sent %q", err, b.record.Verified, b.sent)
	}
}

// TestOnce checks a verification by hand.
func TestOnce(t *testing.T) {
	b := newBench(t)
	if _, _, err := b.verifier().Once(t.Context()); err == nil || err.Error() != "its branch has no commit that main lacks" {
		t.Error(err)
	}
	b.turn("git commit -q --allow-empty -m one")
	for range 2 {
		v, _, err := b.verifier().Once(t.Context())
		if err != nil || v.OK || v.Round != 1 || len(b.sent) > 0 {
			t.Errorf("%+v, %v, sent %q", v, err, b.sent)
		}
	}
	b.turn("touch done; git add .; git commit -q -m two")
	if v, _, err := b.verifier().Once(t.Context()); err != nil || !v.OK {
		t.Errorf("%+v, %v", v, err)
	}
	if err := os.Remove(filepath.Join(b.work, "done")); err != nil {
		t.Fatal(err)
	}
	if v, _, err := b.verifier().Once(t.Context()); err != nil || v.OK {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestUnrecorded checks that a command is not run again for an outcome that could not be recorded.
func TestUnrecorded(t *testing.T) {
	b := newBench(t, func(v *session.Verify) { v.Command = []string{"sh", "-c", "echo ran >> ../runs; exit 1"} })
	b.turn("git commit -q --allow-empty -m one")
	var kept ran
	turn := b.doing
	for _, fails := range []bool{true, true, false} {
		v := b.verifier()
		v.ran = &kept
		record := v.Record
		v.Record = func(ctx context.Context, was *session.Verified, now session.Verified) error {
			if fails {
				return errors.New("no space left on device")
			}
			return record(ctx, was, now)
		}
		if err := v.Do(t.Context()); err != nil == !fails {
			t.Error(err)
		}
	}
	if v := b.record.Verified; v == nil || v.Round != 1 || len(b.sent) != 1 {
		t.Errorf("%+v, sent %q", v, b.sent)
	}
	if runs := b.sh(b.repo, "cat ../runs"); runs != "ran" {
		t.Errorf("it ran %q", runs)
	}
	b.sh(b.work, "git commit -q --allow-empty -m two")
	b.doing = turn
	v := b.verifier()
	v.ran = &kept
	if err := v.Do(t.Context()); err != nil || b.sh(b.repo, "cat ../runs") != "ran\nran" {
		t.Errorf("after another commit: %v", err)
	}
}

// TestSlot checks that a slot is taken for the command only, and that what has changed while it was
// waited for is not held against the command.
func TestSlot(t *testing.T) {
	b := newBench(t, func(v *session.Verify) { v.Command = []string{"sh", "-c", "echo ran >> ../runs"} })
	b.turn("touch done; git add .; git commit -q -m one")
	taken, slots := false, 0
	verifier := func(meanwhile string) *Verifier {
		v := b.verifier()
		run := v.Workspace.Git
		v.Workspace.Git = func(ctx context.Context, args ...string) (string, error) {
			if taken {
				t.Errorf("git %q is asked in a slot", args)
			}
			return run(ctx, args...)
		}
		v.Slot = func(context.Context) (func(), bool, error) {
			b.sh(b.work, meanwhile)
			taken, slots = true, slots+1
			return func() { taken = false }, true, nil
		}
		return v
	}
	for _, meanwhile := range []string{"touch left", "git commit -q --allow-empty -m two"} {
		if err := verifier(meanwhile).Do(t.Context()); !errors.Is(err, ErrOutdated) || len(b.recorded) > 0 {
			t.Errorf("%s: %v, recorded %+v", meanwhile, err, b.recorded)
		}
		b.sh(b.work, "rm -f left")
	}
	if err := verifier("").Do(t.Context()); err != nil || slots != 3 || !b.record.Verified.OK {
		t.Errorf("%v, %+v", err, b.record.Verified)
	}
}

// TestHangingGit checks that a look ends in whose workspace git hangs.
func TestHangingGit(t *testing.T) {
	b := newBench(t)
	b.turn("touch done; git add .; git commit -q -m one")
	synctest.Test(t, func(t *testing.T) {
		v := b.verifier()
		v.Workspace.Git = func(ctx context.Context, _ ...string) (string, error) {
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
		_, _, err := v.look(t.Context())
		_, _, unlisted := v.protected(t.Context(), Facts{}, git.Base{})
		_, _, unseen := v.left(t.Context(), Facts{})
		if !errors.Is(err, errSlow) || !errors.Is(unlisted, errSlow) || !errors.Is(unseen, errSlow) {
			t.Errorf("%v, %v, %v", err, unlisted, unseen)
		}
	})
}

// TestCommit checks that what a turn leaves is committed, and nothing that is changed later.
func TestCommit(t *testing.T) {
	b := newBench(t, func(v *session.Verify) { v.Commit = true })
	b.turn("touch done a; git add done; git commit -q -m done; touch b")
	b.do("a turn with a rest", "verified")
	if got := b.sh(b.work, "git log --format=%s -1; git show --format= --name-only; git status --porcelain"); got != "Commit the work of session.api\na\nb" {
		t.Errorf("committed: %q", got)
	}
	if v := b.record.Verified; v.Commit != b.sh(b.work, "git rev-parse HEAD") {
		t.Errorf("verified %s", v.Commit)
	}
	b.sh(b.work, "touch person")
	b.do("somebody works there")
	if got := b.sh(b.work, "git status --porcelain"); got != "?? person" {
		t.Errorf("left: %q", got)
	}
	b.sh(b.work, "rm person")
	b.turn("touch c; printf 'exit 1' > $(git rev-parse --git-common-dir)/hooks/pre-commit; chmod +x $(git rev-parse --git-common-dir)/hooks/pre-commit")
	b.do("a hook refuses", "verification_failed red 1/3")
	if v := b.record.Verified; v.Detail != "not committed: c; git commit: exit status 1" || len(b.sent) != 1 {
		t.Errorf("%q, sent %q", v.Detail, b.sent)
	}
}

// TestCommitAskedByHand checks that a verification by hand commits, too.
func TestCommitAskedByHand(t *testing.T) {
	b := newBench(t, func(v *session.Verify) { v.Commit = true })
	b.turn("touch done")
	if v, _, err := b.verifier().Once(t.Context()); err != nil || !v.OK {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestClean checks that the command runs where only the commit and its setup are.
func TestClean(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	clean := func(v *session.Verify) {
		v.Clean, v.Command = true, []string{"sh", "-c", "pwd; test -e done && test -e dep.log"}
	}
	b := newBench(t, clean)
	b.turn("touch done dep.log; git add done; git commit -q -m 'done'")
	b.do("an ignored file is not there", "verification_failed red 1/3")
	if want := "/agentform-verify-run/work\n"; !strings.Contains(strings.Join(b.sent, ""), want) {
		t.Errorf("sent %q", b.sent)
	}

	b = newBench(t, clean)
	b.record.Spec.Workspace.Setup = []string{"sh", "-c", "echo 'the dep' > dep.log"}
	b.turn("touch done; git add done; git commit -q -m 'done'; touch done.log")
	b.do("setup makes it", "verified")
	if got := b.sh(b.work, "ls; git worktree list | wc -l; ls $TMPDIR"); got != "done\ndone.log\ntests\n2" {
		t.Errorf("left: %q", got)
	}
}

// TestUntestable checks that a commit is not judged of which there is no checkout.
func TestUntestable(t *testing.T) {
	for name, change := range map[string]func(*bench){
		"the command says so": func(b *bench) { b.record.Spec.Verify.Command = []string{"sh", "-c", "echo no disk >&2; exit 125"} },
		"no place for it":     func(b *bench) { b.t.Setenv("TMPDIR", "/none/no disk") },
		"setup fails so":      func(b *bench) { b.record.Spec.Workspace.Setup = []string{"sh", "-c", "echo no disk; exit 125"} },
	} {
		b := newBench(t, func(v *session.Verify) { v.Clean = true })
		b.turn("touch done; git add done; git commit -q -m done")
		change(b)
		if err := b.verifier().Do(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "its commit cannot be tested: ") || !strings.HasSuffix(err.Error(), "its output is in /log") || b.record.Verified != nil {
			t.Errorf("%s: %v, %+v", name, err, b.record.Verified)
		}
	}
}

// TestProtectedIsShown checks that the agent is sent how it has changed a protected file.
func TestProtectedIsShown(t *testing.T) {
	b := newBench(t)
	b.turn("echo true > tests/all; touch done; git add .; git commit -q -m cheat")
	b.do("it cheats", "verification_failed red 1/3")
	if len(b.sent) != 1 || !strings.Contains(b.sent[0], "$ git diff\ndiff --git a/tests/all b/tests/all\n") || !strings.Contains(b.sent[0], "\n-test -e done\n+true\n") {
		t.Errorf("sent %q", b.sent)
	}
}
