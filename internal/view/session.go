package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Session is one session in a status document. A pointer that is nil stands for
// what is not known or not there, and is null in JSON.
type Session struct {
	Address        session.Address   `json:"address"`
	Name           string            `json:"name"` // the address as a person types it: worker["web"]
	Role           string            `json:"role"`
	Agent          string            `json:"agent"`
	Runtime        string            `json:"runtime"` // RuntimeSpec.Key: tmux, docker/sandbox
	Desired        session.Desired   `json:"desired"` // a person's override, if there is one
	State          session.State     `json:"state"`
	Activity       session.Activity  `json:"activity"`
	Alive          *bool             `json:"session_alive"`
	Observable     bool              `json:"observable"` // the agent's own session file may be looked for
	Branch         string            `json:"branch"`
	BranchOK       *bool             `json:"branch_ok"`
	BranchLive     string            `json:"branch_live"`   // what the workspace is on; empty: detached or not known
	BranchFault    string            `json:"branch_fault"`  // what is wrong when branch_ok is not true, for people
	BranchReason   plan.Reason       `json:"branch_reason"` // the same as plan's code: branch_mismatch, workspace_gone, workspace_unreadable
	Workspace      string            `json:"workspace"`
	ID             string            `json:"id"`
	PaneID         string            `json:"pane_id"`
	PID            *int              `json:"pid"` // of the agent
	Container      string            `json:"container"`
	Status         session.Status    `json:"status"`
	Detail         string            `json:"detail"` // why, for people
	CreatedAt      *time.Time        `json:"created_at"`
	StartedAt      *time.Time        `json:"started_at"` // of the run
	FirstTurnAt    *time.Time        `json:"first_turn_at"`
	Turns          *int              `json:"turns"`  // that have ended, as the agent's own session file says
	Tokens         *int64            `json:"tokens"` // in and out, as far as that counts them
	Until          *time.Time        `json:"until"`  // of activity blocked_api: when the limit ends, if that is said
	Signal         string            `json:"signal"` // what the activity is known by: native, hook, title, screen, exit
	Restarts       int               `json:"restarts"`
	Budget         *Budget           `json:"restart_budget"` // of one that the hub starts again, or not any more
	Health         string            `json:"health"`         // healthy, unhealthy, unknown
	Unhealthy      *Unhealthy        `json:"unhealthy"`      // what the hub found to be wrong with it; nil: nothing
	Attached       *int              `json:"attached"`       // how many terminals are attached; nil: not known
	LastEvent      *LastEvent        `json:"last_event"`
	PR             string            `json:"pr_url"`
	ConversationID string            `json:"conversation_id"`
	Origin         session.Origin    `json:"origin"`
	Override       *session.Override `json:"override"`
	Transcripts    Transcripts       `json:"transcripts"`
}

// Budget is how far the hub has come with starting a session again.
type Budget struct {
	Reason string     `json:"reason"` // why it waits: backing_off, budget_spent, restart_policy; empty: it does not
	Try    int        `json:"try"`    // the number of the next try; of budget_spent, of the last
	Of     int        `json:"of"`
	Until  *time.Time `json:"until"` // of backing_off: when that is
}

// Unhealthy is what the hub found to be wrong with a live session, as its history tells:
// it is known after the hub has ended, too.
type Unhealthy struct {
	Reason string    `json:"reason"` // hung, heartbeat, contradicted, unobserved
	Detail string    `json:"detail"`
	Since  time.Time `json:"since"`
}

// LastEvent is the youngest event of a session's history.
type LastEvent struct {
	Time   time.Time    `json:"time"`
	Kind   history.Kind `json:"type"`
	Action string       `json:"action,omitempty"`
	Reason string       `json:"reason,omitempty"`
	Detail string       `json:"detail,omitempty"`
}

// Transcripts are the files in which a session can be read again.
type Transcripts struct {
	Screen string `json:"screen"` // the recorded screen
	Native string `json:"native"` // the agent's own session file
}

// Known is what is known of one session, from which SessionOf makes what is
// shown. Record or Live is there, or both, or only Wanted: a session that was
// never applied.
type Known struct {
	Wanted      *session.Spec
	Record      *session.Record
	Live        *session.Live
	Diagnosis   plan.Diagnosis
	Reading     session.Reading   // what the agent says; zero: not asked
	Look        *activity.Look    // what is known of the agent besides; nil: not asked
	Checkout    *session.Checkout // nil: not looked at
	Events      []history.Event   // of the session, the oldest first
	FirstTurnAt time.Time         // when its first turn ended; zero: not yet, or not known
	Transcripts Transcripts
	Stuck       bool            // its start was approved, and a problem prevents it
	Restarts    *health.Verdict // what the hub may do about its agent's end; nil: nothing is to be done
}

