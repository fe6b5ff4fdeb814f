package bench

import (
	"math"
	"slices"
)

// Point is the cost of some work at one size.
type Point struct {
	N    int
	Cost float64
}

// Curve is how the cost of some work grows with its size.
type Curve struct {
	Name   string
	Ours   bool // agentform's, and not what it is compared with
	Points []Point
}

// Add appends a point.
func (c *Curve) Add(n int, cost float64) { c.Points = append(c.Points, Point{n, cost}) }

// Exponent is the steepest growth between two sizes that are neighbours: the cost
// grows there like the size to that power. 1 is linear and 2 is quadratic; what has a
// fixed cost is below. It is 0 for less than two sizes.
func (c Curve) Exponent() float64 {
	points := slices.Clone(c.Points)
	slices.SortFunc(points, func(a, b Point) int { return a.N - b.N })
	steepest := math.Inf(-1)
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		steepest = max(steepest, math.Log(b.Cost/a.Cost)/math.Log(float64(b.N)/float64(a.N)))
	}
	if math.IsInf(steepest, -1) {
		return 0
	}
	return steepest
}
