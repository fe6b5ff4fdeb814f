package contained

import "github.com/agentform/agentform/session"

// Project is whose sessions a runtime manages.
type Project struct {
	Lineage string // Mark.Project of its sessions; empty: not known, because it is new or its state is lost
	Name    string // which sessions may be its own without a lineage; empty: all with a mark are
}

// Foreign reports whether a place is none of the project. name is the place's, which is OutsideName of the session's
// address unless it was adopted, and ours is Live.Ours: without a lineage, the session of another clone is foreign. A clone at
// the same path of another machine is not told apart.
func (p Project) Foreign(m session.Mark, name string, ours bool) bool {
	switch {
	case m.ID == "":
		return true
	case p.Lineage != "":
		return m.Project != p.Lineage
	}
	return p.Name != "" && (!ours || name != m.Address.OutsideName(p.Name))
}
