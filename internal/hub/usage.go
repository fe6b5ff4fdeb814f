package hub

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/activity"
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
	rec  session.Record
	file string // that is read; empty: what it does cannot be left to the next hub
	do   func() error
}

// noFile is the file of an agent without one.
const noFile = "none"

// read reads the usage of a session soon whose session file was read, or of which nothing is known yet.
func (x *spending) read(rec session.Record, look activity.Look, at time.Time) {
	if x.store == nil {
		return
	}
	n, file := look.Transcript, noFile
	if n != nil {
		file = n.Path
	} else if _, known := x.store.Known(rec.ID); known {
		return
	}
	x.add(usageLook{rec, file, func() error { return x.store.Look(x.agent(rec), rec, n, at) }})
}

// worked records soon that an agent worked.
func (x *spending) worked(rec session.Record, w usage.Span) {
	x.add(usageLook{rec, "", func() error { return x.store.Work(usage.Of(rec), w) }})
}

func (x *spending) add(l usageLook) {
	x.mu.Lock()
	defer x.mu.Unlock()
	same := func(m usageLook) bool { return l.file != "" && m.file == l.file && m.rec.ID == l.rec.ID }
	if i := slices.IndexFunc(x.waiting, same); i >= 0 {
		x.waiting[i] = l
		return
	}
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
		x.report(l.rec.Address, l.do())
		after, _ := x.store.Known(l.rec.ID)
		news = news || before != after
	}
}

// stop forgets the files that wait: the next hub reads them.
func (x *spending) stop() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waiting = slices.DeleteFunc(x.waiting, func(l usageLook) bool { return l.file != "" })
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
