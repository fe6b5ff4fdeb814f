package view

import (
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/status"
)

// Glance returns a session for a list: its status in words, the color of it as parameters
// of SGR, and why, in one line.
func Glance(x api.Session, now time.Time) (text, color, reason string) {
	c, known := glanceInks[status.Word(x)]
	if !known {
		c = dim
	}
	return status.Text(x, now), string(c), why(x, now)
}

var glanceInks = map[string]ink{
	"asks": yellow, "limit": yellow, "exited": yellow, "unknown": yellow, "timed out": yellow,
	"failed": red, "error": red, "stuck": red, "unhealthy": red, wrongBranch: red,
	"working": green, "running": green, "starting": cyan, "paused": blue, "idle": noInk, "done": noInk,
}
