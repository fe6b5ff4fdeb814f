package hub

import (
	"sync"
	"time"
)

// daily reports at times of day, in local time: once on each day, also on those on which the
// clock is set forward or back, and not twice if the hub is restarted. A report that was due
// while no hub ran is made up for within maxNotifyAge, one that was due while the machine
// slept when it is awake. Only the loop uses it.
type daily struct {
	times    []string // HH:MM
	report   func(s *Snapshot, at string, since time.Time)
	dataDir  string
	work     *sync.WaitGroup
	reported time.Time // when the last report was due; zero: never
	seen     time.Time // what was due until then was decided; zero: nothing was
}

// round makes the reports that are due, and returns the time until the next.
func (d *daily) round(s *Snapshot) time.Duration {
	now := s.At.Local()
	due, next := d.due(now)
	for _, at := range due {
		since := onDay(at, lastAt(at, now), -1)
		d.reported = laterOf(d.reported, lastAt(at, now))
		recordNotified(d.dataDir, func(n *notified) { n.Reported = d.reported }) // first: none is sent twice
		d.work.Go(func() { d.report(s, at, since) })
	}
	return next.Sub(now)
}

// due returns the times of day of the reports that are due, and when the next is.
func (d *daily) due(now time.Time) (due []string, next time.Time) {
	if d.seen.IsZero() {
		d.seen = now.Add(-maxNotifyAge)
	}
	from := d.seen
	if d.reported.Sub(now) < 24*time.Hour { // else the clock was wrong when it was recorded
		from = laterOf(from, d.reported)
	}
	next = now.Add(24 * time.Hour)
	for _, at := range d.times {
		if lastAt(at, now).After(from) {
			due = append(due, at)
		}
		x := onDay(at, now, 0)
		if !x.After(now) {
			x = onDay(at, now, 1)
		}
		if x.Before(next) {
			next = x
		}
	}
	d.seen = now
	return due, next
}

// lastAt returns when a time of day was last, in the zone of now.
func lastAt(at string, now time.Time) time.Time {
	x := onDay(at, now, 0)
	if x.After(now) {
		x = onDay(at, now, -1)
	}
	return x
}

// onDay returns when a time of day is so many days after the day of t.
func onDay(at string, t time.Time, days int) time.Time {
	clock, _ := time.Parse("15:04", at) // the manifest was checked
	return time.Date(t.Year(), t.Month(), t.Day()+days, clock.Hour(), clock.Minute(), 0, 0, t.Location())
}

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
