package effecttest_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/effect"
	"github.com/agentform/agentform/effect/effecttest"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

func robot(prompt string) session.Spec {
	return session.Spec{Agent: session.AgentSpec{Name: "robot"}, Workspace: session.Workspace{Path: "/work"}, Prompt: session.PromptOf(prompt)}
}

// turn is an agent that works, asks after ten seconds, and is done after a minute.
func turn(rt *sessiontest.Scripted, name string) {
	rt.Script(name,
		sessiontest.Step{Activity: session.Working, Screen: "reading"},
		sessiontest.Step{After: 10 * time.Second, Activity: session.Blocked, Screen: "reading\nMay I write?"},
		sessiontest.Step{After: time.Minute, Activity: session.Done, Screen: "all tasks completed"})
}

func TestToCompletion(t *testing.T) {
	rt := sessiontest.New("")
	turn(rt, "api")
	h := effecttest.New(rt)
	var asked []string
	r, err := effect.ToCompletion("api", robot("write tests"), effect.Completion{
		Blocked: func(o agentform.Observation) session.Input {
			asked = append(asked, o.Detail)
			// Once it is stopped, what it was sent is gone with it.
			return session.Input{Key: "y"}
		},
	})(t.Context(), effect.Record(h, func(d effect.Done) {
		if s, ok := d.Effect.(effect.Send); ok && s.Input.Key != "y" {
			t.Errorf("sent %+v", s.Input)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != session.StatusDone || !r.Succeeded() || r.Output != "all tasks completed" || r.Session.Name != "api" {
		t.Errorf("result %+v", r)
	}
	if !slices.Equal(asked, []string{"May I write?"}) {
		t.Errorf("asked %q", asked)
	}
	if rt.Clock.Slept() != time.Minute {
		t.Errorf("slept %v", rt.Clock.Slept())
	}
	if left := rt.Places(); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// TestAnswer checks that a blocked agent takes an answer and no message.
func TestAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := sessiontest.New("")
		rt.Script("api",
			sessiontest.Step{Activity: session.Blocked, Screen: "reading\nMay I write?"},
			sessiontest.Step{After: time.Minute, Activity: session.Done, Screen: "all tasks completed"})
		h := effecttest.New(rt)
		ctx := t.Context()
		s, err := effect.Do(ctx, h, effect.Launch{Name: "api", Spec: robot("")})
		if err != nil {
			t.Fatal(err)
		}
		o, err := effect.Do(ctx, h, effect.Monitor{Session: s})
		if err != nil || o.Question == nil || o.Question.Text != "May I write?" {
			t.Fatalf("it asks %+v, %v", o.Question, err)
		}
		var dialog *agentform.DialogError
		if _, err := effect.Do(ctx, h, effect.Send{Session: s, Input: session.Input{Text: "and the docs"}}); !errors.As(err, &dialog) || dialog.Question != "May I write?" {
			t.Errorf("a message: %v", err)
		}
		var other *agentform.OtherQuestionError
		if _, err := effect.Do(ctx, h, effect.Answer{Session: s, Question: session.Question{ID: "May I read?"}, Text: "yes"}); !errors.As(err, &other) {
			t.Errorf("an answer to another question: %v", err)
		}
		if _, err := effect.Do(ctx, h, effect.Answer{Session: s, Question: *o.Question, Text: "Continue"}); err != nil {
			t.Fatal(err)
		}
		if o, err = effect.Do(ctx, h, effect.Monitor{Session: s}); err != nil || o.Status != session.StatusRunning || o.Activity != session.Working {
			t.Errorf("answered, it is %s (%s), %v", o.Status, o.Activity, err)
		}
		var none *agentform.NoQuestionError
		if _, err := effect.Do(ctx, h, effect.Answer{Session: s, Text: "yes"}); !errors.As(err, &none) {
			t.Errorf("an answer to nothing: %v", err)
		}
		if st, _ := rt.State("api"); !slices.Equal(st.Sent, []session.Input{{Text: "Continue", NoEnter: true}, {Key: "Enter"}}) {
			t.Errorf("typed %+v", st.Sent)
		}
	})
}

// TestToCompletionAnswers checks that a text of Completion.Blocked answers the question.
func TestToCompletionAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := sessiontest.New("")
		turn(rt, "api")
		var did []string
		h := effect.Record(effecttest.New(rt), func(d effect.Done) {
			switch e := d.Effect.(type) {
			case effect.Send:
				did = append(did, "sent "+e.Input.Text+e.Input.Key)
			case effect.Answer:
				did = append(did, "answered "+e.Question.Text+" "+e.Text)
			}
		})
		how := effect.Completion{Blocked: func(agentform.Observation) session.Input { return session.Input{Text: "Continue"} }}
		r, err := effect.ToCompletion("api", robot(""), how)(t.Context(), h)
		if err != nil || !r.Succeeded() || !slices.Equal(did, []string{"answered May I write? Continue"}) {
			t.Errorf("%+v, %v, %q", r, err, did)
		}
	})
}

