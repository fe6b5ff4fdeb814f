package follow_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// The agents' titles and screens, at the times measured with the real ones: when
// is a turn seen to have ended? It may never be before its time, and no later
// than it takes to be sure.
func TestTurnsOfAgents(t *testing.T) {
	const none = -1
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	codexComposer := "› Ask Codex to do anything\n\n  gpt-5 default · /work\n"
	for name, c := range map[string]struct {
		agent     string
		steps     []sessiontest.Step
		delivered time.Duration // when the prompt was given; none: never
		ends      time.Duration // of its turn
		sure      time.Duration // until that is sure
	}{
		"claude, its prompt on the command line": {"claude", []sessiontest.Step{
			{After: ms(3200), Title: "✳ Claude Code", Screen: "❯ \n? for shortcuts\n"},
			{After: ms(3700), Title: "⠐ Build the API", Screen: "✢ Thinking… (esc to interrupt)\n❯ \n"},
			{After: ms(10800), Title: "✳ Build the API", Screen: "✻ Worked for 7s\n❯ \n? for shortcuts\n"},
		}, 0, ms(10800), time.Second},
		"codex, which shows its composer while it boots": {"codex", []sessiontest.Step{
			{After: ms(1000), Title: "codex", Screen: "› Ask Codex to do anything\n? for shortcuts\n"},
			{After: ms(1900), Screen: codexComposer},
			{After: ms(2040), Title: "⠋ work", Screen: "• Working (3s • esc to interrupt)\n" + codexComposer},
			{After: ms(8180), Title: "Build the API | codex", Screen: "  Worked for 6s • 10:11\n" + codexComposer},
		}, 0, ms(8180), time.Second},
		"codex, which asks": {"codex", []sessiontest.Step{
			{After: ms(1000), Title: "⠋ work", Screen: "• Working (3s • esc to interrupt)\n"},
			{After: ms(4000), Title: "[ ! ] Action Required", Screen: "Would you like to run the following command?\n› 1. Yes, proceed (y)\n"},
			{After: ms(30000), Title: "⠋ work", Screen: "• Working (9s • esc to interrupt)\n"},
			{After: ms(33000), Title: "Build | codex", Screen: codexComposer},
		}, 0, ms(33000), time.Second},
		"gemini, whose composer shows long before its prompt is taken up": {"gemini", []sessiontest.Step{
			{After: ms(12300), Title: "◇  Ready (work)", Screen: "> Type your message or @path/to/file\n"},
			{After: ms(13800), Title: "✦  Working… (work)", Screen: "⠋ Thinking (esc to cancel, 2s)\n"},
			{After: ms(20700), Title: "◇  Ready (work)", Screen: "> Type your message or @path/to/file\n"},
		}, 0, ms(20700), time.Second},
		"a turn that nobody could see": {"claude", []sessiontest.Step{
			{After: 0, Title: "✳ Claude Code", Screen: "❯ \n? for shortcuts\n"},
			{After: ms(5010), Title: "⠐ Hello", Screen: "✢ Thinking… (esc to interrupt)\n"},
			{After: ms(5090), Title: "✳ Hello", Screen: "Hello!\n❯ \n? for shortcuts\n"},
		}, 5 * time.Second, ms(5090), 6 * time.Second},
		"an agent that was given nothing, and a person who types": {"claude", []sessiontest.Step{
			{After: 0, Title: "✳ Claude Code", Screen: "❯ \n? for shortcuts\n"},
			{After: time.Minute, Title: "⠐ Hello", Screen: "✢ Thinking… (esc to interrupt)\n"},
			{After: time.Minute + ms(2000), Title: "✳ Hello", Screen: "Hello!\n❯ \n? for shortcuts\n"},
		}, none, time.Minute + ms(2000), time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := sessiontest.New("shop")
				rt.Script("api", c.steps...)
				l := session.Launch{Name: "api", Mark: session.Mark{Project: "shop", Address: "session.api", Run: "one"}, Argv: []string{c.agent}}
				if _, err := rt.Create(t.Context(), l); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				spec := agent.Builtins()[c.agent]
				var f follower
				for live, err := range follow.Looks(t.Context(), 250*time.Millisecond, nil, func(ctx context.Context) (session.Live, error) {
					lives, err := rt.Observe(ctx, true)
					return lives[0], err
				}) {
					if err != nil {
						t.Fatal(err)
					}
					s := sight{look: turn.Look{Run: "one", Moved: live.MovedAt.Truncate(time.Second)}}
					s.Address, s.Recorded, s.State, s.Alive = "session.api", true, session.StateRunning, true
					s.Activity = agent.For(spec).Detect(session.Evidence{Liveness: live.Liveness, Title: live.Title, Screen: live.Screen}).Activity
					s.Status = session.StatusOf(s.State, s.Activity)
					if at := began.Add(c.delivered); c.delivered != none && !time.Now().Before(at) {
						s.Given = at
					}
					f.see(time.Now(), s)
					took := time.Since(began)
					switch reached := f.last[0].Verdict(follow.Turn) == follow.Reached; {
					case reached && took < c.ends:
						t.Fatalf("after %v, and it ends after %v", took, c.ends)
					case reached:
						return
					case took > c.ends+c.sure:
						t.Fatalf("not seen after %v, and it ended after %v", took, c.ends)
					}
				}
			})
		})
	}
}
