package activity

import (
	"cmp"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/echo"
	"github.com/agentform/agentform/internal/sessionfile"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

// Reader reads what agents do. It may be used by many goroutines. It keeps what
// it has read, so one is made for as long as sessions are looked at.
type Reader struct {
	runs  string // the folder of the runs' folders
	home  string // of agents whose environment is not known
	adapt func(session.AgentSpec) session.Agent
	files sessionfile.Reader

	mu     sync.Mutex
	agents map[session.Address]program
	// programs are those by the agent's name, for sessions that have the same.
	programs map[string][]program
	seen     map[string]*seen // by run
}

// program is the agent of a specification. Its patterns are compiled once, and
// not for each look.
type program struct {
	spec  session.AgentSpec
	agent session.Agent
}

// seen is what has been read of a run.
type seen struct {
	env     map[string]string // of the agent; nil: not read yet
	heard   int64             // how long the signals were when they were read
	signals []session.Signal
	worked  bool             // it was seen at work
	told    session.Status   // of the last look
	at      time.Time        // of the last look
	first   time.Time        // when its first turn ended, as far as it was seen
	ready   bool             // it was seen ready for a prompt
	prompt  string           // of which the first of typed are
	typed   []echo.Text      // what it was given
	own     int              // how many of them are of its prompt
	sent    int64            // how long the file of the others was when it was read
	sentAt  time.Time        // when it was last sent something
	before  session.Activity // of the last look, as the agent told
}

// New reads sessions of the project with that data folder. Home is that of agents
// whose environment is not known: the person's own. Adapt is the adapter of an
// agent, such as agent.For.
func New(dataDir, home string, adapt func(session.AgentSpec) session.Agent) *Reader {
	return &Reader{runs: filepath.Join(dataDir, "runs"), home: home, adapt: adapt,
		agents: map[session.Address]program{}, programs: map[string][]program{}, seen: map[string]*seen{}}
}

// Look is what is known of what an agent does.
type Look struct {
	// Detection is what the agent's signals say, and Activity what is to be said of
	// it: of an agent that rests and cannot be observed yet, unobserved.
	Detection  session.Detection
	Activity   session.Activity
	Transcript *session.Transcript // nil: it has no session file, or not yet
	// Observable says that the agent's own session file is there, or has to be.
	Observable  bool
	FirstTurnAt time.Time // when its first turn ended; zero: it has not, or that is not known
	TurnAt      time.Time // when its last turn ended, as its hooks or its file say; zero: they do not
	// Overdue says that the agent was given something and could not be observed for
	// longer than its unobserved_for: something is wrong with its files.
	Overdue bool
	Fault   error // a session file is there and cannot be read
	// Starting says that the agent lives and was never seen ready for a prompt in this
	// run.
	Starting bool
	ready    bool // it was seen ready, of an agent of which that can be seen
}

// Agent is the adapter of a recorded session's agent.
func (r *Reader) Agent(rec session.Record) session.Agent {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, there := r.agents[rec.Address]
	if !there || !reflect.DeepEqual(known.spec, rec.Spec.Agent) {
		known = r.program(rec.Spec.Agent)
		r.agents[rec.Address] = known
	}
	return known.agent
}

// program is the agent of a specification, the same for all that have the same: the
// patterns of one take 30 KB. The caller holds the lock.
func (r *Reader) program(s session.AgentSpec) program {
	for _, p := range r.programs[s.Name] {
		if reflect.DeepEqual(p.spec, s) {
			return p
		}
	}
	p := program{s, r.adapt(s)}
	r.programs[s.Name] = append(r.programs[s.Name], p)
	return p
}

// Forget lets go of what has been read of all runs but these, for those who look for
// long.
func (r *Reader) Forget(but map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.seen, func(run string, _ *seen) bool { return !but[run] })
	r.files.Forget(but)
}

// Told is what an agent's own session file holds.
type Told struct {
	Path    string // of the file; empty: it has none, or not yet
	Entries []session.Entry
	Cut     bool // it is long, and its middle is left out
}

