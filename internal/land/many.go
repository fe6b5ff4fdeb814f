package land

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// Member is the work of a session that is to land together with that of others.
type Member struct {
	Facts
	Steps    []Step
	Needs    []session.Address // whose work has to land before
	Priority int
	Refused  error  // why it does not land; nil: it does
	Tree     string // of the base when it has landed, as foreseen
}

// Sort orders members as they land: those that others need first, then those that conflict with
// the fewest, by priority and by address. conflict reports whether two members conflict.
func Sort(all []*Member, conflict func(a, b *Member) bool) {
	left := slices.Clone(all)
	slices.SortStableFunc(left, func(a, b *Member) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Address, b.Address))
	})
	for i := range all {
		best, fewest := 0, -1
		for n, m := range left {
			if slices.ContainsFunc(left, func(o *Member) bool { return o != m && slices.Contains(m.Needs, o.Address) }) {
				continue
			}
			conflicts := 0
			for _, o := range left {
				if o != m && conflict(m, o) {
					conflicts++
				}
			}
			if fewest < 0 || conflicts < fewest {
				best, fewest = n, conflicts
			}
		}
		all[i] = left[best] // of a cycle, which a manifest cannot have, the first
		left = slices.Delete(left, best, best+1)
	}
}

// Shown is a step of an order that somebody was shown and agreed to.
type Shown struct {
	Address session.Address
	Tree    string // of the base after it
	Base    string // empty: whatever it is
}

// Foresee orders members, as they were shown if they were, merges them one after the other in a
// quarantine, and sets their trees. It refuses those that conflict with what lands before them, and
// those that need one that does not land; these are last then, by their addresses.
func Foresee(ctx context.Context, q *git.Quarantine, method Method, all []*Member, shown []Shown) error {
	conflicts, err := compare(ctx, q, Landing(all))
	if err != nil {
		return err
	}
	var newer []*Member
	if shown == nil {
		Sort(all, func(a, b *Member) bool { return conflicts[[2]string{a.Commit, b.Commit}] })
	} else {
		newer = keepOrder(all, shown)
	}
	tips, landed := map[string]string{}, map[string][]*Member{} // by base
	merged := func(m *Member) (git.Merge, string, error) {
		merge := q.Merge
		if method != Merge {
			merge = q.Squash
		}
		merged, commit, err := merge(ctx, cmp.Or(tips[m.Base], m.BaseTip), m.Commit)
		if err != nil {
			return merged, "", fmt.Errorf("merge %s: %w", m.Address, err)
		}
		if files := merged.Conflicts; len(files) > 0 {
			m.Refused = clash(m, landed[m.Base], conflicts, files)
		}
		return merged, commit, nil
	}
	for _, m := range Landing(all) {
		if needed := refusedOf(all, m.Needs); needed != "" {
			m.Refused = &Refusal{Why: fmt.Sprintf("%s needs %s, which does not land", m.Address, needed)}
			continue
		}
		result, commit, err := merged(m)
		if err != nil {
			return err
		}
		if m.Refused == nil {
			m.Tree, tips[m.Base] = result.Tree, commit
			landed[m.Base] = append(landed[m.Base], m)
		}
	}
	for _, m := range newer { // that it conflicts says more
		if _, _, err := merged(m); err != nil {
			return err
		}
	}
	slices.SortStableFunc(all, func(a, b *Member) int {
		if a.Refused != nil && b.Refused != nil {
			return cmp.Compare(a.Address, b.Address)
		}
		return cmp.Compare(rank(a), rank(b))
	})
	return nil
}

// keepOrder orders members as they were shown, and refuses and returns the others: their work may
// have come since.
func keepOrder(all []*Member, shown []Shown) (newer []*Member) {
	at := func(m *Member) int {
		return slices.IndexFunc(shown, func(s Shown) bool { return s.Address == m.Address })
	}
	for _, m := range all {
		if m.Refused == nil && at(m) < 0 {
			m.Refused = &Refusal{Why: fmt.Sprintf("%s was not in the order that was shown", m.Address)}
			newer = append(newer, m)
		}
	}
	slices.SortStableFunc(all, func(a, b *Member) int { return cmp.Compare(at(a), at(b)) })
	return newer
}

