// Package bench measures the built agentform beside two things: the floor, which is
// what tmux, Docker and the machine take for the same work without agentform, and
// what people use for it today.
//
// Its tests measure; the package itself is what they measure with and write down:
// Row and Goal, Curve with its exponent, the table, and the plots. `make measure` measures
// little and prints it. `make bench` measures all of it and writes docs/BENCHMARKS.md.
// Times are noisy, so no time and no ratio fails a test, except for how a cost grows.
package bench