// TestToCompletionAnswersUnread checks that a text is typed, with Enter, into a dialog whose
// question is not known.
func TestToCompletionAnswersUnread(t *testing.T) {
	program := effect.ToCompletion("api", robot(""), effect.Completion{
		Blocked: func(agentform.Observation) session.Input { return session.Input{Text: "y"} }})
	env := effect.Env{Scripts: map[string][]agentform.Observation{"api": {{Status: session.StatusBlocked}, {Status: session.StatusDone}}}}
	_, store, err := effect.Run(t.Context(), program, effect.Simulate, env, effect.Store{})
	if sent := store.Sessions["api"].Sent; err != nil || !slices.Equal(sent, []session.Input{{Text: "y", NoEnter: true}, {Key: "Enter"}}) {
		t.Errorf("%+v, %v", sent, err)
	}
}

// TestSimulateAnswer checks that a simulated session refuses what a real one refuses.
func TestSimulateAnswer(t *testing.T) {
	q := session.Question{ID: "1", Text: "May I write?"}
	env := effect.Env{Scripts: map[string][]agentform.Observation{"api": {{Status: session.StatusBlocked, Question: &q}, {Status: session.StatusDone}}}}
	s := agentform.Handle{Name: "api"}
	asks := effect.Store{Sessions: map[string]effect.SessionState{"api": {Handle: s, Status: session.StatusBlocked, Asks: &q}}}
	var dialog *agentform.DialogError
	var other *agentform.OtherQuestionError
	var none *agentform.NoQuestionError
	if _, _, err := effect.Simulate(t.Context(), effect.Send{Session: s, Input: session.Input{Text: "x"}}, env, asks); !errors.As(err, &dialog) {
		t.Errorf("a message: %v", err)
	}
	if _, _, err := effect.Simulate(t.Context(), effect.Answer{Session: s, Question: session.Question{ID: "2"}, Text: "yes"}, env, asks); !errors.As(err, &other) {
		t.Errorf("another question: %v", err)
	}
	_, done, err := effect.Simulate(t.Context(), effect.Answer{Session: s, Question: q, Text: "yes"}, env, asks)
	if got := done.Sessions["api"]; err != nil || len(got.Sent) != 1 || got.Sent[0].Text != "yes" {
		t.Errorf("answered: %+v, %v", got, err)
	}
	if _, _, err := effect.Simulate(t.Context(), effect.Answer{Session: s, Question: q, Text: "yes"}, env, done); !errors.As(err, &none) {
		t.Errorf("answered twice: %v", err)
	}
}

