package agent

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// at returns a time so many seconds after noon.
func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// reporter is an agent with every signal: its hooks send {"does":"idle"}.
func reporter(trust ...string) *detector {
	return newDetector(kind{
		marks: marks{
			titles:  []title{{`^works`, session.Working}, {`^rests`, session.Idle}, {`^asks`, session.Blocked}},
			blocked: []string{`Shall I`}, retrying: []string{`Retrying`}, working: []string{`esc to interrupt`}, ui: []string{`v1`},
		},
		signal: func(data []byte) (session.Detection, bool) {
			var told struct{ Does session.Activity }
			err := json.Unmarshal(data, &told)
			return session.Detection{Activity: told.Does, Detail: "told"}, err == nil && told.Does != ""
		},
		trust: trust,
	}, session.AgentSpec{Ready: `^> $`, ReadyTimeout: session.Duration(30 * time.Second), Patterns: session.Patterns{Done: []string{"all green"}}})
}

func TestWhichSignalCounts(t *testing.T) {
	transcript := func(a session.Activity, seconds int) *session.Transcript {
		return &session.Transcript{Activity: a, Detail: "written", At: at(seconds)}
	}
	hook := func(said string, seconds int) session.Signal {
		return session.Signal{At: at(seconds), Data: []byte(said)}
	}
	does := func(a session.Activity, seconds int) session.Signal { return hook(`{"does":"`+string(a)+`"}`, seconds) }
	const composer = "text\n> \n"
	for name, c := range map[string]struct {
		session.Evidence
		trust []string
		want  session.Detection
	}{
		"the session file": {session.Evidence{Transcript: transcript(session.Idle, 50)}, nil,
			session.Detection{Activity: session.Idle, Detail: "written", Source: FromTranscript}},
		"the session file before the title": {session.Evidence{Transcript: transcript(session.Idle, 55), Title: "works"}, nil,
			session.Detection{Activity: session.Idle, Detail: "written", Source: FromTranscript}},
		"a hook that is newer than the session file": {session.Evidence{Transcript: transcript(session.Idle, 55), Signals: []session.Signal{does(session.Working, 56)}, Title: "works"}, []string{FromTranscript, FromTitle, FromHook},
			session.Detection{Activity: session.Working, Detail: "told", Source: FromHook}},
		"a session file of an earlier run": {session.Evidence{Transcript: transcript(session.Working, -50), Title: "rests"}, nil,
			session.Detection{Activity: session.Idle, Source: FromTitle}},
		"a session file that does not report it": {session.Evidence{Transcript: transcript("", 50), Title: "works"}, nil,
			session.Detection{Activity: session.Working, Source: FromTitle}},
		"a hook before the title": {session.Evidence{Signals: []session.Signal{does(session.Working, 1), does(session.Blocked, 55)}, Title: "works"}, nil,
			session.Detection{Activity: session.Blocked, Detail: "told", Source: FromHook}},
		"a hook that means nothing": {session.Evidence{Signals: []session.Signal{does(session.Working, 55), hook(`{"other":1}`, 56), hook(`no json`, 57)}}, nil,
			session.Detection{Activity: session.Working, Detail: "told", Source: FromHook}},
		"a hook that is older than the session file": {session.Evidence{Transcript: transcript(session.Idle, 20), Signals: []session.Signal{does(session.Working, 10)}}, nil,
			session.Detection{Activity: session.Idle, Detail: "written", Source: FromTranscript}},
		"the title before hooks, where it is believed first": {session.Evidence{Signals: []session.Signal{does(session.Working, 55)}, Title: "rests"}, []string{FromTitle, FromHook},
			session.Detection{Activity: session.Idle, Source: FromTitle}},
		"a session file that is not believed": {session.Evidence{Transcript: transcript(session.Working, 55), Title: "rests"}, []string{FromTitle},
			session.Detection{Activity: session.Idle, Source: FromTitle}},
		"file and title contradict each other for long": {session.Evidence{Transcript: transcript(session.Working, 49), Title: "rests"}, nil,
			session.Detection{Activity: session.NoActivity, Detail: "its session file says working, its title says idle", Source: "native+title"}},
		"file and title differ for a moment": {session.Evidence{Transcript: transcript(session.Working, 51), Title: "rests"}, nil,
			session.Detection{Activity: session.Working, Detail: "written", Source: FromTranscript}},
		"file and hook contradict each other for long": {session.Evidence{Transcript: transcript(session.Working, 10), Signals: []session.Signal{does(session.Idle, 40)}}, nil,
			session.Detection{Activity: session.NoActivity, Detail: "its hook says idle, its session file says working", Source: "hook+native"}},
		"a question and work are no contradiction": {session.Evidence{Transcript: transcript(session.Blocked, 10), Title: "works"}, nil,
			session.Detection{Activity: session.Blocked, Detail: "written", Source: FromTranscript}},
		"a failure and rest are no contradiction": {session.Evidence{Transcript: transcript(session.Failed, 10), Title: "rests"}, nil,
			session.Detection{Activity: session.Failed, Detail: "written", Source: FromTranscript}},
		"a dialog on the screen": {session.Evidence{Transcript: transcript(session.Working, 55), Screen: "Shall I?\n❯ 1. Yes\n"}, nil,
			session.Detection{Activity: session.Blocked, Detail: "Shall I?", Source: FromScreen}},
		"a question that the agent wrote": {session.Evidence{Transcript: transcript(session.Idle, 55), Screen: "Shall I?\n" + composer}, nil,
			session.Detection{Activity: session.Idle, Detail: "written", Source: FromTranscript}},
		"a dialog that is not known": {session.Evidence{Title: "rests", Screen: "Try the new thing\n❯ 1. Later\n  2. Now\n"}, nil,
			session.Detection{Activity: session.Blocked, Detail: "Try the new thing\n❯ 1. Later\n2. Now", Source: FromScreen}},
		"a dialog that is not known, and nothing else": {session.Evidence{Screen: "Update?\nPress Enter to continue\n"}, nil,
			session.Detection{Activity: session.Blocked, Detail: "Update?\nPress Enter to continue", Source: FromScreen}},
		"a list that the agent wrote": {session.Evidence{Title: "rests", Screen: "> 1. first\n> 2. second\n" + composer}, nil,
			session.Detection{Activity: session.Idle, Source: FromTitle}},
		"a limit while it works": {session.Evidence{Transcript: transcript(session.Working, 55), Screen: "Retrying in 3s\nesc to interrupt\n"}, nil,
			session.Detection{Activity: session.BlockedAPI, Detail: "Retrying in 3s", Source: FromScreen}},
		"a phrase where the session file speaks": {session.Evidence{Transcript: transcript(session.Idle, 55), Screen: "fatal error: x\n" + composer}, nil,
			session.Detection{Activity: session.Idle, Detail: "written", Source: FromTranscript}},
		"a phrase where only the title speaks": {session.Evidence{Title: "rests", Screen: "fatal error: x\n" + composer}, nil,
			session.Detection{Activity: session.Failed, Detail: "fatal error: x", Source: FromScreen}},
		"the manifest's own sign": {session.Evidence{Transcript: transcript(session.Idle, 55), Screen: "All Green\n" + composer}, nil,
			session.Detection{Activity: session.Done, Detail: "All Green", Source: FromScreen}},
		"the question of a title": {session.Evidence{Title: "asks", Screen: "Shall I?\n"}, nil,
			session.Detection{Activity: session.Blocked, Detail: "Shall I?", Source: FromTitle}},
		"nothing that is known":           {session.Evidence{Screen: "what is this\n"}, nil, session.Detection{Activity: session.NoActivity, Source: FromScreen}},
		"nothing that is known, at first": {session.Evidence{Screen: "what is this\n", StartedAt: at(31)}, nil, session.Detection{Activity: session.Booting, Source: FromScreen}},
	} {
		t.Run(name, func(t *testing.T) {
			e := c.Evidence
			e.Liveness, e.Now = session.Alive, at(60)
			if e.StartedAt.IsZero() {
				e.StartedAt = noon
			}
			got := reporter(c.trust...).Detect(e)
			got.Question = nil // TestQuestion has those
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A dead agent has no activity, whatever its signals last reported.
func TestADeadAgentIsReadByItsExit(t *testing.T) {
	got := reporter().Detect(session.Evidence{Liveness: session.Dead, Exit: &session.Exit{Cause: "self"}, Title: "works",
		Transcript: &session.Transcript{Activity: session.Working, At: noon, LastMessage: "see https://github.com/o/r/pull/7"}})
	if got.Activity != session.Exited || got.Source != FromExit || got.PR != "https://github.com/o/r/pull/7" {
		t.Errorf("%+v", got)
	}
}
