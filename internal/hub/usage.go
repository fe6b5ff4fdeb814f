package hub

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
)

// spending reads what sessions use, besides the hub's looks: the first look at a long
// transcript takes seconds.
type spending struct {
	store *usage.Store // nil: usage is not read
	agent func(session.Record) session.Agent
	work  *sync.WaitGroup
	wake  func()
	log   *slog.Logger

	mu      sync.Mutex
	waiting []usageLook
	busy    bool
	fault   map[session.Address]string // as last logged
}

type usageLook struct {
	rec        session.Record
	transcript *session.Transcript
	at         time.Time
	worked     *usage.Span // nil: the session file is read
}

func (l usageLook) path() string {
	if l.transcript == nil {
		return ""
	}
	return l.transcript.Path
}

// read reads the usage of a session soon whose session file was read, or of which nothing is known yet.
func (x *spending) read(rec session.Record, look activity.Look, at time.Time) {
	if x.store == nil {
		return
	}
	if _, known := x.store.Known(rec.ID); known && look.Transcript == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	next := usageLook{rec: rec, transcript: look.Transcript, at: at}
	same := func(l usageLook) bool {
		return l.worked == nil && l.rec.ID == rec.ID && l.path() == next.path()
	}
	if i := slices.IndexFunc(x.waiting, same); i >= 0 {
		x.waiting[i] = next
		return
	}
	x.add(next)
}

// worked records soon that an agent worked.
func (x *spending) worked(rec session.Record, w usage.Span) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.add(usageLook{rec: rec, worked: &w})
}

func (x *spending) add(l usageLook) {
	x.waiting = append(x.waiting, l)
	if !x.busy {
		x.busy = true
		x.work.Go(x.drain)
	}
}

// drain reads until nothing waits.
func (x *spending) drain() {
	news := false
	for {
		x.mu.Lock()
		if len(x.waiting) == 0 {
			x.busy = false
			x.mu.Unlock()
			if news {
				x.wake() // for the next snapshot
			}
			return
		}
		l := x.waiting[0]
		x.waiting = x.waiting[1:]
		x.mu.Unlock()
		before, _ := x.store.Known(l.rec.ID)
		if l.worked != nil {
			x.report(l.rec.Address, x.store.Work(usage.Of(l.rec), *l.worked))
		} else {
			x.report(l.rec.Address, x.store.Look(x.agent(l.rec), l.rec, l.transcript, l.at))
		}
		after, _ := x.store.Known(l.rec.ID)
		news = news || before != after
	}
}

// stop forgets the files that wait: the next hub reads them.
func (x *spending) stop() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waiting = slices.DeleteFunc(x.waiting, func(l usageLook) bool { return l.worked == nil })
}

// report logs a fault once.
func (x *spending) report(a session.Address, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != x.fault[a] {
		x.log.Warn("usage cannot be read", "session", a, "error", err)
	}
	if x.fault == nil {
		x.fault = map[session.Address]string{}
	}
	x.fault[a] = text
}

// known adds what is known of the sessions' usage.
func (x *spending) known(sessions []status.Input) {
	if x.store == nil {
		return
	}
	for i, k := range sessions {
		if sum, is := x.store.Known(k.Record.ID); is {
			sessions[i].Usage = &sum
		}
	}
}