// An agent that leaves has succeeded if nothing speaks against it.
func TestSucceeded(t *testing.T) {
	for _, c := range []struct {
		exit session.Exit
		want bool
	}{
		{session.Exit{}, true},
		{session.Exit{Code: 3}, false},
		{session.Exit{Signal: "SIGKILL"}, false},
		{session.Exit{Cause: "timeout"}, false},
	} {
		rt := sessiontest.New("")
		rt.Script("api", sessiontest.Step{Activity: session.Working}, sessiontest.Step{After: time.Second, Exit: &c.exit})
		r, err := effect.ToCompletion("api", robot(""), effect.Completion{})(t.Context(), effecttest.New(rt))
		if err != nil || r.Status != session.StatusExited || r.Exit == nil || r.Succeeded() != c.want {
			t.Errorf("%v: %+v, succeeded %v, %v", c.exit, r, r.Succeeded(), err)
		}
	}
}

// What a handler has stopped is gone for it, and to stop it again is not an error.
func TestStoppedIsGone(t *testing.T) {
	rt := sessiontest.New("")
	h := effecttest.New(rt)
	s, err := effect.Do(t.Context(), h, effect.Launch{Name: "api", Spec: robot("write")})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := effect.Do(t.Context(), h, effect.Stop{Session: s}); err != nil {
			t.Error(err)
		}
	}
	if _, err := effect.Do(t.Context(), h, effect.Monitor{Session: s}); !errors.Is(err, session.ErrGone) {
		t.Errorf("a look at it: %v", err)
	}
	if last, ok := rt.Last("api"); !ok || len(last.Sent) != 1 || last.Sent[0].Text != "write" {
		t.Errorf("it was sent %+v, %v", last.Sent, ok)
	}
}

// A forgotten session is no session that is stopped already.
func TestNamesNoSession(t *testing.T) {
	h := effecttest.New(sessiontest.New(""))
	for _, e := range []effect.Effect{effect.Monitor{}, effect.Capture{}, effect.Send{}, effect.Answer{}, effect.Stop{}} {
		if _, err := h.Handle(t.Context(), e); err == nil || !strings.Contains(err.Error(), "names no session") {
			t.Errorf("%T: %v", e, err)
		}
		if _, _, err := effect.Simulate(t.Context(), e, effect.Env{}, effect.Store{}); err == nil || !strings.Contains(err.Error(), "names no session") {
			t.Errorf("simulated %T: %v", e, err)
		}
	}
}

func TestToCompletionHasALimit(t *testing.T) {
	rt := sessiontest.New("")
	rt.Script("api", sessiontest.Step{Activity: session.Working, Screen: "thinking"})
	r, err := effect.ToCompletion("api", robot(""), effect.Completion{Poll: time.Minute, Limit: time.Hour})(t.Context(), effecttest.New(rt))
	if !errors.Is(err, effect.ErrLimit) || r.Status != session.StatusRunning || r.Output != "thinking" || r.Succeeded() {
		t.Errorf("%+v, %v", r, err)
	}
	if rt.Clock.Slept() != time.Hour || len(rt.Places()) != 0 {
		t.Errorf("slept %v, left %v", rt.Clock.Slept(), rt.Places())
	}
}

