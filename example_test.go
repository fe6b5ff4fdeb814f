package agentform_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// scripted is a launcher in which the agent of a session does what a script
// says. For real it is agentform.Open.
func scripted(name string, steps ...sessiontest.Step) *agentform.Launcher {
	rt := sessiontest.New("")
	rt.Script(name, steps...)
	return &agentform.Launcher{Runtime: rt, Agents: map[string]session.Agent{"claude": sessiontest.Agent{}}}
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

	err := l.With(context.Background(), "api", spec("write the tests"), func(ctx context.Context, s *agentform.Session) error {
		shown, err := s.Capture(ctx, 100)
		fmt.Println(shown)
		return err
	})
	fmt.Println(err)
	// Output:
	// all tasks completed
	// <nil>
}

// Find takes up what an earlier life of the program left running.
func ExampleLauncher_Find() {
	l := scripted("api", sessiontest.Step{Activity: session.Working})
	ctx := context.Background()

	s, err := l.Find(ctx, "api", spec("write the tests"))
	if errors.Is(err, session.ErrGone) {
		fmt.Println("launched")
		s, err = l.Launch(ctx, "api", spec("write the tests"))
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := l.Find(ctx, "api", spec("write the tests"))
	fmt.Println(again.Handle() == s.Handle(), err)
	// Output:
	// launched
	// true <nil>
}

// A session is typed to, read, shown to a person, and stopped.
func ExampleSession() {
	l := scripted("api", sessiontest.Step{Activity: session.Idle, Screen: "all is well\n> "})
	ctx := context.Background()
	s, err := l.Launch(ctx, "api", spec(""))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Send(ctx, "now the documents"))                          // and Enter
	fmt.Println(s.SendInput(ctx, session.Input{Text: "y", NoEnter: true})) // no Enter
	fmt.Println(s.SendInput(ctx, session.Input{Key: "Escape"}))            // a key
	shown, err := s.Capture(ctx, 100)
	fmt.Printf("%q %v\n", shown, err)
	fmt.Println(s.Attach()) // the command for a person's terminal
	fmt.Println(s.Stop(ctx))
	o, err := s.Observe(ctx)
	fmt.Println(o.Status, err)
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// "all is well\n>" <nil>
	// [echo attach api]
	// <nil>
	// stopped <nil>
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

	tell := agentform.Callbacks{
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

	var last agentform.Observation
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

func (linter) Detect(e session.Evidence) session.Detection {
	return session.Detection{Activity: session.Working, Detail: e.Screen, Source: "screen"}
}

// The errors say what happened, and what the agent showed.
func ExampleLaunchError() {
	code := 1
	l := scripted("api", sessiontest.Step{Screen: "Invalid API key", Exit: &session.Exit{Code: code}})
	_, err := l.Launch(context.Background(), "api", spec(""))

	var failed *agentform.LaunchError
	if errors.As(err, &failed) {
		fmt.Println(failed.Name, failed.Exit.Code, failed.Screen)
	}
	// Output: api 1 Invalid API key
}

// What keeps an agent from its prompt is on its screen.
func ExampleReadyTimeoutError() {
	l := scripted("api", sessiontest.Step{Screen: "Do you trust the files in this folder?"})
	l.Agents["claude"] = patient{}
	own := spec("write the tests")
	own.Agent.ReadyTimeout = session.Duration(time.Millisecond)
	_, err := l.Launch(context.Background(), "api", own)

	var late *agentform.ReadyTimeoutError
	if errors.As(err, &late) {
		fmt.Println(late.After, late.Screen)
	}
	// Output: 1ms Do you trust the files in this folder?
}

// patient is an agent that is never ready.
type patient struct{ sessiontest.Agent }

func (patient) Ready(string) bool { return false }
