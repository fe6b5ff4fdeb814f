package server

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// mostGone limits the removed sessions that are remembered.
const mostGone = 1000

// rows has the documents of the sessions in the last snapshot that was asked for, and the version in which
// each last changed. There is a new version when somebody asks and something has changed.
type rows struct {
	mu       sync.Mutex
	life     string // names the versions of this hub
	first    int    // the oldest version since which changes are known
	last     int    // 0: there is none
	snapshot *hub.Snapshot
	sessions []api.Session // in the order of addresses
	changed  map[session.Address]int
	gone     map[session.Address]int // the versions in which sessions were removed
}

func newRows() *rows {
	return &rows{life: strconv.FormatInt(time.Now().UnixNano(), 36), first: 1, changed: map[session.Address]int{}, gone: map[session.Address]int{}}
}

// document returns the document of the sessions in a snapshot, or what has changed in it since a version.
func (r *rows) document(s *hub.Snapshot, ranked bool, version string) api.StatusDocument {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.see(s)
	all := slices.Clone(r.sessions)
	if ranked {
		status.Sort(all)
	}
	d := status.DocumentOf(all, api.Places{Running: s.Plan.Running, MaxRunning: s.Plan.Options.MaxRunning}, api.HubRuns)
	d.Version = fmt.Sprintf("%s.%d", r.life, r.last)
	since, known := r.number(version)
	if !known {
		return d
	}
	d.Since, d.Sessions = version, []api.Session{}
	for i, x := range all {
		if r.changed[x.Address] > since {
			d.Sessions, d.Indexes = append(d.Sessions, x), append(d.Indexes, i)
		}
	}
	for a, in := range r.gone {
		if in > since {
			d.Removed = append(d.Removed, a)
		}
	}
	slices.SortFunc(d.Removed, session.Address.Compare)
	return d
}

// see compares the sessions in a snapshot with those in the one before. The caller holds the lock.
func (r *rows) see(s *hub.Snapshot) {
	if r.snapshot == s || r.snapshot != nil && s.At.Before(r.snapshot.At) {
		return
	}
	was := make(map[session.Address]api.Session, len(r.sessions))
	for _, x := range r.sessions {
		was[x.Address] = x
	}
	next, differs := r.last+1, r.last == 0
	r.snapshot, r.sessions = s, make([]api.Session, 0, len(s.Sessions))
	for _, k := range s.Sessions {
		x := status.Of(k)
		old, known := was[x.Address]
		if !known || !reflect.DeepEqual(old, x) {
			r.changed[x.Address], differs = next, true
			delete(r.gone, x.Address)
		}
		delete(was, x.Address)
		r.sessions = append(r.sessions, x)
	}
	for a := range was {
		delete(r.changed, a)
		r.gone[a], differs = next, true
	}
	if differs {
		r.last = next
	}
	if len(r.gone) > mostGone {
		clear(r.gone)
		r.first = next
	}
}

// number returns the number of a version since which changes are known.
func (r *rows) number(version string) (n int, known bool) {
	life, number, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(number)
	return n, err == nil && life == r.life && n >= r.first && n <= r.last
}