// Hold lays on what is known of a session what the hub does with it, or why it
// waits. The same again says nothing twice.
func (k *Known) Hold(c plan.Change) {
	k.Restarts = c.Restarts
	k.Stuck = c.Stuck()
	if c.Action != plan.Hold && !k.Stuck {
		return
	}
	k.Diagnosis.State = c.State
	if k.Record != nil && k.Record.Intent == session.Queued {
		k.Diagnosis.Detail = c.Detail
		return
	}
	switch d := k.Diagnosis.Detail; {
	case d == "" || strings.Contains(c.Detail, d):
		k.Diagnosis.Detail = c.Detail
	case !strings.HasSuffix(d, c.Detail):
		k.Diagnosis.Detail += "; " + c.Detail
	}
}

// SessionOf lays together what is known of a session.
func SessionOf(k Known) Session {
	spec := k.spec()
	s := Session{
		Address: spec.Address, Name: short(spec.Address), Role: spec.Role, Agent: spec.Agent.Name,
		Runtime: spec.Runtime.Key(), Desired: spec.Desired, Branch: spec.Branch, Workspace: spec.Workspace.Path,
		State: k.Diagnosis.State, Activity: k.activity(), Alive: k.Diagnosis.Alive, Detail: k.Diagnosis.Detail,
		FirstTurnAt: utcOrNull(k.FirstTurnAt), PR: k.Reading.PR, Transcripts: k.Transcripts, Health: k.health(),
		Until: utcOrNull(k.Reading.Until), Signal: k.Reading.Source,
	}
	if s.State == session.StateRunning {
		s.Detail = k.Reading.Detail
		if s.Activity == session.Booting || k.Look != nil && k.Look.Starting {
			s.State = session.StateStarting
		}
	}
	s.Status = session.StatusOf(s.State, s.Activity)
	if v := k.Restarts; v != nil {
		s.Budget = &Budget{Reason: string(v.Reason), Try: v.Try, Of: v.Of, Until: utcOrNull(v.Until)}
		if v.Reason == health.BudgetGone {
			s.Budget.Try = v.Of // there is no next one
		}
	}
	if r := k.Record; r != nil {
		s.recorded(*r)
	}
	if k.Look != nil {
		s.looked(*k.Look)
	}
	if l := k.Live; l != nil {
		s.live(*l)
	}
	if k.interrupted(s.Activity) {
		s.Detail = join(Interrupted, s.Detail)
	}
	s.unwell(k)
	s.branch(spec, k.Checkout, k.Record != nil && k.Record.Unmade())
	s.Observable = k.observable(spec)
	if all := activity.Requests(k.Events); s.PR == "" && len(all) > 0 {
		s.PR = all[len(all)-1]
	}
	if n := len(k.Events); n > 0 {
		e := k.Events[n-1]
		s.LastEvent = &LastEvent{Time: utc(e.Time), Kind: e.Kind, Action: e.Action, Reason: e.Reason, Detail: e.Detail}
	}
	return s
}

// Interrupted begins the detail of a session whose last turn was cut off.
const Interrupted = "its turn was interrupted"

// interrupted reports whether the session's last turn was cut off and no other has
// begun since.
func (k Known) interrupted(does session.Activity) bool {
	switch does {
	case session.Working, session.Blocked, session.BlockedAPI, session.Done, session.Failed:
		return false
	}
	for _, e := range slices.Backward(k.Events) {
		switch e.Kind {
		case history.TurnInterrupted:
			return true
		case history.Sent, history.PromptDelivered, history.FirstTurnDone:
			return false
		}
	}
	return false
}

// spec is what the session is wanted to be, or else what it was made as.
func (k Known) spec() session.Spec {
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
		return session.Spec{Address: k.Live.Mark.Address, Runtime: session.RuntimeSpec{Kind: k.Live.Place.Runtime}}
	}
	return session.Spec{}
}

func (s *Session) recorded(r session.Record) {
	s.ID, s.Origin, s.Override = r.ID, r.Origin, r.Override
	s.CreatedAt, s.StartedAt = utcOrNull(r.CreatedAt), utcOrNull(r.Run.StartedAt)
	s.PaneID, s.Container, s.ConversationID = r.Place.Pane, r.Place.Container, r.Run.Conversation
	s.Restarts = max(r.Run.Number-1, 0)
	if r.Tree.Path != "" {
		s.Workspace = r.Tree.Path
	}
	if r.Override != nil {
		s.Desired = r.Override.Desired
	}
	if r.Trouble != "" && !s.gaveUp() {
		s.Detail = r.Trouble
	}
	if r.Run.Agent.PID > 0 && s.Alive != nil && *s.Alive && r.Place.Container == "" { // in a container it has another number
		s.PID = &r.Run.Agent.PID
	}
}

// looked adds what the agent's own session file tells.
func (s *Session) looked(x activity.Look) {
	if s.FirstTurnAt == nil {
		s.FirstTurnAt = utcOrNull(x.FirstTurnAt)
	}
	if n := x.Native; n != nil {
		s.Turns, s.Transcripts.Native = &n.Turns, n.Path
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
		s.Detail = join(s.Detail, "its session file cannot be found, for longer than unobserved_for says: agentform doctor "+s.Name)
	}
}

