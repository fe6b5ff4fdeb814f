package conflicts

import "slices"

// table has the results of merges of pairs of commits. The order of a pair makes no difference.
type table struct {
	Commits   []string `json:"commits"`
	Compared  []byte   `json:"compared"` // a bit for each pair of indexes
	Conflicts []pair   `json:"conflicts,omitempty"`

	index map[string]int // of Commits
	files map[int][]string
}

// pair is a pair whose merge has conflicts.
type pair struct {
	Bit   int      `json:"bit"` // in Compared
	Files []string `json:"files"`
}

func newTable() *table { return &table{index: map[string]int{}, files: map[int][]string{}} }

// complete adds what the file does not have, and reports whether that is possible.
func (t *table) complete() bool {
	if t == nil {
		return false
	}
	t.index, t.files = make(map[string]int, len(t.Commits)), make(map[int][]string, len(t.Conflicts))
	for i, c := range t.Commits {
		t.index[c] = i
	}
	for _, p := range t.Conflicts {
		t.files[p.Bit] = p.Files
	}
	return true
}

// bit returns the number of a pair's bit, which stays the same when commits are added.
func bit(i, j int) int {
	if i > j {
		i, j = j, i
	}
	return j*(j-1)/2 + i
}

// get reports whether a pair was compared, and returns the files that conflict.
func (t *table) get(a, b string) (files []string, compared bool) {
	i, known := t.index[a]
	j, both := t.index[b]
	if !known || !both || i == j {
		return nil, false
	}
	n := bit(i, j)
	if n/8 >= len(t.Compared) || t.Compared[n/8]&(1<<(n%8)) == 0 {
		return nil, false
	}
	return t.files[n], true
}

// set records the result of a pair of two commits.
func (t *table) set(a, b string, files []string) {
	n := bit(t.add(a), t.add(b))
	if more := n/8 + 1 - len(t.Compared); more > 0 {
		t.Compared = append(t.Compared, make([]byte, more)...)
	}
	t.Compared[n/8] |= 1 << (n % 8)
	if len(files) > 0 {
		t.Conflicts = append(t.Conflicts, pair{n, files})
		t.files[n] = files
	}
}

func (t *table) add(commit string) int {
	if i, known := t.index[commit]; known {
		return i
	}
	t.index[commit] = len(t.Commits)
	t.Commits = append(t.Commits, commit)
	return len(t.Commits) - 1
}

// of returns a table with the pairs of some commits.
func (t *table) of(commits []string) *table {
	kept := newTable()
	if t == nil {
		return kept
	}
	commits = slices.Compact(slices.Sorted(slices.Values(commits)))
	for j, b := range commits {
		for _, a := range commits[:j] {
			if files, compared := t.get(a, b); compared {
				kept.set(a, b, files)
			}
		}
	}
	return kept
}
