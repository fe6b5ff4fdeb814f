package session

// Refresh is how the base comes into the branch of a session.
type Refresh struct {
	Method     string     `json:"method,omitempty"`      // merge (empty: the same) or rebase
	OnConflict OnConflict `json:"on_conflict,omitempty"` // empty: ConflictHolds
}

// OnConflict is what files that conflict lead to.
type OnConflict string

// The values of on_conflict.
const (
	ConflictSends OnConflict = "send" // asks the agent to merge
	ConflictHolds OnConflict = "hold" // nothing is done
)
