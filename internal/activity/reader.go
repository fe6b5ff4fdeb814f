package activity

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/echo"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/sessionfile"
	"github.com/agentform/agentform/internal/shim/reported"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

// Reader detects what agents do. It is safe for concurrent use, and caches what it has read.
type Reader struct {
	data  layout.Data
	home  string // of agents with an unknown environment
	adapt func(session.AgentSpec) session.Agent
	files sessionfile.Reader

	mu       sync.Mutex
	agents   map[session.Address]program
	programs map[string][]program // by name, shared by sessions
	seen     map[string]*seen     // by run
}

type program struct {
	spec  session.AgentSpec
	agent session.Agent
}

type seen struct {
	env     map[string]string // of the agent; nil: not read yet
	heard   int64             // size of the signals when they were read
	signals []session.Signal
	talk    string           // conversation of the last signal; empty: no signal has one
	worked  bool             // it was observed working
	status  session.Status   // of the last look
	at      time.Time        // of the first look with that status
	first   time.Time        // when its first turn ended, if observed
	ready   bool             // it was observed ready for a prompt
	prompt  string           // digest and text of the prompt in typed
	typed   []echo.Text      // the texts sent to it, the prompt first
	own     int              // how many of them are the prompt
	sent    int64            // size of the file of the other texts when it was read
	sentAt  time.Time        // when something was last sent
	before  session.Activity // of the last look, as detected
	opening typed            // its prompt, if that is a message
	message typed            // the last message after the opening, if there is one
	takenUp time.Time        // when the last message that it took up was sent, if observed
	taken   time.Time        // when it took that up
}

// New returns a Reader for a data directory. home is that of agents with an unknown
// environment. adapt returns an agent's adapter, as agent.For does.
func New(dataDir, home string, adapt func(session.AgentSpec) session.Agent) *Reader {
	return &Reader{data: layout.Data{Dir: dataDir}, home: home, adapt: adapt,
		agents: map[session.Address]program{}, programs: map[string][]program{}, seen: map[string]*seen{}}
}

// Look is the state of an agent's activity.
type Look struct {
	// Detection is the result of the agent's signals. Activity is the reported one: for an agent
	// that rests without a session file yet, unobserved.
	Detection  session.Detection
	Activity   session.Activity
	Transcript *session.Transcript // nil: no session file, or not yet
	// Observable reports whether the agent's session file exists, or should.
	Observable  bool
	FirstTurnAt time.Time   // when its first turn ended; zero: not yet, or unknown
	TurnAt      time.Time   // when its last turn ended, by hooks or file; zero: unknown
	Answer      turn.Answer // to the last message
	Overdue     bool        // something was sent, and it is unobserved for longer than unobserved_for
	Fault       error       // a session file exists and cannot be read
	Starting    bool        // it is running, and was not ready for a prompt yet in this run
	Prompt      bool        // it is running, and a prompt can be typed on its screen
	Drafted     bool        // it is running, and its composer has a text that was not sent
	ready       bool        // it was ready, for an agent that shows it
}

// Agent returns the adapter of a recorded session's agent. Equal specs share one, since its
// patterns take 30 KB.
func (r *Reader) Agent(rec session.Record) session.Agent {
	r.mu.Lock()
	defer r.mu.Unlock()
	spec := rec.Spec.Agent
	p, known := r.agents[rec.Address]
	if known && reflect.DeepEqual(p.spec, spec) {
		return p.agent
	}
	i := slices.IndexFunc(r.programs[spec.Name], func(p program) bool { return reflect.DeepEqual(p.spec, spec) })
	if i < 0 {
		i = len(r.programs[spec.Name])
		r.programs[spec.Name] = append(r.programs[spec.Name], program{spec, r.adapt(spec)})
	}
	r.agents[rec.Address] = r.programs[spec.Name][i]
	return r.agents[rec.Address].agent
}

func (r *Reader) Forget(but map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.seen, func(run string, _ *seen) bool { return !but[run] })
	r.files.Forget(but)
}

// Conversation is the content of an agent's session file.
type Conversation struct {
	Path    string // of the file; empty: none yet
	Entries []session.Entry
	Cut     bool // the middle of a long file is left out
}

