package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/changes"
	"github.com/agentform/agentform/internal/conflicts"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Input is everything known of one session. Only Wanted is set, if it was never applied.
type Input struct {
	Wanted     *session.Spec
	Record     *session.Record
	Live       *session.Live
	Diagnosis  plan.Diagnosis
	Look       *activity.Look       // what the agent does; nil: not read
	Turn       *turn.Course         // the turn according to several looks; nil: Look is the only one
	OffSince   time.Time            // since when they saw its workspace on another branch; zero: it is not
	DraftSince time.Time            // since when they saw a text in its composer that was not sent; zero: there is none
	Checkout   *session.Checkout    // nil: not read
	Changes    *changes.Count       // of the workspace; nil: not counted
	Conflicts  []conflicts.Conflict // nil: not known
	Events     []history.Event      // the history, oldest first
	Transcript string               // path of the recorded screens; empty: there are none
	Stuck      bool                 // its start was approved, and a problem prevents it
	Restarts   *health.Verdict      // what the hub may do about its agent's exit; nil: nothing
	Queue      int                  // its place among the starts that wait for max_running; 0: none
	Usage      *usage.Sum           // of its models; nil: not read
	At         time.Time            // of the observation
}

func (k Input) Address() session.Address { return k.spec().Address }

func (k Input) elsewhere() bool {
	return k.Record != nil && k.Diagnosis.Reason == plan.ReasonElsewhere
}

// Foreign returns the sessions that a hub of this project does not supervise: another machine, user or
// data directory has them.
func Foreign(all []Input) (foreign []session.Address) {
	for _, k := range all {
		if k.elsewhere() {
			foreign = append(foreign, k.Address())
		}
	}
	return foreign
}

// mostDoing limits what a document has of the last that an agent said, in bytes.
const mostDoing = 160

