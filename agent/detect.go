package agent

import (
	"cmp"
	"fmt"
	"time"

	"github.com/agentform/agentform/session"
)

// detector interprets evidence with patterns that are compiled once.
type detector struct {
	signals signals
	screen  screenPatterns
	boots   time.Duration // how long the agent may take to be ready
	oneShot bool
}

func newDetector(k kind, s session.AgentSpec) *detector {
	return &detector{signals: newSignals(k), screen: newScreenPatterns(k.marks, s), boots: s.ReadyTimeout.D(), oneShot: s.OneShot}
}

// Detect returns an agent's activity, or how it exited.
func (d *detector) Detect(e session.Evidence) session.Detection {
	detection := session.Detection{Activity: session.NoActivity}
	switch e.Liveness {
	case session.Dead:
		detection = exited(e.Exit, e.OneShot || d.oneShot)
	case session.Alive:
		detection = d.alive(e)
		if detection.Question = d.question(detection, e); detection.Question == nil && detection.Activity == session.Blocked {
			detection.Detail = decided(detection.Detail)
		}
	}
	if detection.Activity == session.BlockedAPI && detection.Until.IsZero() && !e.Now.IsZero() {
		// The detail is one line; the end of the sentence may be on the next. Its time is that of
		// the agent's last output: a day later the same words would mean the next day.
		said := e.Now
		if !e.MovedAt.IsZero() && e.MovedAt.Before(said) {
			said = e.MovedAt.In(said.Location())
		}
		detection.Until = limitEnd(detection.Detail+"\n"+d.parse(e).turn, said)
	}
	detection.PR = lastPullRequest(e.Screen)
	if detection.PR == "" && e.Transcript != nil {
		detection.PR = lastPullRequest(e.Transcript.LastMessage)
	}
	return detection
}

func (d *detector) parse(e session.Evidence) screen {
	prompt := ""
	if e.Transcript != nil {
		prompt = e.Transcript.LastPrompt
	}
	return d.screen.parse(e.Screen, e.Typed, prompt)
}

// question returns the dialog on the screen of an agent that waits for an answer.
func (d *detector) question(found session.Detection, e session.Evidence) *session.Question {
	if found.Activity != session.Blocked && found.Activity != session.BlockedAPI || e.Screen == "" {
		return nil
	}
	told := found.Detail
	if found.Source != FromHook { // the session file is newer than the hook's report, which has the words
		if last := d.signals.lastHook(e, time.Time{}); last.Activity == session.Blocked {
			told = cmp.Or(last.Detail, told)
		}
	}
	return d.screen.question(d.parse(e), told)
}

func lastPullRequest(text string) string {
	all := pullRequest.FindAllString(text, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// exited interprets the exit of an agent. Only a one-shot that exited by itself with 0 is done: an
// interactive agent's exit says nothing about its work.
func exited(x *session.Exit, oneShot bool) session.Detection {
	if x == nil {
		return session.Detection{Activity: session.Exited, Detail: "exited; its exit status is not known", Source: FromExit}
	}
	if x.Cause == session.CauseFailedStart {
		return session.Detection{Activity: session.Failed, Detail: "it could not be started: " + x.Detail, Source: FromExit}
	}
	how := fmt.Sprintf("exit status %d", x.Code)
	if x.Signal != "" {
		how = "killed by " + x.Signal
	}
	if x.Cause == session.CauseTimeout || x.Cause == session.CauseHangup {
		how = string(x.Cause) + ", " + how
	}
	activity := session.Exited
	switch {
	case oneShot && x.Clean():
		activity = session.Done
	case oneShot && x.Failed() && x.Cause != session.CauseRequested:
		activity = session.Failed
	}
	return session.Detection{Activity: activity, Detail: how, Source: FromExit}
}

// alive interprets a running agent by its session file, hooks and title, and by its screen, which
// may show what the others lack.
func (d *detector) alive(e session.Evidence) session.Detection {
	said := d.signals.statements(e)
	if e.Screen == "" && !e.Blank { // not captured
		return weigh(said, e.Now)
	}
	s := d.parse(e)
	if len(said) == 0 {
		detection := d.screenOnly(s, e)
		detection.Source = FromScreen
		return detection
	}
	if detection, shown := d.override(s, said[0], e); shown {
		detection.Source = FromScreen
		return detection
	}
	detection := weigh(said, e.Now)
	if detection.Activity == session.Blocked {
		detection.Detail = d.screen.withAnswers(detection.Detail, s)
	}
	return detection
}

// override returns what the screen shows if it outweighs the best of the other signals: a declared
// pattern, a dialog, a lost connection, a limit during work and, against a title alone, an end or a
// failure. What an agent prints while it works is part of its work.
func (d *detector) override(s screen, best statement, e session.Evidence) (session.Detection, bool) {
	p := d.screen
	if seen := p.verdictOfManifest(s); seen.Activity != "" && !e.Replayed {
		return seen, true
	}
	if best.Activity == session.Blocked {
		return session.Detection{}, false
	}
	if seen := p.connection(s); seen.Activity != "" {
		return seen, true
	}
	if best.Source == FromTitle && best.Activity != session.Working {
		switch seen := p.detect(s, e); seen.Activity {
		case session.Done, session.BlockedAPI, session.Failed:
			return seen, true
		}
	}
	if p.asks(s) || rests(best.Activity) && p.unknownDialog(s) {
		return session.Detection{Activity: session.Blocked, Detail: p.asking(s)}, true
	}
	if line := p.own.retrying.line(s.turn); line != "" && best.Activity == session.Working {
		return session.Detection{Activity: session.BlockedAPI, Detail: line}, true
	}
	return session.Detection{}, false
}

// screenOnly interprets a screen without any other signal: by its patterns, then by the age of the
// run.
func (d *detector) screenOnly(s screen, e session.Evidence) session.Detection {
	p := d.screen
	detection := p.detect(s, e)
	if detection.Activity != session.NoActivity || len(p.ready) == 0 {
		return detection
	}
	switch {
	case p.unknownDialog(s):
		return session.Detection{Activity: session.Blocked, Detail: p.asking(s)}
	case p.drafted(s), p.own.ended.match(last(s.now, len(s.now))) && !e.Replayed:
		return session.Detection{Activity: session.Idle}
	case !e.StartedAt.IsZero() && !e.Now.IsZero() && e.Now.Sub(e.StartedAt) < d.boots:
		return session.Detection{Activity: session.Booting}
	}
	return detection
}
