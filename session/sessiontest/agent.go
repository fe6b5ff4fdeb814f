package sessiontest

import (
	"context"
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// Agent is an agent for scripts: its command line is the spec's, it is ready at
// once, its prompt is typed, and it does what Step.Activity says. Its zero value
// is ready for use.
type Agent struct{ session.Fileless }

// Start is the spec's command and arguments, with the prompt to be typed.
func (Agent) Start(in session.StartInput) session.Start {
	return session.Start{Argv: slices.Concat(in.Spec.Agent.Command, in.Spec.Args), Paste: in.Prompt, Conversation: in.Conversation}
}

// Ready is always true.
func (Agent) Ready(string) bool { return true }

// Read is the activity that stands in the title, and on the last line of the
// screen the question; an agent that is gone has exited.
func (Agent) Detect(e session.Evidence) session.Detection {
	if e.Vital == session.Dead {
		return session.Detection{Activity: session.Exited, Source: "exit"}
	}
	r := session.Detection{Activity: session.Activity(e.Title), Source: "title"}
	if r.Activity == "" {
		r.Activity = session.Idle
	}
	if r.Activity == session.Blocked {
		r.Detail = lastLine(e.Screen)
	}
	return r
}

// Sleep lets that much time pass in the scripts, and does not wait: it is how a
// test of a program that sleeps takes no time. The error is the context's.
func (s *Scripted) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slept += d
	return nil
}

// Slept is how much time Sleep has let pass.
func (s *Scripted) Slept() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slept
}

// Now is the time in the scripts: agentform.Launcher.Now, for programs whose sleeping is
// Sleep.
func (s *Scripted) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

// now is the time in the scripts; the lock is held.
func (s *Scripted) now() time.Time { return time.Now().Add(s.slept) }

// lastLine is the last line that shows something.
func lastLine(screen string) string {
	end := len(screen)
	for end > 0 && (screen[end-1] == '\n' || screen[end-1] == ' ') {
		end--
	}
	begin := end
	for begin > 0 && screen[begin-1] != '\n' {
		begin--
	}
	return screen[begin:end]
}
