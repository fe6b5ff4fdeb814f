// Package bench measures the built agentform beside the floor: what tmux and
// the machine take for the same work without agentform. Times are noisy; ratios
// taken in one run are what counts.
package bench
