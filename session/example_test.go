package session_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// scripted is a launcher in which the agent of a session does what a script
// says. For real it is local.Open.
func scripted(name string, steps ...sessiontest.Step) *session.Launcher {
	rt := sessiontest.New("")
	rt.Script(name, steps...)
	return &session.Launcher{Runtime: rt, Agents: map[string]session.Agent{"claude": sessiontest.Agent{}}}
}

func spec(prompt string) session.Spec {
	return session.Spec{
		Agent:     session.AgentSpec{Name: "claude"},
		Workspace: session.Workspace{Path: "/work/shop"},
		Prompt:    session.PromptOf(prompt),
	}
}

// Launch returns when the agent can be typed to and has its prompt.
func ExampleLauncher_Launch() {
	l := scripted("api", sessiontest.Step{Activity: session.Working, Screen: "reading the code"})

	s, err := l.Launch(context.Background(), "api", spec("write the tests"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Stop(context.Background())
	h := s.Handle()
	fmt.Println(h.Name, h.Agent, h.Dir)

	_, err = l.Launch(context.Background(), "api", spec(""))
	fmt.Println(errors.Is(err, session.ErrExists))
	// Output:
	// api claude /work/shop
	// true
}

// With stops the session in the end, whatever happens.
func ExampleLauncher_With() {
	l := scripted("api", sessiontest.Step{Activity: session.Done, Screen: "all tasks completed"})

	err := l.With(context.Background(), "api", spec("write the tests"), func(ctx context.Context, s *session.Session) error {
		shown, err := s.Capture(ctx, 100)
		fmt.Println(shown)
		return err
	})
	fmt.Println(err)
	// Output:
	// all tasks completed
	// <nil>
}

// Monitor is for a loop of one's own: each call looks once and calls back what is
// new.
func ExampleSession_Monitor() {
	l := scripted("api",
		sessiontest.Step{Activity: session.Working, Screen: "reading the code"},
		sessiontest.Step{After: time.Millisecond, Activity: session.Blocked, Screen: "Do you want to proceed?"})
	s, err := l.Launch(context.Background(), "api", spec("write the tests"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Stop(context.Background())

	tell := session.Callbacks{
		StatusChanged: func(old, now session.Status, output string) { fmt.Printf("%s, was %s: %s\n", now, old, output) },
		PRDetected:    func(url string) { fmt.Println("pull request:", url) },
	}
	for {
		o, err := s.Monitor(context.Background(), tell)
		if err != nil || o.Status == session.StatusBlocked {
			break
		}
		time.Sleep(time.Millisecond)
	}
	// A key answers a question.
	fmt.Println(s.SendInput(context.Background(), session.Input{Key: "y"}))
	// Unordered output:
	// blocked, was running: Do you want to proceed?
	// <nil>
}

// Watch ends by itself when the session does nothing more.
func ExampleSession_Watch() {
	l := scripted("api",
		sessiontest.Step{Activity: session.Working},
		sessiontest.Step{After: time.Millisecond, Activity: session.Done, Screen: "all tasks completed"})
	s, err := l.Launch(context.Background(), "api", spec("write the tests"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Stop(context.Background())

	var last session.Observation
	for o, err := range s.Watch(context.Background(), time.Millisecond) {
		if err != nil {
			fmt.Println(err)
		}
		last = o
	}
	fmt.Println(last.Status, last.Status.Terminal(), last.Snippet)
	// Output: done true all tasks completed
}

// An agent of one's own is one more entry in a map.
func ExampleAgent() {
	l := scripted("lint", sessiontest.Step{Activity: session.Working, Screen: "linting"})
	l.Agents["linter"] = linter{}

	own := spec("")
	own.Agent = session.AgentSpec{Name: "linter", Command: []string{"make", "lint"}, OneShot: true}
	s, err := l.Launch(context.Background(), "lint", own)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Stop(context.Background())
	o, err := s.Observe(context.Background())
	fmt.Println(o.Status, o.Detail, err)
	// Output: running linting <nil>
}

// linter is a program without a model: it works until it leaves.
type linter struct{ session.Fileless }

func (linter) Start(in session.StartInput) session.Start {
	return session.Start{Argv: in.Spec.Agent.Command}
}

func (linter) Ready(string) bool { return true }

func (linter) Read(e session.Evidence) session.Reading {
	return session.Reading{Activity: session.Working, Detail: e.Screen, Source: "screen"}
}

// The errors say what happened, and what the agent showed.
func ExampleLaunchError() {
	code := 1
	l := scripted("api", sessiontest.Step{Screen: "Invalid API key", Exit: &session.Exit{Code: code}})
	_, err := l.Launch(context.Background(), "api", spec(""))

	var failed *session.LaunchError
	if errors.As(err, &failed) {
		fmt.Println(failed.Name, failed.Exit.Code, failed.Screen)
	}
	// Output: api 1 Invalid API key
}
