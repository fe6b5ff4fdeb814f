package state

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// The lineage is what live sessions are marked with, so it must outlive the
// state file: it stands in a file of its own beside it, and a state that is
// begun anew takes it up. Thus what is alive can be adopted again.

var lineageForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// Lineage is the lineage that a state begun at path would have: that of an
// earlier state file there. It is empty when there was none.
func Lineage(path string) (string, error) {
	b, err := os.ReadFile(lineageOf(path))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read lineage: %w", err)
	}
	l := strings.TrimSpace(string(b))
	if !lineageForm.MatchString(l) {
		return "", fmt.Errorf("read lineage %s: it is damaged; remove it to begin a new project (live sessions of the old one are then foreign)", lineageOf(path))
	}
	return l, nil
}

// keepLineage sees to it that the lineage outlives the state file.
func keepLineage(path, lineage string) error {
	if kept, err := Lineage(path); err == nil && kept == lineage {
		return nil
	}
	if _, err := replace(lineageOf(path), []byte(lineage+"\n")); err != nil {
		return fmt.Errorf("keep lineage: %w", err)
	}
	return nil
}

func lineageOf(path string) string { return path + ".lineage" }
