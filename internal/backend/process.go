package backend

import (
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/session"
)

// Process identifies a process that has a lock for others on its machine.
type Process struct {
	proc.Process
	BootID       string `json:"boot_id"`
	PIDNamespace string `json:"pid_namespace,omitempty"`
	UID          int    `json:"uid"`
}

// ProcessOf identifies the process with a pid on this machine, whose sessions have an owner. It returns
// nil if the start of the process cannot be read: others would take it for ended.
func ProcessOf(pid int, here session.Owner) *Process {
	start, ok := proc.StartTime(pid)
	if !ok {
		return nil
	}
	return &Process{proc.Process{PID: pid, Start: start}, here.BootID, here.PIDNamespace, here.UID}
}

// ended reports whether a process has ended that has a lock. Only one on the same machine, outside of
// other containers and of the same user, can tell: others see no process there.
func (p *Process) ended(here *Process) bool {
	return p != nil && here != nil && p.BootID != "" && p.BootID == here.BootID && p.PIDNamespace == here.PIDNamespace &&
		p.UID == here.UID && !p.Alive()
}