// CheckShown refuses to land members of which one would not land as it was shown.
func CheckShown(all []*Member, shown []Shown) *Refusal {
	for _, s := range shown {
		i := slices.IndexFunc(all, func(m *Member) bool { return m.Address == s.Address })
		why := ""
		switch {
		case i < 0:
			why = fmt.Sprintf("%s has nothing to land now", s.Address)
		case all[i].Refused != nil:
			why = fmt.Sprintf("%s does not land now: %v", s.Address, all[i].Refused)
		case s.Base != "" && all[i].Base != s.Base:
			why = fmt.Sprintf("%s would land on %s, not on %s", s.Address, all[i].Base, s.Base)
		case all[i].Tree != s.Tree:
			why = otherTree(s.Address, all[i].Base, all[i].Tree, s.Tree)
		default:
			continue
		}
		return &Refusal{Why: why, Next: "something has changed since the order was shown: get it again"}
	}
	return nil
}

// otherTree says that landing a session would make another tree than was foreseen.
func otherTree(a session.Address, base, is, was string) string {
	return fmt.Sprintf("%s would make another %s than was foreseen: tree %.7s, not %.7s", a, base, is, was)
}

// rank is 1 of a member that does not land, else 0.
func rank(m *Member) int {
	if m.Refused != nil {
		return 1
	}
	return 0
}

// compare returns which commits of members conflict.
func compare(ctx context.Context, q *git.Quarantine, all []*Member) (map[[2]string]bool, error) {
	var pairs [][2]string
	for i, a := range all {
		for _, b := range all[:i] {
			if a.Base == b.Base {
				pairs = append(pairs, [2]string{a.Commit, b.Commit})
			}
		}
	}
	merges, err := q.Compare(ctx, pairs)
	conflicts := map[[2]string]bool{}
	for i, m := range merges {
		if m != nil && len(m.Conflicts) > 0 {
			a, b := pairs[i][0], pairs[i][1]
			conflicts[[2]string{a, b}], conflicts[[2]string{b, a}] = true, true
		}
	}
	return conflicts, err
}

// refusedOf returns a member among those that are needed that does not land, or "".
func refusedOf(all []*Member, needs []session.Address) session.Address {
	for _, m := range all {
		if m.Refused != nil && slices.Contains(needs, m.Address) {
			return m.Address
		}
	}
	return ""
}

// clash is the refusal of work that conflicts with work that lands before it.
func clash(m *Member, before []*Member, conflicts map[[2]string]bool, files []string) *Refusal {
	var names []string
	for _, o := range before {
		if conflicts[[2]string{m.Commit, o.Commit}] {
			names = append(names, string(o.Address))
		}
	}
	with := fmt.Sprintf("%s as it is then", m.Base)
	if len(names) > 0 {
		with = plaintext.List(names, "and") + ", which land before it"
		if len(names) == 1 {
			with = names[0] + ", which lands before it"
		}
	}
	name := word(m.Address)
	return &Refusal{Why: fmt.Sprintf("%s conflicts with %s, in %s:", m.Address, with, plaintext.Count(len(files), "file")), Files: files,
		Next: fmt.Sprintf("agentform refresh %s brings them into its branch when they have landed", name)}
}

// Landing returns the members that land.
func Landing(all []*Member) []*Member {
	return slices.DeleteFunc(slices.Clone(all), func(m *Member) bool { return m.Refused != nil })
}

// Many is what became of landing several sessions.
type Many struct {
	Members   []*Member
	Landed    []Landed
	Failed    error           // why those after the last of Landed did not land
	Refreshed []RefreshResult // sessions that depend on what has landed
}

// Left returns the members that were to land and did not.
func (m Many) Left() []*Member {
	return Landing(m.Members)[len(m.Landed):]
}
