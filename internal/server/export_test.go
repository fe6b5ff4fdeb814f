package server

import (
	"time"

	"github.com/agentform/agentform/api"
)

// TerminalTimes returns an option for the times of terminals.
func TerminalTimes(ping, pong, silence time.Duration) func(*Server) {
	return func(s *Server) { s.terminals.times = terminalTimes{ping, pong, silence} }
}

// NewCookie returns the text of a new login's cookie.
func NewCookie(scope api.Scope, token string, end time.Time) string {
	return newCookie(token, scope, "", end).value()
}

// CheckCookie reports whether a hub accepts a cookie.
func CheckCookie(value, token string, now time.Time) bool {
	_, valid := checkCookie(value, token, now)
	return valid
}
