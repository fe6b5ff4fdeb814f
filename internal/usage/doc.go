// Package usage records the tokens that the models of sessions used, according to the agents'
// session files.
//
// Each session has a file below the data directory, usage/ID.jsonl, to which lines are appended. A
// line has how far a session file was read and what was found in that part, so both are recorded or
// neither: after a kill -9 the part is read again. Hub and commands may record at the same time.
// The file stays when its session is removed.
package usage