// Conversation reads a session's own file once, from the beginning.
func (r *Reader) Conversation(rec session.Record) (Conversation, error) {
	var files sessionfile.Reader
	a, of := r.Agent(rec), r.Lookup(rec)
	own, err := files.Read(a, rec.Run.ID, of)
	if own == nil || err != nil {
		return Conversation{}, err
	}
	lines, _, cut, err := files.More(a, rec.Run.ID, of, nil)
	return Conversation{own.Path, sessionfile.Entries(a, lines), cut}, err
}

// Read detects what an agent does. live is nil if the runtime has no such session; given is when
// something was last sent, or zero.
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
		x.Detection = asking(rec.Run.ID, read(a, texts, e))
		x.Prompt = live.Liveness == session.Alive && a.Ready(live.Screen)
		x.Drafted = live.Liveness == session.Alive && input.HasDraft(a, live.Screen)
	}
	x.Transcript = settled(x.Transcript, x.Detection, rec.Run.StartedAt)
	x.TurnAt = turnEnd(a, x.Transcript, signals, rec.Run.StartedAt)
	x.Answer = r.lastAnswer(a, rec, x.Transcript, signals)
	x.FirstTurnAt = r.firstTurn(a, rec, x, signals, now)
	x.Observable = observable(rec, x, given)
	x.Activity = x.Detection.Activity
	if shows := rec.Spec.Agent.Base != "" || rec.Spec.Agent.Ready != ""; shows && e.Liveness == session.Alive {
		x.ready = r.started(a, rec, x, e)
		x.Starting = !x.ready
		if x.ready && x.Activity == session.Booting { // adapters do not know earlier looks
			x.Activity, x.Detection.Activity = session.NoActivity, session.NoActivity
		}
	}
	rests := x.Activity == session.Idle || x.Activity == session.NoActivity
	if rests && young(rec, now) && (x.Starting || e.Liveness == session.Alive && promptAhead(r, a, rec, x, signals)) {
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

// read detects from the evidence, ignoring typed texts.
func read(a session.Agent, texts []echo.Text, e session.Evidence) session.Detection {
	detection := a.Detect(e)
	if e.Liveness != session.Alive || detection.Source != agent.FromScreen && detection.PR == "" {
		return detection // the screen says nothing
	}
	own := e
	if own.Screen, own.Typed = echo.Without(e.Screen, texts); own.Screen == e.Screen {
		return detection
	}
	without := a.Detect(own)
	if without.Activity == session.Blocked && detection.Activity == session.Blocked {
		without.Detail, without.Question = detection.Detail, detection.Question // these may quote typed text
	}
	return without
}

// asking returns a detection with its question's ID for the run. The detail of an agent that asks
// is the question with its answers.
func asking(run string, d session.Detection) session.Detection {
	if d.Question == nil {
		return d
	}
	q := *d.Question
	id := sha256.Sum256([]byte(run + "\x00" + q.ID))
	q.ID = hex.EncodeToString(id[:6])
	d.Question = &q
	if d.Activity == session.Blocked {
		d.Detail = q.String()
	}
	return d
}

// replayed reports whether the screen's conversation is of earlier runs.
func replayed(a session.Agent, rec session.Record, n *session.Transcript, signals []session.Signal, given time.Time) bool {
	if rec.Run.Conversation == "" || rec.Run.Number < 2 && rec.Spec.Conversation == (session.Conversation{}) || !given.Before(rec.Run.StartedAt) || n != nil && n.At.After(rec.Run.StartedAt) {
		return false
	}
	return !slices.ContainsFunc(signals, func(s session.Signal) bool { return means(a, s) == session.Working })
}

func expects(rec session.Record) string {
	if rec.Spec.Agent.Observable == agent.AfterFirstTurn {
		return "it can be observed once its first turn has ended"
	}
	return "it waits for its first prompt"
}

// Look is Read with facts of the history: when something was last sent, and that the first turn has
// ended.
func (r *Reader) Look(rec session.Record, live *session.Live, past []history.Event, now time.Time) Look {
	if at, ready := FirstTurnAt(rec, past), recordedOf(rec.Run.ID, past).ready; ready || !at.IsZero() {
		r.mu.Lock()
		s := r.run(rec.Run.ID)
		s.first, s.ready = at, s.ready || ready
		r.mu.Unlock()
	}
	given, _ := Given(rec, past)
	return r.Read(rec, live, given, now)
}

// Lookup returns the facts of a session's run for finding its files.
func (r *Reader) Lookup(rec session.Record) session.Lookup {
	of := session.Lookup{
		Dir: rec.Tree.Path, Home: r.home, Env: r.environ(rec.Run.ID), Process: rec.Run.Agent,
		Conversation: cmp.Or(r.reported(rec), rec.Run.Conversation), StartedAt: rec.Run.StartedAt,
	}
	if of.Env == nil { // only its pod or another machine has its environment
		of.Env = declared(rec.Spec)
	}
	home := of.Env["HOME"]
	if home != "" {
		of.Home = home
	}
	if traits := rec.Spec.Runtime.Traits(); traits.OwnHome && (!traits.HostFiles || home == "") {
		of.Home, of.Root = session.HomeInside, r.data.Copy(rec.ID)
	}
	return of
}

// declared returns the variables that a manifest sets for a session.
func declared(s session.Spec) map[string]string {
	env := map[string]string{}
	if k := s.Runtime.Kubernetes; k != nil {
		maps.Copy(env, k.Env)
	}
	maps.Copy(env, s.Agent.Env)
	maps.Copy(env, s.Env)
	return env
}

// run returns the cached state of a run. The caller holds the lock.
func (r *Reader) run(id string) *seen {
	s := r.seen[id]
	if s == nil {
		s = &seen{}
		r.seen[id] = s
	}
	return s
}

// environ returns the initial environment of a run's agent.
func (r *Reader) environ(run string) map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.run(run)
	if s.env == nil && run != "" {
		list, _, err := rundir.LaunchEnv(r.data.Run(run))
		if err != nil {
			return nil
		}
		s.env = environ.Vars(list).Map()
	}
	return s.env
}