// Told reads a session's own file once, from its beginning.
func (r *Reader) Told(rec session.Record) (Told, error) {
	var files sessionfile.Reader
	a, of := r.Agent(rec), r.Lookup(rec)
	native, err := files.Read(a, rec.Run.ID, of)
	if native == nil || err != nil {
		return Told{}, err
	}
	lines, _, cut, err := files.More(a, rec.Run.ID, of, nil)
	return Told{native.Path, sessionfile.Entries(a, lines), cut}, err
}

// Read is what a session's agent does. Live is nil if nothing of it is to be
// seen, and given is when it was last given something to do, by its prompt or by
// hand; zero: never.
func (r *Reader) Read(rec session.Record, live *session.Live, given, now time.Time) Look {
	if rec.Unmade() {
		return Look{Activity: session.NoActivity}
	}
	a := r.Agent(rec)
	signals := r.signals(rec)
	x := Look{}
	x.Transcript, x.Fault = r.files.Read(a, rec.Run.ID, r.Lookup(rec))
	e := session.Evidence{
		Liveness: session.Unknown, OneShot: rec.Spec.Agent.OneShot, Now: now, StartedAt: rec.Run.StartedAt,
		Prompted: !rec.Run.DeliveredAt.IsZero(), Transcript: x.Transcript, Signals: signals,
	}
	if live != nil {
		e.Liveness, e.Exit, e.Title, e.Screen, e.Blank, e.MovedAt = live.Liveness, live.Exit, live.Title, live.Screen, live.Blank, live.MovedAt
		texts, sent := r.given(rec)
		if given.Before(sent) {
			given = sent
		}
		e.Replayed = replayed(a, rec, x.Transcript, signals, given)
		x.Detection = read(a, texts, e)
	}
	x.Transcript = settled(x.Transcript, x.Detection, rec.Run.StartedAt)
	x.TurnAt = turnEnd(a, x.Transcript, signals, rec.Run.StartedAt)
	x.FirstTurnAt = r.firstTurn(a, rec, x, signals, now)
	x.Observable = observable(rec, x, given)
	x.Activity = x.Detection.Activity
	if e.Liveness == session.Alive && !patternless(rec.Spec.Agent) {
		x.ready = r.started(a, rec, x, e)
		x.Starting = !x.ready
		if x.ready && x.Activity == session.Booting { // an adapter knows of no look before
			x.Activity, x.Detection.Activity = session.NoActivity, session.NoActivity
		}
	}
	if x.Starting && young(rec, now) && (x.Activity == session.Idle || x.Activity == session.NoActivity) {
		x.Activity = session.Booting
	}
	if !x.Observable && (x.Activity == session.Idle || x.Activity == session.NoActivity) && e.Liveness == session.Alive {
		x.Activity = session.Unobserved
		if x.Detection.Activity == session.Idle {
			x.Detection.Detail = expects(rec)
		}
	}
	x.Overdue = overdue(rec, a, x, given, now) && e.Liveness == session.Alive
	return x
}

// read is what an agent makes of the evidence. What was typed into it is on its screen,
// too, and says nothing about what became of it.
func read(a session.Agent, texts []echo.Text, e session.Evidence) session.Detection {
	reading := a.Detect(e)
	if e.Liveness != session.Alive || reading.Source != agent.FromScreen && reading.PR == "" {
		return reading // the screen says nothing
	}
	own, spans := e, []echo.Span(nil)
	if own.Screen, spans = echo.Without(e.Screen, texts); own.Screen == e.Screen {
		return reading
	}
	for _, s := range spans {
		own.Typed = append(own.Typed, session.Span(s))
	}
	without := a.Detect(own)
	if without.Activity == session.Blocked && reading.Activity == session.Blocked {
		without.Detail = reading.Detail // which may quote what was typed
	}
	return without
}

// replayed reports whether all that the agent's screen shows of its conversation is of
// the runs before: it goes on with one, and nothing tells that it was given anything
// since.
func replayed(a session.Agent, rec session.Record, n *session.Transcript, signals []session.Signal, given time.Time) bool {
	if rec.Run.Conversation == "" || rec.Run.Number < 2 && rec.Spec.Conversation == (session.Conversation{}) || !given.Before(rec.Run.StartedAt) || n != nil && n.At.After(rec.Run.StartedAt) {
		return false
	}
	return !slices.ContainsFunc(signals, func(s session.Signal) bool { return means(a, s) == session.Working })
}

