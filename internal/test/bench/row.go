package bench

import (
	"fmt"
	"time"
)

// Quantity is an amount of something, as it is printed.
type Quantity struct {
	Amount float64
	Unit   Unit
}

// Unit is what an amount is counted in.
type Unit int

// The units. A quantity without one is not known.
const (
	Unknown Unit = iota
	Seconds
	Bytes
	Share // of one processor core
)

// Time is a duration as a quantity.
func Time(d time.Duration) Quantity { return Quantity{d.Seconds(), Seconds} }

// Memory is a number of bytes as a quantity.
func Memory(bytes float64) Quantity { return Quantity{bytes, Bytes} }

// String has three digits, and the unit that makes them short. It is "–" for what is
// not known.
func (q Quantity) String() string {
	scaled := func(steps ...any) string {
		for i := 0; i < len(steps); i += 2 {
			if one := steps[i].(float64); q.Amount >= one || i == len(steps)-2 {
				return digits(q.Amount/one) + " " + steps[i+1].(string)
			}
		}
		return ""
	}
	switch q.Unit {
	case Seconds:
		return scaled(1., "s", 1e-3, "ms", 1e-6, "µs")
	case Bytes:
		return scaled(float64(1<<20), "MiB", float64(1<<10), "KiB", 1., "B")
	case Share:
		return digits(100*q.Amount) + " % of a core"
	default:
		return "–"
	}
}

// digits writes three of them, and no zeros that say nothing.
func digits(f float64) string {
	switch {
	case f >= 99.5:
		return fmt.Sprintf("%.0f", f)
	case f >= 9.95:
		return fmt.Sprintf("%.1f", f)
	default:
		return fmt.Sprintf("%.2f", f)
	}
}

// Beside is what a row is compared with.
type Beside struct {
	What string
	Took Quantity
}

// Goal is what is to be reached, as a bound on a number that was measured.
type Goal struct {
	Says    string  // the goal, as people say it: "≤ 1.5 × floor"
	Got     float64 // the number, in the same unit as the bound
	Bound   float64
	AtLeast bool // the number is to reach the bound; else it is to stay below it
}

// Used is how much of what the goal allows is used up: 1 is just reached, 2 is twice
// too much.
func (g Goal) Used() float64 {
	if g.AtLeast {
		return g.Bound / g.Got
	}
	return g.Got / g.Bound
}

// Reached is whether the number is within the bound.
func (g Goal) Reached() bool { return g.Used() <= 1 }

// Verdict says whether the goal is reached, with the number and the bound.
func (g Goal) Verdict() string {
	if g.Reached() {
		return fmt.Sprintf("yes: %s", digits(g.Got))
	}
	if g.AtLeast {
		return fmt.Sprintf("**no**: %s, where %s are wanted", digits(g.Got), digits(g.Bound))
	}
	return fmt.Sprintf("**no**: %s, %s × too much", digits(g.Got), digits(g.Used()))
}

// Row is one line of the table: some work, what agentform takes for it, and what
// that is measured beside.
type Row struct {
	Work  string
	Took  Quantity
	Floor Beside // the least that the work can take
	Today Beside // what people use now
	Goals []Goal
	Shown bool // in the table for readers
	// Missed says what stands in the way, where a goal is not reached: the top of a
	// profile, or a sentence.
	Missed string
}

// Short are the goals that are not reached.
func (r Row) Short() []Goal {
	var short []Goal
	for _, g := range r.Goals {
		if !g.Reached() {
			short = append(short, g)
		}
	}
	return short
}

// Ratio compares what agentform took with what people use today, or else with the floor.
// It is "–" if there is neither.
func (r Row) Ratio() string {
	switch {
	case r.Took.Amount <= 0:
	case r.Today.Took.Unit == r.Took.Unit && r.Took.Unit == Bytes:
		return digits(r.Took.Amount/r.Today.Took.Amount) + " × today's"
	case r.Today.Took.Unit == r.Took.Unit && r.Took.Amount > r.Today.Took.Amount:
		return digits(r.Took.Amount/r.Today.Took.Amount) + " × slower"
	case r.Today.Took.Unit == r.Took.Unit:
		return digits(r.Today.Took.Amount/r.Took.Amount) + " × faster"
	case r.Floor.Took.Unit == r.Took.Unit:
		return digits(r.Took.Amount/r.Floor.Took.Amount) + " × the floor"
	}
	return "–"
}
