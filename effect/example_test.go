package effect_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/effect"
	"github.com/agentform/agentform/effect/effecttest"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// scripted is a handler in which an agent works for a minute. For real it is
// effect.New(sessions), of agentform.Open.
func scripted() (effect.Handler, *sessiontest.Scripted) {
	rt := sessiontest.New("")
	rt.Script("api",
		sessiontest.Step{Activity: session.Working, Screen: "reading the code"},
		sessiontest.Step{After: time.Minute, Activity: session.Done, Screen: "all tasks completed"})
	return effecttest.New(rt), rt
}

func spec(prompt string) session.Spec {
	return session.Spec{Agent: session.AgentSpec{Name: "claude"}, Workspace: session.Workspace{Path: "/work/shop"}, Prompt: session.PromptOf(prompt)}
}

func ExampleDo() {
	h, _ := scripted()
	ctx := context.Background()

	s, err := effect.Do(ctx, h, effect.Launch{Name: "api", Spec: spec("write the tests")})
	if err != nil {
		fmt.Println(err)
		return
	}
	o, err := effect.Do(ctx, h, effect.Monitor{Session: s})
	fmt.Println(o.Status, err)
	shown, err := effect.Do(ctx, h, effect.Capture{Session: s, Lines: 20})
	fmt.Println(shown, err)
	_, err = effect.Do(ctx, h, effect.Stop{Session: s})
	fmt.Println(err)
	// Output:
	// running <nil>
	// reading the code <nil>
	// <nil>
}

// A minute of an agent's work takes no time in a test.
func ExampleToCompletion() {
	h, rt := scripted()
	result, err := effect.ToCompletion("api", spec("write the tests"), effect.Completion{})(context.Background(), h)
	fmt.Println(result.Status, result.Succeeded(), err)
	fmt.Println(result.Output)
	fmt.Println("slept", rt.Clock.Slept())
	// Output:
	// done true <nil>
	// all tasks completed
	// slept 1m0s
}

func ExampleWithSession() {
	h, rt := scripted()
	ask := effect.WithSession("api", spec(""), func(ctx context.Context, h effect.Handler, s agentform.Handle) (string, error) {
		if _, err := effect.Do(ctx, h, effect.Send{Session: s, Input: session.Input{Text: "what do you see?"}}); err != nil {
			return "", err
		}
		if _, err := effect.Do(ctx, h, effect.Sleep{For: time.Minute}); err != nil {
			return "", err
		}
		return effect.Do(ctx, h, effect.Capture{Session: s})
	})
	answer, err := ask(context.Background(), h)
	fmt.Println(answer, err)
	fmt.Println("left:", rt.Places())
	// Output:
	// all tasks completed <nil>
	// left: []
}

func ExampleRecord() {
	h, _ := scripted()
	h = effect.Record(h, func(d effect.Done) {
		switch e := d.Effect.(type) {
		case effect.Launch:
			fmt.Println("launched", e.Name, d.Err)
		case effect.Monitor:
			fmt.Println("seen", d.Result.(agentform.Observation).Status)
		}
	})
	_, err := effect.ToCompletion("api", spec(""), effect.Completion{Poll: time.Minute})(context.Background(), h)
	fmt.Println(err)
	// Output:
	// launched api <nil>
	// seen running
	// seen done
	// <nil>
}

func ExampleDryRun() {
	h := effect.DryRun(func(line string) { fmt.Println(line) })
	_, err := effect.ToCompletion("api", spec("write the tests"), effect.Completion{})(context.Background(), h)
	fmt.Println(err)
	// Output:
	// launch api (claude) in /work/shop
	// monitor api
	// capture api
	// stop api
	// <nil>
}

func ExampleRetry() {
	h, rt := scripted()
	rt.Faults.Fail(sessiontest.OpCreate, 1, fmt.Errorf("the engine restarts"))
	_, err := effect.Do(context.Background(), effect.Retry(h, 3, 5*time.Second), effect.Launch{Name: "api", Spec: spec("")})
	fmt.Println(err, rt.Clock.Slept())
	// Output: <nil> 5s
}

func ExampleJournal() {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	h, _ := scripted()
	if _, err := effect.ToCompletion("api", spec(""), effect.Completion{})(context.Background(), effect.Journal(h, dir)); err != nil {
		fmt.Println(err)
	}
	events, err := history.Read(filepath.Join(dir, "api"), time.Time{})
	for _, e := range events {
		fmt.Printf("%s:%s\n", e.Kind, e.New)
	}
	fmt.Println(err)
	// Output:
	// launched:
	// status_changed:running
	// status_changed:done
	// run_ended:
	// <nil>
}

// A program runs on a store alone: what each session shows is in Env, and what
// was done is in the Store that comes out.
func ExampleRun() {
	program := effect.ToCompletion("api", spec(""), effect.Completion{Poll: time.Minute})
	env := effect.Env{Scripts: map[string][]agentform.Observation{
		"api": {{Status: session.StatusRunning}, {Status: session.StatusDone, Snippet: "all tasks completed"}},
	}}
	result, store, err := effect.Run(context.Background(), program, effect.Simulate, env, effect.Store{})
	fmt.Println(result.Status, err)
	fmt.Println(store.Sessions["api"].Looks, store.Sessions["api"].Stopped, store.Slept)
	// Output:
	// done <nil>
	// 2 true 1m0s
}

// For real: effects on a launcher, here of a scripted runtime that sleeps for real.
func ExampleNew() {
	rt := sessiontest.New("")
	rt.Script("api", sessiontest.Step{Activity: session.Done, Screen: "all tasks completed"})
	l := &agentform.Launcher{Runtime: rt, Agents: map[string]session.Agent{"claude": sessiontest.Agent{}}}

	result, err := effect.ToCompletion("api", spec(""), effect.Completion{})(context.Background(), effect.New(l))
	fmt.Println(result.Status, err)
	// Output: done <nil>
}

// A handler can be run a step at a time, with a store that keeps account.
func ExampleSteps() {
	h, _ := scripted()
	step := effect.Steps(h)
	ctx, store := context.Background(), effect.Store{}

	s, store, err := step(ctx, effect.Launch{Name: "api", Spec: spec("")}, effect.Env{}, store)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, store, err = step(ctx, effect.Monitor{Session: s.(agentform.Handle)}, effect.Env{}, store)
	fmt.Println(store.Sessions["api"].Status, store.Sessions["api"].Output, err)
	// Output: running reading the code <nil>
}

// A handler of one's own wraps another: here a program is not to stop anything.
func ExampleHandlerFunc() {
	h, rt := scripted()
	careful := effect.HandlerFunc(func(ctx context.Context, e effect.Effect) (any, error) {
		if stop, ok := e.(effect.Stop); ok {
			fmt.Println("left running:", stop.Session.Name)
			return effect.None{}, nil
		}
		return h.Handle(ctx, e)
	})
	_, err := effect.ToCompletion("api", spec(""), effect.Completion{})(context.Background(), careful)
	fmt.Println(err, rt.Places())
	// Output:
	// left running: api
	// <nil> [api]
}
