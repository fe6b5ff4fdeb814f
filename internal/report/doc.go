// Package report describes the outcome of sessions in a span of time, from their status, their
// histories and their usage. It is pure: it reads no files and no clock.
package report
