package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

// TestResumeTurns checks who resumes after a quota has reset, and who waits for whom.
func TestResumeTurns(t *testing.T) {
	end := now.Add(-time.Minute)
	over := Limit{end.Add(-time.Hour), end, true}
	at := func(name string, change ...func(*Resuming)) Resuming {
		r := Resuming{Address: session.Single(name), Credential: "1", Alive: true, Limit: over, Staggered: true, Able: true, Begun: end.Add(-2 * time.Hour)}
		for _, c := range change {
			c(&r)
		}
		return r
	}
	begun := func(ago time.Duration, limit Limit) func(*Resuming) {
		return func(r *Resuming) { r.Begun, r.Limit = now.Add(-ago), limit }
	}
	unable := func(r *Resuming) { r.Able = false }
	exited := func(r *Resuming) { r.Alive = false }
	first := func(r *Resuming) { r.Priority = 1 }
	for name, c := range map[string]struct {
		all  []Resuming
		want string
	}{
		"the first":                  {[]Resuming{at("b"), at("a")}, "a; b after a"},
		"by priority":                {[]Resuming{at("a"), at("b", first)}, "b; a after b"},
		"one that lives":             {[]Resuming{at("a", exited), at("b")}, "b; a after b"},
		"one that exited":            {[]Resuming{at("a", exited), at("b", exited)}, "a; b after a"},
		"somebody works with it":     {[]Resuming{at("a", unable), at("b")}, "b; a after b"},
		"nobody can":                 {[]Resuming{at("a", unable)}, "; a after "},
		"other credentials":          {[]Resuming{at("a"), at("b", func(r *Resuming) { r.Credential = "2" })}, "a b;"},
		"not known":                  {[]Resuming{at("a", func(r *Resuming) { r.Credential = "" })}, ";"},
		"not asked to":               {[]Resuming{at("a", func(r *Resuming) { r.Staggered = false })}, ";"},
		"not over":                   {[]Resuming{at("a", func(r *Resuming) { r.Limit.Until = now.Add(time.Second) })}, ";"},
		"another limit":              {[]Resuming{at("a"), at("b", begun(45*time.Second, Limit{now, now.Add(time.Hour), true}))}, "; a after b"},
		"a limit by the minute":      {[]Resuming{at("a", func(r *Resuming) { r.Limit.Since = end.Add(-time.Minute) })}, ";"},
		"the one before has not":     {[]Resuming{at("a", begun(45*time.Second, over)), at("b")}, "; b after a"},
		"it has just reset":          {[]Resuming{at("a", func(r *Resuming) { r.Limit.Until = now.Add(-20 * time.Second) })}, "; a after"},
		"it has just":                {[]Resuming{at("a", begun(20*time.Second, Limit{})), at("b")}, "; b after a"},
		"it has":                     {[]Resuming{at("a", begun(40*time.Second, Limit{})), at("b")}, "b;"},
		"it starts":                  {[]Resuming{at("a", begun(40*time.Second, Limit{}), func(r *Resuming) { r.Starting = true }), at("b")}, "; b after a"},
		"it is never told once more": {[]Resuming{at("a", begun(50*time.Second, over))}, ";"},
		"it was started, and idles":  {[]Resuming{at("a", begun(40*time.Second, Limit{}), func(r *Resuming) { r.Idles = true }), at("b")}, "a; b after a"},
		"it was just started":        {[]Resuming{at("a", begun(20*time.Second, Limit{}), func(r *Resuming) { r.Idles = true })}, "; a after a"},
		"it was started before":      {[]Resuming{at("a", begun(time.Hour, Limit{})), at("b")}, "b;"},
	} {
		got := ResumeTurns(c.all, now)
		var next, waiting []string
		for a := range got.Next {
			next = append(next, a.Block())
		}
		for a, on := range got.Waiting {
			waiting = append(waiting, a.Block()+" after "+on.Block())
		}
		slices.Sort(next)
		slices.Sort(waiting)
		if s := strings.TrimSpace(strings.Join(next, " ") + "; " + strings.Join(waiting, ", ")); s != strings.TrimSpace(c.want) {
			t.Errorf("%s: %q, want %q", name, s, c.want)
		}
	}
	late := ResumeTurns([]Resuming{at("a", func(r *Resuming) { r.Limit.Until = now.Add(-time.Hour); r.Limit.Since = now.Add(-3 * time.Hour) }),
		at("b", begun(3*time.Minute, Limit{now.Add(-3 * time.Hour), now.Add(-time.Hour), true}))}, now)
	if fmt.Sprint(late.Next) != "map[session.a:true]" {
		t.Errorf("one that does not resume keeps the others: %+v", late)
	}
	if soon := ResumeTurns([]Resuming{at("a", begun(20*time.Second, Limit{})), at("b")}, now); soon.Again != 10*time.Second {
		t.Errorf("it is decided again after %s", soon.Again)
	}
}
