// Package report says what became of sessions in a span of time, by their status, their
// histories and what they used. It is pure: it reads no files and no clock.
package report
