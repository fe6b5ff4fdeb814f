package hub

import (
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // zones that the machine may not have
)

// each asks every minute of a span what is due, and returns when something was.
func (d *daily) each(from, to time.Time) (all []string) {
	for now := from; now.Before(to); now = now.Add(time.Minute) {
		due, next := d.due(now)
		for _, at := range due {
			d.reported = laterOf(d.reported, lastAt(at, now))
			all = append(all, at+" on "+now.Format("Jan 2 15:04"))
		}
		if !next.After(now) || next.Sub(now) > 24*time.Hour {
			all = append(all, "the next is at "+next.String())
		}
	}
	return all
}

func TestDaily(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	day := func(month time.Month, day, hour, minute int) time.Time {
		return time.Date(2026, month, day, hour, minute, 0, 0, zone)
	}
	for name, c := range map[string]struct {
		at   []string
		run  [][2]time.Time // of one hub each
		same bool           // it is one hub: the machine slept between
		want []string
	}{
		"once a day":                {[]string{"08:00"}, [][2]time.Time{{day(5, 1, 9, 30), day(5, 4, 8, 0)}}, false, []string{"08:00 on May 2 08:00", "08:00 on May 3 08:00"}},
		"two times":                 {[]string{"08:00", "17:30"}, [][2]time.Time{{day(5, 1, 7, 0), day(5, 2, 9, 0)}}, false, []string{"08:00 on May 1 08:00", "17:30 on May 1 17:30", "08:00 on May 2 08:00"}},
		"a restart after it":        {[]string{"08:00"}, [][2]time.Time{{day(5, 1, 7, 0), day(5, 1, 8, 1)}, {day(5, 1, 8, 2), day(5, 1, 20, 0)}}, false, []string{"08:00 on May 1 08:00"}},
		"a restart during it":       {[]string{"08:00"}, [][2]time.Time{{day(5, 1, 7, 0), day(5, 1, 7, 59)}, {day(5, 1, 8, 2), day(5, 1, 20, 0)}}, false, []string{"08:00 on May 1 08:02"}},
		"no hub at that time":       {[]string{"08:00"}, [][2]time.Time{{day(5, 1, 7, 0), day(5, 1, 7, 59)}, {day(5, 1, 9, 30), day(5, 1, 20, 0)}}, false, nil},
		"a machine that slept":      {[]string{"08:00"}, [][2]time.Time{{day(5, 1, 9, 0), day(5, 1, 18, 0)}, {day(5, 4, 9, 30), day(5, 4, 20, 0)}}, true, []string{"08:00 on May 4 09:30"}},
		"a clock that was set back": {[]string{"08:00"}, [][2]time.Time{{day(5, 1, 7, 0), day(5, 1, 8, 5)}, {day(5, 1, 7, 30), day(5, 1, 9, 0)}}, true, []string{"08:00 on May 1 08:00"}},
		"a clock that was far ahead": {[]string{"08:00"}, [][2]time.Time{{day(9, 1, 7, 0), day(9, 1, 8, 5)}, {day(5, 1, 7, 30), day(5, 1, 9, 0)}}, false,
			[]string{"08:00 on Sep 1 08:00", "08:00 on May 1 08:00"}},
		"an hour that is left out": {[]string{"02:30"}, [][2]time.Time{{day(3, 28, 12, 0), day(3, 30, 12, 0)}}, false, []string{"02:30 on Mar 29 03:30", "02:30 on Mar 30 02:30"}},
		"an hour that comes twice": {[]string{"02:30"}, [][2]time.Time{{day(10, 24, 12, 0), day(10, 26, 12, 0)}}, false, []string{"02:30 on Oct 25 02:30", "02:30 on Oct 26 02:30"}},
		"a day of 25 hours":        {[]string{"08:00"}, [][2]time.Time{{day(10, 24, 12, 0), day(10, 26, 12, 0)}}, false, []string{"08:00 on Oct 25 08:00", "08:00 on Oct 26 08:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &daily{times: c.at}
			var got []string
			for _, span := range c.run {
				if !c.same {
					d.seen = time.Time{}
				}
				got = append(got, d.each(span[0], span[1])...)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("due: %q, want %q", got, c.want)
			}
		})
	}
}