// expects says when an agent that rests will be observable.
func expects(rec session.Record) string {
	if rec.Spec.Agent.Observable == agent.AfterFirstTurn {
		return "it can be observed when its first turn has ended"
	}
	return "it waits for its first prompt"
}

// Look is Read with what the session's history tells: when it was last given
// something, and that its first turn has ended, whoever has seen that.
func (r *Reader) Look(rec session.Record, live *session.Live, past []history.Event, now time.Time) Look {
	if at, ready := FirstTurnAt(rec, past), toldOf(rec.Run.ID, past).ready; ready || !at.IsZero() {
		r.mu.Lock()
		s := r.run(rec.Run.ID)
		s.first, s.ready = at, s.ready || ready
		r.mu.Unlock()
	}
	given, _ := Given(rec, past)
	return r.Read(rec, live, given, now)
}

// InImage reports whether the agent's home is its container's own, so that its files
// are not to be found here, whatever is in them.
func (r *Reader) InImage(rec session.Record) bool {
	return rec.Spec.Runtime.Traits().OwnHome && r.environ(rec.Run.ID)["HOME"] == ""
}

// inImage stands for a home in a container's image: nothing of it is to be found here.
const inImage = "/nonexistent"

// Lookup is what is known of a session's run when its files are looked for.
func (r *Reader) Lookup(rec session.Record) session.Lookup {
	env := r.environ(rec.Run.ID)
	home := cmp.Or(env["HOME"], r.home)
	if r.InImage(rec) {
		home = inImage // the person's own files are not this agent's
	}
	return session.Lookup{
		Dir: rec.Tree.Path, Home: home, Env: env, Process: rec.Run.Agent,
		Conversation: rec.Run.Conversation, StartedAt: rec.Run.StartedAt,
	}
}

// run is what is kept of a run; the caller holds the lock.
func (r *Reader) run(id string) *seen {
	s := r.seen[id]
	if s == nil {
		s = &seen{}
		r.seen[id] = s
	}
	return s
}

// environ is the environment that a run's agent was started with, as the run's
// folder keeps it: none if that is gone.
func (r *Reader) environ(run string) map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.run(run)
	if s.env == nil && run != "" {
		list, _, err := rundir.LaunchEnv(filepath.Join(r.runs, run))
		if err != nil {
			return nil
		}
		s.env = make(map[string]string, len(list))
		for _, kv := range list {
			name, value, _ := strings.Cut(kv, "=")
			s.env[name] = value
		}
	}
	return s.env
}

// signals are what the run's hooks told, read again when there are more.
func (r *Reader) signals(rec session.Record) []session.Signal {
	dir := filepath.Join(r.runs, rec.Run.ID)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.run(rec.Run.ID)
	size := rundir.SignalsSize(dir)
	if size == s.heard {
		return s.signals
	}
	told, err := rundir.ReadSignals(dir)
	if err != nil {
		return s.signals
	}
	s.heard, s.signals = size, make([]session.Signal, len(told))
	for i, t := range told {
		s.signals[i] = session.Signal{At: t.At, Data: t.Data}
	}
	return s.signals
}

// Heard is how much the hooks of runs have told, in bytes. It changes when one
// tells more, and is cheap to ask: a stat a run.
func (r *Reader) Heard(runs []string) int64 {
	var all int64
	for _, run := range runs {
		all += rundir.SignalsSize(filepath.Join(r.runs, run))
	}
	return all
}

// Given returns when a session was last given something to do, its prompt or what
// was sent to it, and whether its agent was at work with something else then; zero:
// never.
func Given(rec session.Record, past []history.Event) (at time.Time, queued bool) {
	at = rec.Run.DeliveredAt
	for _, e := range slices.Backward(past) {
		if e.Kind == history.Sent {
			if e.Time.After(at) {
				at, queued = e.Time, e.Reason == history.Queued
			}
			break
		}
	}
	return at, queued
}