func TestWithSessionStopsAfterPanic(t *testing.T) {
	rt := sessiontest.New("")
	p := effect.WithSession("api", robot(""), func(context.Context, effect.Handler, agentform.Handle) (int, error) { panic("oh") })
	func() {
		defer func() { _ = recover() }()
		_, _ = p(t.Context(), effecttest.New(rt))
	}()
	if left := rt.Places(); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestJournal(t *testing.T) {
	rt := sessiontest.New("")
	turn(rt, "api")
	dir := t.TempDir()
	if _, err := effect.ToCompletion("api", robot("write"), effect.Completion{})(t.Context(), effect.Journal(effecttest.New(rt), dir)); err != nil {
		t.Fatal(err)
	}
	events, err := history.Read(filepath.Join(dir, "api"), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, e := range events {
		told = append(told, strings.TrimSuffix(string(e.Kind)+" "+e.Old+">"+e.New, " >"))
	}
	want := []string{"launched", "status_changed >running", "status_changed running>blocked", "status_changed blocked>done", "run_ended"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestDryRunDoesNothing(t *testing.T) {
	var said []string
	r, err := effect.ToCompletion("api", robot("write"), effect.Completion{})(t.Context(), effect.DryRun(func(line string) { said = append(said, line) }))
	if err != nil || !r.Succeeded() {
		t.Errorf("%+v, %v", r, err)
	}
	if want := []string{"launch api (robot) in /work", "monitor api", "capture api", "stop api"}; !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
}

func TestRetry(t *testing.T) {
	rt := sessiontest.New("")
	h := effect.Retry(effecttest.New(rt), 3, time.Second)
	down := errors.New("down")
	rt.Faults.Fail(sessiontest.OpCreate, 1, down)
	rt.Faults.Fail(sessiontest.OpCreate, 2, down)
	s, err := effect.Do(t.Context(), h, effect.Launch{Name: "api", Spec: robot("")})
	if err != nil || rt.Clock.Slept() != 2*time.Second {
		t.Fatalf("the third time: %v after %v", err, rt.Clock.Slept())
	}
	rt.Faults.Fail(sessiontest.OpSend, 1, down)
	if _, err := effect.Do(t.Context(), h, effect.Send{Session: s, Input: session.Input{Text: "x"}}); !errors.Is(err, down) {
		t.Errorf("what was sent was sent again: %v", err)
	}
	if _, err := effect.Do(t.Context(), h, effect.Launch{Name: "api", Spec: robot("")}); !errors.Is(err, session.ErrExists) {
		t.Errorf("a name that is taken: %v", err)
	}
	for range 3 {
		rt.Faults.Fail(sessiontest.OpObserve, 1, down)
	}
	if _, err := effect.Do(t.Context(), effect.Retry(effecttest.New(rt), 1, time.Second), effect.Monitor{Session: s}); err == nil {
		t.Error("a session of another handler was found")
	}
}

// TestSteps: a program runs on a store alone, and the same program on a runtime
// leaves the same store.
func TestSteps(t *testing.T) {
	program := effect.ToCompletion("api", robot(""), effect.Completion{Poll: 10 * time.Second})
	env := effect.Env{Scripts: map[string][]agentform.Observation{"api": {
		{Status: session.StatusRunning, Snippet: "reading"},
		{Status: session.StatusDone, Snippet: "all tasks completed"},
	}}}
	r, store, err := effect.Run(t.Context(), program, effect.Simulate, env, effect.Store{})
	if err != nil || r.Status != session.StatusDone || r.Output != "all tasks completed" {
		t.Fatalf("%+v, %v", r, err)
	}
	s := store.Sessions["api"]
	if s.Looks != 2 || !s.Stopped || s.Status != session.StatusStopped || s.Output != "all tasks completed" || store.Slept != 10*time.Second {
		t.Errorf("store %+v", store)
	}
	if _, _, err := effect.Simulate(t.Context(), effect.Monitor{Session: s.Handle}, env, store); !errors.Is(err, session.ErrGone) {
		t.Errorf("a look at what was stopped: %v", err)
	}
	if _, _, err := effect.Simulate(t.Context(), effect.Stop{Session: s.Handle}, env, store); err != nil {
		t.Errorf("stopped again: %v", err)
	}
	if _, again, err := effect.Simulate(t.Context(), effect.Launch{Name: "api"}, env, store); err != nil || again.Sessions["api"].Stopped || !store.Sessions["api"].Stopped {
		t.Errorf("launched again: %+v, %v; the store before: %+v", again, err, store)
	}

	rt := sessiontest.New("")
	rt.Script("api", sessiontest.Step{Activity: session.Working, Screen: "reading"},
		sessiontest.Step{After: 10 * time.Second, Activity: session.Done, Screen: "all tasks completed"})
	_, real, err := effect.Run(t.Context(), program, effect.Steps(effecttest.New(rt)), effect.Env{}, effect.Store{})
	if err != nil {
		t.Fatal(err)
	}
	got := real.Sessions["api"]
	if got.Looks != s.Looks || got.Status != s.Status || got.Output != s.Output || !got.Stopped || real.Slept != store.Slept {
		t.Errorf("on a runtime %+v, simulated %+v", got, s)
	}
}

// TestToCompletionUnknown checks that looks at which nothing can be known neither end a
// session nor begin another turn.
func TestToCompletionUnknown(t *testing.T) {
	rt := sessiontest.New("")
	rt.Script("api", sessiontest.Step{Activity: session.Working, Screen: "reading"},
		sessiontest.Step{After: 10 * time.Second, Activity: session.Idle, Screen: "it is written"},
		sessiontest.Step{After: time.Minute, Exit: &session.Exit{}})
	real := effecttest.New(rt)
	unknown, turns := 0, 0
	every := effect.HandlerFunc(func(ctx context.Context, e effect.Effect) (any, error) {
		v, err := real.Handle(ctx, e)
		if o, ok := v.(agentform.Observation); ok && !o.Status.Terminal() {
			rt.Edit("api", func(st *sessiontest.State) {
				if st.Live.Liveness = session.Unknown; o.Activity == session.NoActivity {
					unknown, st.Live.Liveness = unknown+1, session.Alive
				}
			})
		}
		return v, err
	})
	r, err := effect.ToCompletion("api", robot("write tests"), effect.Completion{Poll: time.Second, Until: agentform.UntilExit,
		Idle: func(agentform.Observation) session.Input { turns++; return session.Input{} }})(t.Context(), every)
	if err != nil || r.Status != session.StatusExited || unknown < 10 || turns != 1 {
		t.Errorf("%+v, %v; %d unknown looks, %d turns", r, err, unknown, turns)
	}
}

// TestToCompletionOfATurn checks that it ends when an interactive agent has finished its
// turn and rests, that a next turn can be asked for, and that it can wait for the exit.
func TestToCompletionOfATurn(t *testing.T) {
	script := func() (*sessiontest.Scripted, effect.Handler) {
		rt := sessiontest.New("")
		rt.Script("api", sessiontest.Step{Activity: session.Working, Screen: "reading"},
			sessiontest.Step{After: 10 * time.Second, Activity: session.Idle, Screen: "it is written"},
			sessiontest.Step{After: time.Minute, Exit: &session.Exit{}})
		return rt, effecttest.New(rt)
	}
	rt, h := script()
	r, err := effect.ToCompletion("api", robot("write tests"), effect.Completion{})(t.Context(), h)
	if err != nil || !r.TurnEnded || !r.Succeeded() || r.Status != session.StatusRunning || r.Activity != session.Idle || r.Output != "it is written" {
		t.Errorf("%+v, %v", r, err)
	}
	if rt.Clock.Slept() < 10*time.Second || rt.Clock.Slept() > 12*time.Second || len(rt.Places()) != 0 {
		t.Errorf("slept %v, left %v", rt.Clock.Slept(), rt.Places())
	}

	rt, h = script()
	turns := 0
	how := effect.Completion{Idle: func(agentform.Observation) session.Input {
		if turns++; turns == 1 {
			return session.Input{Text: "and the docs"}
		}
		return session.Input{}
	}}
	if r, err = effect.ToCompletion("api", robot("write tests"), how)(t.Context(), h); err != nil || turns != 2 || !r.TurnEnded {
		t.Errorf("%d turns: %+v, %v", turns, r, err)
	}
	if last, _ := rt.Last("api"); len(last.Sent) != 2 || last.Sent[1].Text != "and the docs" {
		t.Errorf("it was sent %+v", last.Sent)
	}

	_, h = script()
	how = effect.Completion{Until: agentform.UntilExit}
	if r, err = effect.ToCompletion("api", robot("write tests"), how)(t.Context(), h); err != nil || r.Status != session.StatusExited || r.TurnEnded || !r.Succeeded() {
		t.Errorf("until its exit: %+v, %v", r, err)
	}
}
