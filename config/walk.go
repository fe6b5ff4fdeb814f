package config

import "slices"

// walk visits the nodes of a graph, depth first.
type walk[N comparable, E any] struct {
	edges func(N) []E
	to    func(E) N
	leave func(N)            // called once all nodes that a node leads to were left
	cycle func([]step[N, E]) // called for each cycle found
	state map[N]walkState    // of the nodes seen
	path  []step[N, E]       // from the first node to the current one
}

type step[N comparable, E any] struct {
	from N
	edge E
}

type walkState int

const (
	entered walkState = iota + 1
	left
)

func (w *walk[N, E]) visit(n N) {
	if w.state == nil {
		w.state = map[N]walkState{}
	}
	if w.state[n] == left {
		return
	}
	w.state[n] = entered
	for _, e := range w.edges(n) {
		w.path = append(w.path, step[N, E]{n, e})
		if to := w.to(e); w.state[to] == entered {
			w.cycle(w.path[slices.IndexFunc(w.path, func(s step[N, E]) bool { return s.from == to }):])
		} else {
			w.visit(to)
		}
		w.path = w.path[:len(w.path)-1]
	}
	w.state[n] = left
	w.leave(n)
}
