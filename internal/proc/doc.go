// Package proc finds, identifies and ends processes.
//
// A process is identified by its pid and its start time, since the kernel reuses pids. On macOS
// only connected descendants are found; detached processes are found by their environment alone.
package proc
