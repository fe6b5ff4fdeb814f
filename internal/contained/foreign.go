package contained

import "github.com/agentform/agentform/session"

// Project is whose sessions a runtime manages.
type Project struct {
	Lineage string // Mark.Project of its sessions; empty: not known, because it is new or its state is lost
	Name    string // says which are its own without a lineage; empty: all with a mark are
}

// Foreign reports whether a place is none of the project. name is the place's, which is OutsideName of the session's
// address unless it was adopted.
func (p Project) Foreign(m session.Mark, name string) bool {
	switch {
	case m.ID == "":
		return true
	case p.Lineage != "":
		return m.Project != p.Lineage
	}
	return p.Name != "" && name != m.Address.OutsideName(p.Name)
}
