package land

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
)

func TestSort(t *testing.T) {
	for name, c := range map[string]struct {
		members   string // name[:priority][<needed,needed]
		conflicts string // pairs
		want      string
	}{
		"by address":              {"c b a", "", "a b c"},
		"by priority":             {"a b:1 c:2", "", "c b a"},
		"the fewest conflicts":    {"a b c d", "ab ac", "d b a c"},
		"among those that remain": {"a b c", "ab", "c a b"},
		"what is needed first":    {"a<c b c", "", "b c a"},
		"even if it conflicts":    {"a<c b c", "cb ca", "b c a"},
		"a chain":                 {"a<b b<c c<d d", "da", "d c b a"},
		"what does not land":      {"a<x b", "", "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			var all []*Member
			for text := range strings.FieldsSeq(c.members) {
				m := &Member{}
				text, needs, _ := strings.Cut(text, "<")
				id, priority, _ := strings.Cut(text, ":")
				m.Address = session.Address(id)
				_, _ = fmt.Sscan(priority, &m.Priority)
				for needed := range strings.SplitSeq(needs, ",") {
					m.Needs = append(m.Needs, session.Address(needed))
				}
				all = append(all, m)
			}
			Sort(all, func(a, b *Member) bool {
				return strings.Contains(c.conflicts, string(a.Address+b.Address)) || strings.Contains(c.conflicts, string(b.Address+a.Address))
			})
			var got []string
			for _, m := range all {
				got = append(got, string(m.Address))
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("%s, want %s", s, c.want)
			}
		})
	}
}

// foreseen is how many random repositories TestForesee lands in. A thousand were, before it was
// committed.
const foreseen = 6

// What is to land lands, and makes the trees that were foreseen.
func TestForesee(t *testing.T) {
	names := []string{"api", "two", "three", "four"}
	landed, refused := 0, 0
	for n := range foreseen {
		rnd := rand.New(rand.NewPCG(2, uint64(n)))
		p := newProject(t, scribble(rnd, "1", 6), scribble(rnd, "2", 1), scribble(rnd, "api", 2)+"; echo 1 >api")
		method := methods[rnd.IntN(len(methods))]
		var all []*Member
		landers := map[session.Address]Lander{}
		for _, name := range names {
			l := p.lander
			if name != "api" {
				path := filepath.Join(filepath.Dir(p.repo), name)
				p.sh(p.repo, fmt.Sprintf("git worktree add -q -b agents/%s %s main~%d", name, path, rnd.IntN(2)))
				p.sh(path, scribble(rnd, name, 2)+"; echo 1 >"+name+"; git add .; git commit -q -m "+name)
				l.Record.Address, l.Record.Tree.Path, l.Record.Tree.Branch = session.Address("session."+name), path, "agents/"+name
				l.Ref = "refs/agentform/" + name
			}
			landers[l.Record.Address] = l
			m := &Member{}
			var err error
			if m.Facts, err = l.Look(t.Context(), Request{Method: method}); err != nil {
				t.Fatal(err)
			}
			_, m.Refused = Decide(m.Facts, Request{Method: method})
			all = append(all, m)
		}
		q, err := git.OpenQuarantine(p.repo, filepath.Join(t.TempDir(), "objects"))
		if err != nil {
			t.Fatal(err)
		}
		if err := Foresee(t.Context(), q, method, all, nil); err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if m.Refused != nil {
				refused++
				continue
			}
			landed++
			l := landers[m.Address]
			done, err := l.Land(t.Context(), Request{Method: method}, func(Step) {})
			if tree := p.sh(p.repo, "git rev-parse main^{tree}"); err != nil || tree != m.Tree || !done.Done {
				t.Errorf("%d, %s of %s: main has the tree %s, foreseen was %s, %v", n, method, m.Address, tree, m.Tree, err)
			}
		}
		checkKept(t, q, method, all)
		// What needs one that does not land does not land either.
		for i, m := range all {
			m.Needs, m.Refused = []session.Address{all[(i+1)%len(all)].Address}, nil
		}
		all[0].Refused, all[0].Needs = &Refusal{Why: "no"}, nil
		if err := Foresee(t.Context(), q, method, all, nil); err != nil {
			t.Fatal(err)
		}
		if at := slices.IndexFunc(all, func(m *Member) bool { return m.Refused == nil }); at >= 0 {
			t.Errorf("%d: %s lands without what it needs", n, all[at].Address)
		}
	}
	if landed == 0 || refused == 0 {
		t.Errorf("%d landed, %d refused", landed, refused)
	}
}

// checkKept foresees an order again that was shown: it is kept, also by what it leaves out, and what
// would land otherwise is refused.
func checkKept(t *testing.T, q *git.Quarantine, method Method, all []*Member) {
	t.Helper()
	var shown []Shown
	for _, m := range Landing(all) {
		shown = append(shown, Shown{m.Address, m.Tree, m.Base})
	}
	if len(shown) < 2 {
		return
	}
	again := func(order []Shown) []*Member {
		var members []*Member
		for _, m := range all {
			members = append(members, &Member{Facts: m.Facts})
		}
		slices.Reverse(members)
		if err := Foresee(t.Context(), q, method, members, order); err != nil {
			t.Fatal(err)
		}
		return members
	}
	if r := CheckShown(again(shown), shown); r != nil {
		t.Errorf("the same order: %v", r)
	}
	fewer := shown[:len(shown)-1]
	members := again(fewer)
	if r := CheckShown(members, fewer); r != nil || len(Landing(members)) != len(fewer) {
		t.Errorf("%d of %d were shown, and %d land: %v", len(fewer), len(shown), len(Landing(members)), r)
	}
	members = again(shown)
	for _, was := range all {
		i := slices.IndexFunc(members, func(m *Member) bool { return m.Address == was.Address })
		if was.Refused != nil && strings.Contains(was.Refused.Error(), " conflicts with session.") && !strings.Contains(members[i].Refused.Error(), " conflicts with ") {
			t.Errorf("%s conflicts as before: %v", was.Address, members[i].Refused)
		}
	}
	members = again(fewer)
	if r := CheckShown(again(shown[1:]), shown[1:]); r == nil || !strings.Contains(r.Why, string(shown[1].Address)+" would make another") {
		t.Errorf("the first has not landed: %v", r)
	}
	if r := CheckShown(members, shown); r == nil || !strings.Contains(r.Why, string(shown[len(shown)-1].Address)+" does not land now: ") {
		t.Errorf("one that was left out: %v", r)
	}
	elsewhere := slices.Clone(fewer)
	elsewhere[0].Base = "side"
	if r := CheckShown(again(fewer), elsewhere); r == nil || !strings.Contains(r.Why, "would land on "+all[0].Base+", not on side") {
		t.Errorf("another base than was shown: %v", r)
	}
	if r := CheckShown(members, []Shown{{Address: "session.gone"}}); r == nil || !strings.Contains(r.Why, "session.gone has nothing to land now") {
		t.Errorf("one without work: %v", r)
	}
}
