package server

import "time"

// TerminalTimes returns an option for the times of terminals.
func TerminalTimes(ping, pong, silence time.Duration) func(*Server) {
	return func(s *Server) { s.terminals.times = terminalTimes{ping, pong, silence} }
}

var (
	NewCookie   = newCookie
	CheckCookie = checkCookie
)
