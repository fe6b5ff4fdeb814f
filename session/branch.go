package session

import (
	"errors"
	"fmt"
	"strings"
)

// longestBranch is how much of a branch's name an error shows, in bytes.
const longestBranch = 256

// CheckBranch returns the rule of git check-ref-format --branch that a name breaks. A name
// that passes begins with no dash and leads out of no directory that it is joined to.
func CheckBranch(name string) error {
	rule := brokenRule(name)
	if rule == "" {
		return nil
	}
	if name == "" {
		return errors.New("invalid branch name: " + rule)
	}
	shown := fmt.Sprintf("%q", name[:min(len(name), longestBranch)])
	if len(name) > longestBranch {
		shown += "…"
	}
	return fmt.Errorf("invalid branch name %s: %s", shown, rule)
}

func brokenRule(name string) string {
	switch {
	case name == "":
		return "empty"
	case name[0] == '-':
		return "it starts with a dash"
	case name == "HEAD":
		return "HEAD is git's own name for what is checked out"
	case strings.HasSuffix(name, "."):
		return "it ends with a dot"
	case strings.Contains(name, ".."):
		return `it contains ".."`
	case strings.Contains(name, "@{"):
		return `it contains "@{"`
	}
	// Bytes, not runes: git gives meaning only to ASCII.
	for i := range len(name) {
		switch c := name[i]; {
		case c < ' ' || c == 0x7f:
			return "it contains a control character"
		case c == ' ':
			return "it contains a space"
		case strings.IndexByte(`~^:?*[\`, c) >= 0:
			return fmt.Sprintf("it contains %q", string(c))
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "":
			return "it starts or ends with a slash, or has two in a row"
		case part[0] == '.':
			return "a part of it starts with a dot"
		case strings.HasSuffix(part, ".lock"):
			return `a part of it ends with ".lock"`
		}
	}
	return ""
}