// reported returns the conversation that the agent's hooks report, or "".
func (r *Reader) reported(rec session.Record) string {
	r.signals(rec)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.run(rec.Run.ID).talk
}

func (r *Reader) signals(rec session.Record) []session.Signal {
	dir := r.data.Run(rec.Run.ID)
	reporter, reports := r.Agent(rec).(session.ConversationReporter)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.run(rec.Run.ID)
	size := rundir.SignalsSize(dir)
	if size == s.heard {
		return s.signals
	}
	events, err := rundir.ReadSignals(dir)
	if err != nil {
		return s.signals
	}
	s.heard, s.signals = size, make([]session.Signal, len(events))
	for i, e := range events {
		s.signals[i] = session.Signal{At: e.At, Data: e.Data}
	}
	for n := len(events); reports && n > 0; n-- {
		if s.talk = reporter.HookConversation(events[n-1].Data); s.talk != "" {
			break
		}
	}
	return s.signals
}

// Heard returns the size of the hook events of runs, in bytes, with one stat for each run.
func (r *Reader) Heard(runs []string) int64 {
	var all int64
	for _, run := range runs {
		all += rundir.SignalsSize(r.data.Run(run))
	}
	return all
}

// Given returns when a prompt or text was last sent to a session, or zero, and whether the agent
// was working then.
func Given(rec session.Record, past []history.Event) (at time.Time, queued bool) {
	for _, e := range slices.Backward(past) {
		if e.Kind == history.Sent && e.Time.After(rec.Run.DeliveredAt) {
			return e.Time, e.Reason == history.Queued
		}
	}
	return rec.Run.DeliveredAt, false
}

// Facts returns the facts in the directory of a run.
func Facts(dir string) session.RunFacts {
	f, err := rundir.ReadLiveness(dir)
	if err != nil && !f.Claimed {
		return session.RunFacts{}
	}
	return FactsOf(f, f.Agent.Alive())
}

// FactsOf returns the facts of a run. alive is whether its agent is running.
func FactsOf(f rundir.Facts, alive bool) session.RunFacts {
	x := session.RunFacts{Claimed: f.Claimed, Alive: alive, BootID: f.BootID, Agent: session.Process{PID: f.Agent.PID, Start: f.Agent.Start}}
	x.Exit = reported.Exit(f.Exit)
	return x
}
