// Package proc finds, identifies and ends processes.
//
// A process is identified by its number and its start time, since the kernel reuses
// numbers. On macOS only what still hangs together is found as a descendant; what
// detached itself is found by its environment alone.
package proc
