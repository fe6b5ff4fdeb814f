package api

import (
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// FormatVersion is the version of every JSON document. A change or deletion raises the
// first number, an addition the second.
const FormatVersion = "1.0"

// Session is one session in a status document. What is not known or absent is nil.
type Session struct {
	Address      session.Address  `json:"address"`
	Name         string           `json:"name"` // the address as a person types it: worker["web"]
	Role         string           `json:"role"`
	Agent        string           `json:"agent"`
	Runtime      string           `json:"runtime"` // RuntimeSpec.Key: tmux, docker/sandbox
	Desired      session.Desired  `json:"desired"` // as overridden, else as declared
	State        session.State    `json:"state"`
	Activity     session.Activity `json:"activity"`
	Alive        *bool            `json:"session_alive"`
	Observable   bool             `json:"observable"` // the agent's session file may be read
	Branch       string           `json:"branch"`
	BranchOK     *bool            `json:"branch_ok"`
	BranchLive   string           `json:"branch_live"`   // branch of the workspace; empty: detached or not known
	BranchFault  string           `json:"branch_fault"`  // why branch_ok is not true, for people
	BranchReason plan.Reason      `json:"branch_reason"` // the same as a code: branch_mismatch, workspace_gone, workspace_unreadable
	Workspace    string           `json:"workspace"`
	Changes      *Changes         `json:"changes"` // of the workspace; null: not counted yet, or it has no git
	// Conflicts are with the base and with other sessions; null: not known, such as of a
	// workspace that is not on the hub's machine.
	Conflicts *[]Conflict    `json:"conflicts"`
	ID        string         `json:"id"`
	PaneID    string         `json:"pane_id"`
	PID       *int           `json:"pid"` // of the agent
	Container string         `json:"container"`
	Host      string         `json:"host,omitempty"` // the machine that has the session, if that is another one
	Status    session.Status `json:"status"`
	// Word is what it is and does in one word of agentform status, Tone how much that matters.
	// Behind Word belongs WordNote, as in exited (1), or the time since WordSince or until WordUntil.
	Word        string            `json:"word"`
	WordNote    string            `json:"word_note"`
	WordSince   *time.Time        `json:"word_since"`
	WordUntil   *time.Time        `json:"word_until"`
	Tone        Tone              `json:"tone"`
	Why         string            `json:"why"`         // for people; times in it are as in JSON
	Remedy      *Remedy           `json:"remedy"`      // null: there is nothing to do about it
	Actions     []Action          `json:"actions"`     // what makes sense to do with it now
	Kept        string            `json:"kept"`        // for people: what becomes of its turn, conversation and files if its agent is ended
	Detail      string            `json:"detail"`      // why, for people
	Doing       string            `json:"doing"`       // the last that its agent said or printed, on one line; empty: not known
	Interrupted bool              `json:"interrupted"` // its turn was cut off, and it has not worked since
	Question    *session.Question `json:"question"`    // what the agent asks, if its answers are known
	Since       *time.Time        `json:"since"`       // since when it is and does so, if that is known
	Needs       *Need             `json:"needs"`       // null: it needs nobody
	Priority    int               `json:"priority"`
	Queue       *int              `json:"queue"` // its place, from 1, among the starts that max_running holds
	Exit        *session.Exit     `json:"exit"`  // how the last run ended; null: it has not, or is not known
	CreatedAt   *time.Time        `json:"created_at"`
	StartedAt   *time.Time        `json:"started_at"` // of the run
	FirstTurnAt *time.Time        `json:"first_turn_at"`
	Turns       *int              `json:"turns"`  // that have ended, by the agent's session file
	Tokens      *int64            `json:"tokens"` // in and out, if the session file counts them
	Usage       *Usage            `json:"usage"`  // null: not read, or the session file does not say
	Until       *time.Time        `json:"until"`  // end of the limit, if activity is blocked_api and that is known
	// Limits is what is used of the account's limits, the shortest first; empty: its agent does not say.
	Limits         []Limit           `json:"limits"`
	Signal         string            `json:"signal"` // source of the activity: native, hook, title, screen, exit
	Restarts       int               `json:"restarts"`
	Budget         *Budget           `json:"restart_budget"` // if the hub restarts the session, or has given up
	Health         string            `json:"health"`         // healthy, unhealthy, unknown
	Unhealthy      *Unhealthy        `json:"unhealthy"`      // why the hub considers it unhealthy
	Attached       *int              `json:"attached"`       // number of attached terminals
	LastEvent      *LastEvent        `json:"last_event"`
	PR             string            `json:"pr_url"`
	ConversationID string            `json:"conversation_id"`
	Origin         session.Origin    `json:"origin"`
	Override       *session.Override `json:"override"`
	// OverBudget is the budget that holds it; null: none does.
	OverBudget *session.OverBudget `json:"over_budget"`
	// Fallback is the other agent that continues the work; null: there is none.
	Fallback *Fallback `json:"fallback"`
	// Finished is what it has reached, by which it is done; null: it is not done, or by its exit.
	Finished *session.Finished `json:"finished"`
	// Landed is where its work is; null: it was not landed, or its agent was started since.
	Landed *session.Landed `json:"landed"`
	// Verified is the outcome of its last verification; null: there was none.
	Verified *Verified `json:"verified"`
	// Pull is the pull request of its branch; null: nothing is known of one, or it is not asked for.
	Pull        *PullRequest `json:"pr"`
	Transcripts Transcripts  `json:"transcripts"`
}

// Tone is how much what a session is and does matters to people.
type Tone string

// The tones.
const (
	Calm      Tone = "calm"      // it waits, and nobody need do anything now
	Active    Tone = "active"    // it works, or its work is verified
	Attention Tone = "attention" // it cannot continue by itself
	Broken    Tone = "broken"    // something is wrong with it
	Over      Tone = "over"      // it is done, or stopped
)

// Action is something that can be done with a session: by the command of that name, and by the
// route of that name if there is one.
type Action string

// The actions. RestartSession is for a session whose agent has exited and whose place is left.
const (
	ActionAnswer         Action = "answer"
	ActionSend           Action = "send"
	ActionStart          Action = "start"
	ActionRestart        Action = "restart"
	ActionRestartSession Action = "restart-session"
	ActionPause          Action = "pause"
	ActionResume         Action = "resume"
	ActionStop           Action = "stop"
)

// Remedy is what to do about what a session is.
type Remedy struct {
	Action Action `json:"action"` // one of its actions; empty: there is none for it
	Text   string `json:"text"`   // for people, with the command line
	// Command is the command line, if Text ends with one.
	Command string `json:"command"`
}

// PullRequest is what is known of the pull request of a session's branch.
type PullRequest struct {
	Number  int             `json:"number"` // 0: there is none yet
	URL     string          `json:"url"`
	State   session.PRState `json:"state"`   // open, merged, closed; empty: there is none yet
	Head    string          `json:"head"`    // its commit
	Checks  session.Checks  `json:"checks"`  // of that: running, failed, passed; empty: there are none
	Reviews int             `json:"reviews"` // comments that are not resolved, and reviews that request changes
	Round   int             `json:"round"`   // texts in a row that its agent was sent of it
	Rounds  int             `json:"rounds"`  // after how many a person is needed
	Detail  string          `json:"detail"`  // why it is held, for people; empty: it is not
	Held    bool            `json:"held"`    // a person is needed: its agent is sent nothing more
}

// Verified is the outcome of a verification of a session's work: a fact about a commit.
type Verified struct {
	Word   string    `json:"word"` // for people: verified, red, red 2/3
	Commit string    `json:"commit"`
	OK     bool      `json:"ok"`
	At     time.Time `json:"at"`
	Round  int       `json:"round"`  // which failure in a row, counted from 1; 0: none, or they are not counted
	Rounds int       `json:"rounds"` // after how many a person is needed
	Detail string    `json:"detail"` // why it failed, for people; empty: it did not
	Log    string    `json:"log"`    // the file with the command's output, as the agent sees it; empty: it was not run
	Held   bool      `json:"held"`   // a person is needed: its agent is sent nothing more
}

// Changes is how far a workspace is from its merge base with its base.
type Changes struct {
	Added     int `json:"added"`     // lines of tracked files, committed or not
	Removed   int `json:"removed"`   // lines
	Untracked int `json:"untracked"` // files that are neither tracked nor ignored
	Ahead     int `json:"ahead"`     // commits that the base lacks
	// Behind are commits that the workspace lacks: of the base, and of the same branch of
	// origin as it was last fetched.
	Behind    int        `json:"behind"`
	FetchedAt *time.Time `json:"fetched_at"` // last fetch of the base; null: not known, or it is not fetched
	Base      string     `json:"base"`       // a branch, tag or commit; empty: HEAD
	CountedAt time.Time  `json:"counted_at"`
}

// Limit is what an account has used of a limit of its provider.
type Limit struct {
	Window      string     `json:"window"` // its length: 5h, 7d
	UsedPercent float64    `json:"used_percent"`
	ResetsAt    *time.Time `json:"resets_at"` // null: not known
}

// Fallback is an agent that continues the work of a session's own one at a spent quota.
type Fallback struct {
	Agent   string    `json:"agent"`     // that runs
	Instead string    `json:"instead"`   // the session's own
	Since   time.Time `json:"since"`     // when it was started
	Until   time.Time `json:"resets_at"` // when the quota resets that was used up
}

// Conflict is work, committed or not, that cannot be merged with that of a session.
type Conflict struct {
	With  session.Address `json:"with"`  // a session; empty: the base
	Base  string          `json:"base"`  // name of the base; empty: it is with a session
	Files []string        `json:"files"` // at most a hundred
}

// Need is why a session needs a person.
type Need struct {
	Reason string    `json:"reason"` // blocked, turn_ended, …: as of next
	Since  time.Time `json:"since"`  // as far as known
}

// Budget is the state of a session's restarts by the hub.
type Budget struct {
	Reason string     `json:"reason"` // why the hub waits: backing_off, budget_spent, restart_policy; empty: it does not
	Try    int        `json:"try"`    // number of the next try, or of the last if the budget is spent
	Of     int        `json:"of"`
	Until  *time.Time `json:"until"` // time of the next try, if backing off
}

// Unhealthy is why the hub considers a live session unhealthy, by its history.
type Unhealthy struct {
	Reason string    `json:"reason"` // hung, heartbeat, contradicted, unobserved
	Detail string    `json:"detail"`
	Since  time.Time `json:"since"`
}

// LastEvent is the last event of a session's history.
type LastEvent struct {
	Time   time.Time    `json:"time"`
	Kind   history.Kind `json:"type"`
	Action string       `json:"action,omitempty"`
	Reason string       `json:"reason,omitempty"`
	Detail string       `json:"detail,omitempty"`
}

// Transcripts are the files with a session's conversation.
type Transcripts struct {
	Screen string `json:"screen"` // the recorded screens
	Native string `json:"native"` // the agent's own session file
}

// StatusDocument is sessions as a document.
type StatusDocument struct {
	Format   string                `json:"format_version"`
	Sessions []Session             `json:"sessions"`
	Counts   map[session.State]int `json:"counts"`
	// WrongBranch counts sessions that run, or are to be started, on another branch.
	WrongBranch int        `json:"wrong_branch"`
	Places      Places     `json:"places"`
	Supervisor  Supervisor `json:"supervisor"`
	// HubFault says why the hub that has answered is not well, for people; times in it are as in JSON.
	// Empty: it is, or the document is not that of a hub.
	HubFault string `json:"hub_fault"`
	// Version names what a hub knows of its sessions. A document with a version Since has only the
	// sessions that have changed since, with their Indexes in the order of all, and those that were
	// Removed; all else is of all.
	Version string            `json:"version,omitempty"`
	Since   string            `json:"since,omitempty"`
	Indexes []int             `json:"indexes,omitempty"`
	Removed []session.Address `json:"removed,omitempty"`
}

// Places are those that max_running limits.
type Places struct {
	Running    int `json:"running"` // agents that take one: also paused ones, those that are being started, and those that cannot be seen
	MaxRunning int `json:"max_running"`
}

// A Supervisor is the state of the hub's process.
type Supervisor string

// A suspended hub was stopped by a signal.
const (
	HubRuns      Supervisor = "running"
	HubSuspended Supervisor = "suspended"
	HubDown      Supervisor = "down"
)

// ShownDocument is one session in full as a document.
type ShownDocument struct {
	Format string `json:"format_version"`
	Session
	Run      *session.Run      `json:"run"`
	Location *session.Location `json:"place"`
	Look     []string          `json:"look_by_hand"`
	Events   []EventRecord     `json:"events"`
	Timeline []TimelineEntry   `json:"timeline"` // what Events are of, in their order
	Screen   Screen            `json:"screen"`
}

// Screen is the end of a screen in a document.
type Screen struct {
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"`
}

// Data is the end of an agent's conversation and screen.
type Data struct {
	Format     string           `json:"format_version"`
	Address    session.Address  `json:"address"`
	ID         string           `json:"id"`
	Alive      *bool            `json:"session_alive"` // null: not known
	Observable bool             `json:"observable"`    // the agent's session file may be read
	Path       string           `json:"path"`          // of that file; empty: there is none yet
	Entries    []session.Entry  `json:"entries"`       // the last in that file
	Screen     Screen           `json:"screen"`        // the last one observed
	Activity   session.Activity `json:"activity"`
	Truncated  bool             `json:"truncated"` // entries or screen were cut
}

// Health is whether a hub is healthy.
type Health struct {
	Format string `json:"format_version"`
	// Status is ok; read_only: the state cannot be read; stuck: the last look is too old.
	Status string `json:"status"`
	// Unsupervised counts sessions that this hub leaves alone, because another machine, user or data
	// directory has them.
	Unsupervised int `json:"unsupervised"`
}

// TimelineEntry is an operation on a session, such as a restart with its steps, or an event that belongs
// to none.
type TimelineEntry struct {
	Time   time.Time `json:"time"`
	Text   string    `json:"text"`   // for people, on one line; times in it are as in JSON
	Events int       `json:"events"` // how many of the events, behind those of the entry before, belong to it
}

// EventRecord is a history event as in events --json, with its excerpt cut to the tail.
type EventRecord struct {
	history.Event
	Text      string `json:"text"`                // for people, on one line; times in it are as in JSON
	Truncated bool   `json:"truncated,omitempty"` // of the excerpt
}

// Error is the error of a response: {"error": {…}}.
type Error struct {
	Status  int    `json:"-"`       // HTTP status
	Code    string `json:"code"`    // in snake_case, for programs
	Message string `json:"message"` // for people
	Next    string `json:"next"`    // what to do next; may be empty
	// Send is a message to the session's agent that asks it to mend that, of a refused landing;
	// empty: it cannot.
	Send string `json:"send,omitempty"`
	// Unsaved is what is not committed, for people, of a landing that a message for it lets land.
	Unsaved string `json:"unsaved,omitempty"`
}

// Error returns the message, and on the next line what to do.
func (e *Error) Error() string {
	if e.Next == "" {
		return e.Message
	}
	return e.Message + "\n" + e.Next
}

// Failure is the document of an error.
type Failure struct {
	Error *Error `json:"error"`
}

// PlanDocument is a plan as a document.
type PlanDocument struct {
	Format    string               `json:"format_version"`
	Version   string               `json:"agentform_version"`
	Timestamp time.Time            `json:"timestamp"`
	Project   string               `json:"project"`
	Lineage   string               `json:"lineage"`
	Serial    uint64               `json:"serial"`
	Complete  bool                 `json:"complete"`
	Errored   bool                 `json:"errored"`
	Changes   []Change             `json:"changes"`
	Drift     []plan.Drift         `json:"drift"`
	Errors    []session.Diagnostic `json:"errors"`
	Warnings  []session.Diagnostic `json:"warnings"`
	Summary   plan.Summary         `json:"summary"`
}

// Change is one session of a plan document.
type Change struct {
	Address    session.Address `json:"address"`
	Action     plan.Action     `json:"action"`
	Reason     plan.Reason     `json:"reason"`
	Detail     string          `json:"detail"`
	Fields     []Field         `json:"fields"`
	Until      *time.Time      `json:"until,omitempty"`
	Moved      session.Address `json:"previous_address,omitempty"`
	Import     string          `json:"import_id,omitempty"`
	Interrupts *Interrupted    `json:"interrupts,omitempty"`
	// Sends says that the prompt is typed into the running conversation.
	Sends bool `json:"sends_prompt,omitempty"`
}

// Interrupted is a turn that a change interrupts.
type Interrupted struct {
	Activity session.Activity `json:"activity"`
	Since    *time.Time       `json:"since"`
	// AfterTurn is how many seconds the turn may go on first.
	AfterTurn float64 `json:"after_turn_seconds"`
}

// Field is one attribute that a change sets. Before and After are nil if it is sensitive.
type Field struct {
	Path      string      `json:"path"`
	Before    any         `json:"before"`
	After     any         `json:"after"`
	Forces    plan.Forces `json:"forces"`
	Sensitive bool        `json:"sensitive"`
}

// Start is the body of start.
type Start struct {
	Wait         bool `json:"wait,omitempty"`          // respond when the agent is ready
	IgnoreBudget bool `json:"ignore_budget,omitempty"` // also if it is over a budget; its budgets start over
}

// Resume is the body of resume.
type Resume struct {
	IgnoreBudget bool `json:"ignore_budget,omitempty"` // also if it is over a budget; its budgets start over
}

// Restart is the body of restart.
type Restart struct {
	Fresh bool `json:"fresh,omitempty"` // start a new conversation, with the prompt
	Wait  bool `json:"wait,omitempty"`  // answer when the agent is ready
	// IgnoreBudget restarts it also if it is over a budget; its budgets start over.
	IgnoreBudget bool `json:"ignore_budget,omitempty"`
}

// RestartSession is the body of restart-session.
type RestartSession struct {
	Fresh bool  `json:"fresh,omitempty"` // start a new conversation, with the prompt
	Wait  *bool `json:"wait,omitempty"`  // respond when the agent is ready (default: true)
}

// Stop is the body of stop.
type Stop struct {
	AfterTurn bool             `json:"after_turn,omitempty"` // wait for the running turn to end
	Timeout   session.Duration `json:"timeout,omitempty"`    // limit of that wait, such as 5m
}

// Done is the result of an action on a session.
type Done struct {
	Format  string          `json:"format_version"`
	Address session.Address `json:"address"`
	Actions []Act           `json:"actions"` // empty: nothing had to be done
	Session Session         `json:"session"` // after the action
}

// Act is one change that was made.
type Act struct {
	Address session.Address `json:"address"`
	Action  plan.Action     `json:"action"`
	Outcome string          `json:"outcome"` // done, failed, skipped or held
	Detail  string          `json:"detail"`
	Seconds float64         `json:"elapsed_seconds"`
}

// Input is the body of send: a text, or a key.
type Input struct {
	Text    string `json:"text,omitempty"`
	Key     string `json:"key,omitempty"`      // a key by its name in tmux: Enter, Escape, C-c, y
	NoEnter bool   `json:"no_enter,omitempty"` // type the text without submitting it
}

// Answer is the body of answer.
type Answer struct {
	// Answer is yes, always or no, the number or label of an option, or a text.
	Answer string `json:"answer"`
	// Question is the id of the question; if it is given, no other one is answered.
	Question string `json:"question,omitempty"`
}

// Answered is the result of answer.
type Answered struct {
	Format   string            `json:"format_version"`
	Address  session.Address   `json:"address"`
	Question session.Question  `json:"question"` // that was answered
	Option   *session.Option   `json:"option"`   // that was chosen; null: a text was typed
	Next     *session.Question `json:"next"`     // what the agent asks now; null: nothing
	Exited   bool              `json:"exited"`   // the agent has exited since
}

// Sent is the result of send.
type Sent struct {
	Format  string          `json:"format_version"`
	Address session.Address `json:"address"`
	Alive   *bool           `json:"session_alive"` // null: not known
	Outcome string          `json:"outcome"`       // submitted; queued: for after the running turn; unverified: a key, or not submitted
}
