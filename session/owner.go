package session

// Owner identifies where a session's run was started, by whom and for which project. Only the owner
// can see and end its processes.
type Owner struct {
	Host    string `json:"host,omitempty"`    // the host's name, for people
	Machine string `json:"machine,omitempty"` // identifies the host
	BootID  string `json:"boot_id,omitempty"`
	// PIDNamespace identifies a pid namespace other than the machine's first one.
	PIDNamespace string `json:"pid_namespace,omitempty"`
	UID          int    `json:"uid"`
	Project      string `json:"project,omitempty"`  // the project's directory
	DataDir      string `json:"data_dir,omitempty"` // absolute, without links
	// DataDirID identifies the data directory: a rename keeps it, and no copy has it. Empty:
	// the path alone does.
	DataDirID string `json:"data_dir_id,omitempty"`
	Lineage   string `json:"lineage,omitempty"` // of the state
}

// Known reports whether an owner was recorded.
func (o Owner) Known() bool { return o.Host != "" }

// OwnerDifference is how the owner of a session differs from the current process.
type OwnerDifference string

// The differences. SameOwner and Restarted sessions can be seen from here, and no
// others.
const (
	SameOwner OwnerDifference = ""
	// Restarted means that the container in which the session was started has been restarted, which
	// ended all its processes.
	Restarted      OwnerDifference = "restarted"
	OtherHost      OwnerDifference = "host"
	OtherNamespace OwnerDifference = "pid_namespace"
	OtherUser      OwnerDifference = "user"
	OtherDataDir   OwnerDifference = "data_dir"
)

// Differs compares a recorded owner with the current one. An owner that was not recorded
// does not differ, and neither does another boot of the same host.
func (o Owner) Differs(here Owner) OwnerDifference {
	if !o.Known() || !here.Known() {
		return SameOwner
	}
	d := o.elsewhere(here)
	switch {
	case d != SameOwner && d != Restarted:
		return d
	case o.UID != here.UID:
		return OtherUser
	case o.DataDir != "" && here.DataDir != "" && o.DataDir != here.DataDir || o.Replaced(here):
		return OtherDataDir
	}
	return d
}

// Replaced reports whether the data directory at the path of the owner's is another one now,
// as after the project was deleted and cloned again.
func (o Owner) Replaced(here Owner) bool {
	return o.DataDir == here.DataDir && o.DataDirID != "" && here.DataDirID != "" && o.DataDirID != here.DataDirID
}

// Differs compares the owner of a session with the current process, as Owner.Differs does.
// One whose runtime is reached from everywhere belongs to each machine.
func (r Record) Differs(here Owner) OwnerDifference {
	if r.Spec.Runtime.Traits().Everywhere {
		return SameOwner
	}
	return r.Owner.Differs(here)
}

// elsewhere compares the hosts. They are the same if the boot, whose id is unique, and the
// pid namespace are. A machine's first pid namespace lasts as long as its boot. Any other
// belongs to a container, which gets a new one when it is restarted.
func (o Owner) elsewhere(here Owner) OwnerDifference {
	sameBoot := o.BootID != "" && o.BootID == here.BootID
	if sameBoot && o.PIDNamespace == here.PIDNamespace {
		return SameOwner
	}
	switch {
	case o.Machine != here.Machine:
		return OtherHost
	case !sameBoot:
		return SameOwner // the host was rebooted
	case o.PIDNamespace == "" || here.PIDNamespace == "":
		return OtherNamespace
	}
	return Restarted
}
