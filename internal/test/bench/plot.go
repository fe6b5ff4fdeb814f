package bench

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// Plot is some curves in one picture. Both axes are logarithmic, so that what grows
// linearly is a straight line, parallel to the dashed one that begins where the first
// curve does; what is quadratic is twice as steep.
type Plot struct {
	Name   string // of its file, without .svg
	Title  string
	Unit   Unit // of the cost
	Curves []Curve
}

// The picture, in pixels: its size, and the edges of the field inside.
const (
	width, height = 720, 420
	left, right   = 80, 700
	top, bottom   = 46, 330
)

// colours can be told apart also by those who do not see all colours (Okabe, Ito).
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// WriteSVG draws the plot. A curve without points is left out.
func (p Plot) WriteSVG(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %d" font-family="sans-serif" font-size="12">`+"\n", width, height, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text x="%d" y="24" font-size="15">%s</text>`+"\n", left, html.EscapeString(p.Title))
	x, y := p.axes()
	for _, decade := range x.ticks() {
		fmt.Fprintf(&b, `<path d="M%.1f %dV%d" stroke="#ddd"/>`, x.at(decade), top, bottom)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%g</text>`+"\n", x.at(decade), bottom+18, decade)
	}
	for _, decade := range y.ticks() {
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/>`, left, y.at(decade), right)
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left-6, y.at(decade)+4, Quantity{decade, p.Unit}.tick())
	}
	if c := p.Curves[0]; len(c.Points) > 0 {
		first := c.Points[0]
		most := min(math.Pow(10, x.high), math.Pow(10, y.high)/first.Cost*float64(first.N))
		fmt.Fprintf(&b, `<path d="M%.1f %.1fL%.1f %.1f" stroke="#888" stroke-dasharray="4"/>`+"\n",
			x.at(float64(first.N)), y.at(first.Cost), x.at(most), y.at(first.Cost/float64(first.N)*most))
	}
	for i, c := range p.Curves {
		if len(c.Points) == 0 {
			continue
		}
		colour := colours[i%len(colours)]
		var line []string
		for _, point := range c.Points {
			cx, cy := x.at(float64(point.N)), y.at(point.Cost)
			line = append(line, fmt.Sprintf("%.1f,%.1f", cx, cy))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"><title>%s at %d: %s</title></circle>`+"\n", cx, cy, colour, html.EscapeString(c.Name), point.N, Quantity{point.Cost, p.Unit})
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(line, " "), colour)
		lx, ly := left+(i%2)*(right-left)/2, bottom+42+(i/2)*18
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="12" height="12" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n", lx, ly-10, colour, lx+18, ly, html.EscapeString(c.Name))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// tick is the quantity without its decimals, for an axis.
func (q Quantity) tick() string {
	return strings.NewReplacer(".00", "", ".0", "").Replace(q.String())
}

// axis is a logarithmic one: whole decades from low to high, between two pixels.
type axis struct {
	low, high, from, to float64
}

func (p Plot) axes() (x, y axis) {
	x = axis{math.Inf(1), math.Inf(-1), left, right}
	y = axis{math.Inf(1), math.Inf(-1), bottom, top}
	for _, c := range p.Curves {
		for _, point := range c.Points {
			n := math.Log10(float64(point.N))
			cost := math.Log10(point.Cost)
			x.low, x.high = min(x.low, n), max(x.high, n)
			y.low, y.high = min(y.low, cost), max(y.high, cost)
		}
	}
	for _, a := range []*axis{&x, &y} {
		const rounding = 1e-9 // the logarithm of 0.1 is not quite -1
		a.low = math.Floor(a.low + rounding)
		a.high = max(math.Ceil(a.high-rounding), a.low+1)
	}
	return x, y
}

func (a axis) at(value float64) float64 {
	return a.from + (math.Log10(value)-a.low)/(a.high-a.low)*(a.to-a.from)
}

func (a axis) ticks() []float64 {
	if math.IsInf(a.low, 0) || math.IsInf(a.high, 0) {
		return nil
	}
	var ticks []float64
	for d := a.low; d <= a.high; d++ {
		ticks = append(ticks, math.Pow(10, d))
	}
	return ticks
}