// unwell adds what the hub found to be wrong with a session that is not known to be
// dead.
func (s *Session) unwell(k Known) {
	if k.Record == nil || s.Alive != nil && !*s.Alive {
		return
	}
	x := activity.IllnessOf(*k.Record, k.Events)
	if x == nil {
		return
	}
	s.Health, s.Unhealthy = "unhealthy", &Unhealthy{Reason: x.Reason, Detail: x.Detail, Since: utc(x.At)}
	if k.Look == nil || !k.Look.Overdue { // else that was said
		s.Detail = join(s.Detail, "unhealthy: "+x.Detail)
	}
}

// gaveUp reports whether the hub does not start the session any more: that is what there
// is to say of it, and not how the last try failed.
func (s *Session) gaveUp() bool {
	return s.Budget != nil && s.Budget.Reason == string(health.BudgetGone)
}

// join is two things to be said about one.
func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// live overrides what is on record with what is seen.
func (s *Session) live(l session.Live) {
	if s.ID == "" {
		s.ID = l.Mark.ID
	}
	if l.Place.Pane != "" {
		s.PaneID = l.Place.Pane
	}
	if l.Place.Container != "" {
		s.Container = l.Place.Container
	}
	if l.Agent.PID > 0 && l.Vital == session.Alive && l.Place.Container == "" {
		s.PID = &l.Agent.PID
	}
	if !l.Started.IsZero() {
		s.StartedAt = utcOrNull(l.Started)
	}
	if l.Vital == session.Alive {
		s.Attached = &l.Attached
	}
}

// branch holds the workspace against the branch that is declared.
func (s *Session) branch(spec session.Spec, co *session.Checkout, unmade bool) {
	if co == nil || spec.Branch == "" {
		return
	}
	if co.Err != nil { // whether it is on its branch is not known
		s.BranchFault, s.BranchReason = "workspace cannot be read: "+co.Err.Error(), plan.ReasonUnreadable
		return
	}
	s.BranchLive = co.Branch
	ok := co.Exists && co.Git && co.Branch == spec.Branch
	if s.ID != "" && !unmade || co.Exists && !co.Empty { // nothing is wrong with a folder that is not made yet
		s.BranchOK = &ok
		s.BranchFault, s.BranchReason = branchFault(ok, *co)
	}
}

// branchFault returns how a workspace is not on its branch, for people and as plan's
// reason.
func branchFault(ok bool, co session.Checkout) (string, plan.Reason) {
	switch {
	case ok:
		return "", ""
	case !co.Exists:
		return "workspace is gone", plan.ReasonWorkspaceGone
	case !co.Git:
		return "workspace is not a git checkout", plan.ReasonBranchMismatch
	case co.BranchGone != "":
		return fmt.Sprintf("branch %q of the workspace does not exist", co.BranchGone), plan.ReasonBranchMismatch
	case co.Branch == "":
		return "workspace is on no branch", plan.ReasonBranchMismatch
	}
	return fmt.Sprintf("workspace is on %q", co.Branch), plan.ReasonBranchMismatch
}

// WrongBranch reports whether a session that runs, or is to be started, has its
// workspace on another branch. In error or stopped, the session has no agent that
// could commit there.
func (s Session) WrongBranch() bool {
	return s.BranchReason == plan.ReasonBranchMismatch &&
		slices.Contains([]session.State{session.StatePending, session.StateStarting, session.StateRunning, session.StatePaused}, s.State)
}

func (k Known) activity() session.Activity {
	switch {
	case k.Diagnosis.Activity != "":
		return k.Diagnosis.Activity
	case k.Look != nil && k.Look.Activity != "":
		return k.Look.Activity
	case k.Reading.Activity != "":
		return k.Reading.Activity
	}
	return session.NoActivity
}

func (k Known) health() string {
	if k.Reading.Activity == session.Failed {
		return "unhealthy"
	}
	switch k.Diagnosis.State {
	case session.StateRunning, session.StatePaused:
		return "healthy"
	case session.StateStale, session.StateError:
		return "unhealthy"
	}
	return "unknown"
}

// observable reports whether the agent's own session file may be looked for: an
// agent that has not come so far yet is neither idle nor dead without one.
func (k Known) observable(spec session.Spec) bool {
	if k.Record == nil || k.Record.Run.ID == "" {
		return false
	}
	if k.Look != nil {
		return k.Look.Observable
	}
	switch spec.Agent.Observable {
	case "at_first_prompt":
		return !k.Record.Run.DeliveredAt.IsZero()
	case "after_first_turn":
		return !k.FirstTurnAt.IsZero()
	}
	return true
}

// short is an address as a person types it.
func short(a session.Address) string { return strings.TrimPrefix(string(a), "session.") }