// doing returns the last that an agent said or, without a session file, printed.
func doing(k Input) string {
	var text string
	switch {
	case k.Look != nil && k.Look.Transcript != nil:
		text = cmp.Or(k.Look.Transcript.LastMessage, k.Look.Transcript.LastPrompt)
	case k.Live != nil:
		text = strings.TrimRight(k.Live.Screen, " \n")
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	text = plaintext.OneLine(text[:min(len(text), 4*mostDoing)])
	return strings.ToValidUTF8(text[:min(len(text), mostDoing)], "")
}

// Of returns the document of a session.
func Of(k Input) api.Session {
	spec := k.spec()
	var detection session.Detection
	if k.Look != nil {
		detection = k.Look.Detection
	}
	s := api.Session{
		Address: spec.Address, Name: spec.Address.Short(), Role: spec.Role, Agent: spec.Agent.Name,
		Runtime: spec.Runtime.Key(), Desired: spec.Desired, Branch: spec.Branch, Workspace: spec.Workspace.Path,
		State: k.state(), Activity: k.activity(), Alive: k.Diagnosis.Alive, Detail: k.Diagnosis.Detail,
		PR: detection.PR, Health: k.health(detection.Activity), Until: wire.UTCOrNil(detection.Until), Signal: detection.Source, Limits: []api.Limit{},
	}
	s.Transcripts.Screen = k.Transcript
	elsewhere := k.elsewhere()
	if elsewhere {
		s.Host = k.Record.Owner.Host
	}
	if c := k.Changes; c != nil && !elsewhere {
		s.Changes = &api.Changes{Added: c.Added, Removed: c.Removed, Untracked: c.Untracked, Ahead: c.Ahead, Behind: c.Behind,
			FetchedAt: wire.UTCOrNil(c.FetchedAt), Base: c.Base, CountedAt: wire.UTC(c.At)}
	}
	if k.Conflicts != nil && !elsewhere {
		all := []api.Conflict{}
		for _, c := range k.Conflicts {
			all = append(all, api.Conflict(c))
		}
		s.Conflicts = &all
	}
	if k.Diagnosis.State == session.StateRunning {
		s.Detail, s.Question = detection.Detail, detection.Question
	}
	s.Status = session.StatusOf(s.State, s.Activity)
	if v := k.Restarts; v != nil {
		s.Budget = &api.Budget{Reason: string(v.Reason), Try: v.Try, Of: v.Of, Until: wire.UTCOrNil(v.Until)}
		if v.Reason == health.BudgetGone {
			s.Budget.Try = v.Of // there is no next try
		}
	}
	if r := k.Record; r != nil {
		s.FirstTurnAt = wire.UTCOrNil(activity.FirstTurnAt(*r, k.Events))
		recorded(&s, *r)
	}
	if k.Look != nil {
		looked(&s, *k.Look)
	}
	if k.Usage != nil && k.Usage.Answers > 0 {
		s.Usage = new(UsageOf(*k.Usage))
		s.Tokens = &s.Usage.Total
	}
	if l := k.Live; l != nil {
		live(&s, *l, spec.Lifecycle)
	}
	s.Doing = doing(k)
	if e := activity.Interrupted(s.Activity, k.Events); e != nil {
		if s.Interrupted = true; s.State == session.StateRunning {
			s.Detail = join(e.Detail, s.Detail)
		}
	}
	if r := k.Record; r != nil && r.Fallback != nil {
		s.Detail = join(s.Detail, r.Fallback.String())
	}
	unwell(&s, k)
	if r := k.Record; r == nil || !r.Spent() {
		branch(&s, spec, k.Checkout, r != nil && r.Unmade())
	}
	if s.Pull != nil && s.Pull.URL != "" { // else its agent may have shown another one
		s.PR = s.Pull.URL
	}
	if all := activity.Requests(k.Events); s.PR == "" && len(all) > 0 {
		s.PR = all[len(all)-1]
	}
	if n := len(k.Events); n > 0 {
		e := k.Events[n-1]
		s.LastEvent = &api.LastEvent{Time: wire.UTC(e.Time), Kind: e.Kind, Action: e.Action, Reason: e.Reason, Detail: e.Detail}
	}
	if s.Priority = spec.Priority; k.Queue > 0 {
		s.Queue = &k.Queue
	}
	s.Since = wire.UTCOrNil(k.since())
	if v := verified(s); v != nil && !v.OK {
		s.Detail = join(s.Detail, v.Detail)
	}
	if r := k.Record; r != nil && detection.Refused && r.Run.Credential.ID != "" {
		s.Detail = join(s.Detail, agent.Renewal(r.Spec.Agent, r.Run.Credential))
	}
	if r := k.Record; r != nil && s.Activity == session.Idle {
		if r.PRHeld() {
			s.Detail = join(s.Detail, r.PR.Detail)
		}
		if given, _ := activity.Given(*r, k.Events); r.Landed != nil && r.Landed.At.After(given) {
			s.Detail = join(s.Detail, r.Landed.String())
		}
		if e := unverifiable(*r, k.Events); e != nil {
			s.Detail = join(s.Detail, "its work cannot be verified: "+e.Detail)
		}
	}
	if n, needs := follow.Shown(Followed(k, s)); needs {
		s.Needs = &api.Need{Reason: string(n.Reason), Since: wire.UTC(n.Since)}
	}
	return forPeople(s, spec)
}

// spec returns the wanted spec of a session, or else the one that it was created with.
func (k Input) spec() session.Spec {
	switch {
	case k.Wanted != nil:
		return *k.Wanted
	case k.Record != nil:
		spec := k.Record.Spec
		spec.Address = k.Record.Address
		return spec
	case k.Live != nil && k.Live.Spec != nil:
		return *k.Live.Spec
	case k.Live != nil:
		return session.Spec{Address: k.Live.Mark.Address, Runtime: session.RuntimeSpec{Kind: k.Live.Location.Runtime}}
	}
	return session.Spec{}
}

func recorded(s *api.Session, r session.Record) {
	s.ID, s.Origin, s.Override, s.OverBudget = r.ID, r.Origin, r.Override, r.OverBudget
	s.Finished, s.Landed = r.Finished, r.Landed
	if f := r.Fallback; f != nil {
		s.Agent = f.Agent
		s.Fallback = &api.Fallback{Agent: f.Agent, Instead: f.Instead.Agent.Name, Since: wire.UTC(f.Since), Until: wire.UTC(f.Until)}
	}
	s.Verified, s.Pull = VerifiedOf(r), pullOf(r)
	s.CreatedAt, s.StartedAt = wire.UTCOrNil(r.CreatedAt), wire.UTCOrNil(r.Run.StartedAt)
	s.PaneID, s.Container, s.ConversationID = r.Location.Pane, r.Location.Container, r.Run.Conversation
	s.Restarts = max(r.Run.Number-1, 0)
	if r.Tree.Path != "" {
		s.Workspace = r.Tree.Path
	}
	if r.Override != nil {
		s.Desired = r.Override.Desired
	}
	if o := r.OverBudget; o != nil && !strings.Contains(s.Detail, o.String()) {
		if s.Detail == string(s.State) {
			s.Detail = ""
		}
		s.Detail = join(s.Detail, o.String())
	}
	// The detail is what the hub gave up on, or a live agent's question, wait or failure, and not
	// the failure of the last action.
	says := (s.State == session.StateRunning || s.State == session.StateStarting) && s.Detail != ""
	if r.LastError != "" && !says && (s.Budget == nil || s.Budget.Reason != string(health.BudgetGone)) {
		s.Detail = r.LastError
	}
	if r.Run.Agent.PID > 0 && s.Alive != nil && *s.Alive && r.Location.Traits().HostProcesses {
		s.PID = &r.Run.Agent.PID
	}
}

// VerifiedOf returns the outcome of a session's last verification; nil: there was none.
func VerifiedOf(r session.Record) *api.Verified {
	v := r.Verified
	if v == nil {
		return nil
	}
	rounds := r.Spec.Verify.Rounds
	return &api.Verified{Word: v.Word(rounds), Commit: v.Commit, OK: v.OK, At: wire.UTC(v.At), Round: v.Round, Rounds: rounds, Detail: v.Detail, Log: v.Log, Held: v.Held}
}

// pullOf returns what is known of a session's pull request; nil: nothing.
func pullOf(r session.Record) *api.PullRequest {
	p := r.PR
	if p == nil || !r.Spec.PR.Declared() {
		return nil
	}
	return &api.PullRequest{Number: p.Number, URL: p.URL, State: p.State, Head: p.Head, Checks: p.Checks, Reviews: p.Reviews,
		Round: p.Round, Rounds: r.Spec.PR.Rounds, Detail: p.Detail, Held: r.PRHeld()}
}

// windowName returns the length of a limit's window in days or as a duration: 7d, 5h.
func windowName(d session.Duration) string {
	const day = session.Duration(24 * time.Hour)
	if d >= day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return d.Short()
}

func looked(s *api.Session, x activity.Look) {
	s.Observable = x.Observable
	if s.FirstTurnAt == nil {
		s.FirstTurnAt = wire.UTCOrNil(x.FirstTurnAt)
	}
	if n := x.Transcript; n != nil {
		s.Turns, s.Transcripts.Native = &n.Turns, n.Path
		for _, w := range n.Limits {
			s.Limits = append(s.Limits, api.Limit{Window: windowName(w.Length), UsedPercent: w.Used, ResetsAt: wire.UTCOrNil(w.ResetsAt)})
		}
		if n.Tokens > 0 {
			s.Tokens = &n.Tokens
		}
		if n.Conversation != "" {
			s.ConversationID = n.Conversation
		}
	}
	if x.Fault != nil {
		s.Detail = join(s.Detail, x.Fault.Error())
	}
	if x.Overdue {
		s.Health = "unhealthy"
		s.Detail = join(s.Detail, "its session file cannot be found, for longer than unobserved_for: agentform doctor "+s.Name)
	}
}

func unwell(s *api.Session, k Input) {
	if k.Record == nil || s.Alive != nil && !*s.Alive {
		return
	}
	x, _ := activity.Illness(*k.Record, k.Events)
	if x == nil {
		return
	}
	s.Health, s.Unhealthy = "unhealthy", &api.Unhealthy{Reason: x.Reason, Detail: x.Detail, Since: wire.UTC(x.Time)}
	if k.Look == nil || !k.Look.Overdue { // else that is in the detail
		s.Detail = join(s.Detail, "unhealthy: "+x.Detail)
	}
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

func live(s *api.Session, l session.Live, ignored session.Lifecycle) {
	if s.ID == "" {
		s.ID = l.Mark.ID
	}
	if l.Location.Pane != "" {
		s.PaneID = l.Location.Pane
	}
	s.Container = cmp.Or(l.Location.Container, s.Container)
	if l.Agent.PID > 0 && l.Liveness == session.Alive && l.Location.Traits().HostProcesses {
		s.PID = &l.Agent.PID
	}
	if !l.Started.IsZero() {
		s.StartedAt = wire.UTCOrNil(l.Started)
	}
	s.Exit = l.Exit
	if l.Liveness == session.Alive {
		s.Attached = &l.Attached
	}
	if words := plan.EditedWords(l, ignored); words != "" {
		s.Detail = join(s.Detail, words)
	}
	if l.Losing != "" {
		s.Detail = join(s.Detail, l.Losing)
	}
}

func branch(s *api.Session, spec session.Spec, co *session.Checkout, unmade bool) {
	if co == nil || spec.Branch == "" {
		return
	}
	off := plan.OffBranch(*co, spec.Branch)
	if off != plan.ReasonUnreadable { // else the branch is not known
		s.BranchLive = co.Branch
		if (s.ID == "" || unmade) && (!co.Exists || co.Empty) { // a directory that is not created yet is not wrong
			return
		}
		s.BranchOK = new(off == "")
	}
	s.BranchFault, s.BranchReason = branchFault(off, *co), off
}

func branchFault(off plan.Reason, co session.Checkout) string {
	switch {
	case off == "":
		return ""
	case off == plan.ReasonUnreadable:
		return "workspace cannot be read: " + co.Err.Error()
	case off == plan.ReasonWorkspaceGone:
		return "workspace is gone"
	case !co.Git:
		return "workspace is not a git checkout"
	case co.BranchGone != "":
		return fmt.Sprintf("branch %q of the workspace does not exist", co.BranchGone)
	case co.Branch == "":
		return "workspace is on no branch"
	}
	return fmt.Sprintf("workspace is on %q", co.Branch)
}

// state returns the state of the session, which starts until its agent was ready for a prompt.
func (k Input) state() session.State {
	if k.Diagnosis.State == session.StateRunning && (k.activity() == session.Booting || k.Look != nil && k.Look.Starting) {
		return session.StateStarting
	}
	return k.Diagnosis.State
}

func (k Input) activity() session.Activity {
	switch {
	case k.Diagnosis.Activity != "":
		return k.Diagnosis.Activity
	case k.Look == nil:
		return session.NoActivity
	}
	return cmp.Or(k.Look.Activity, k.Look.Detection.Activity, session.NoActivity)
}

func (k Input) health(does session.Activity) string {
	switch state := k.Diagnosis.State; {
	case does == session.Failed, state == session.StateStale, state == session.StateError:
		return "unhealthy"
	case state == session.StateRunning, state == session.StatePaused:
		return "healthy"
	}
	return "unknown"
}
