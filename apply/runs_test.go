package apply_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// A session keeps the directories of its last runs only, and takes them along when it
// is destroyed.
func TestRunsOfASessionAreBounded(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	r.must(r.create(s))
	runs := func() []string {
		t.Helper()
		entries, err := os.ReadDir(filepath.Join(r.dir, "runs"))
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all
	}
	var ids []string
	for range 8 {
		ids = append(ids, r.record("api").Run.ID)
		r.rt.Kill(r.place("api"))
		r.must(r.one(plan.Restart, s))
	}
	ids = append(ids, r.record("api").Run.ID)
	want := slices.Sorted(slices.Values(ids[len(ids)-4:]))
	if got := runs(); !slices.Equal(got, want) {
		t.Errorf("the directories of runs are %q, want those of the last four: %q", got, want)
	}
	past := slices.Clone(ids[len(ids)-4 : len(ids)-1])
	slices.Reverse(past)
	if got := r.record("api").Past; !slices.Equal(got, past) {
		t.Errorf("earlier runs in the state: %q, want %q", got, past)
	}
	r.must(plan.Plan{Lineage: lineage, Changes: []plan.Change{r.change(plan.Delete, nil, "api")}})
	if got := runs(); len(got) != 0 {
		t.Errorf("after destroy the directories of runs are %q", got)
	}
}

// The directory of an earlier run whose agent still lives stays until that has ended.
func TestALiveRunKeepsItsDirectory(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	r.must(r.create(s))
	first := r.record("api").Run.ID
	facts := r.applier.Facts
	lives := true
	r.applier.Facts = func(run string) session.RunFacts {
		f := facts(run)
		if run == first {
			f.Alive = lives
		}
		return f
	}
	again := func() {
		r.rt.Kill(r.place("api"))
		r.must(r.one(plan.Restart, s))
	}
	stays := func() bool { _, err := os.Stat(filepath.Join(r.dir, "runs", first)); return err == nil }
	for range 6 {
		again()
	}
	if !stays() {
		t.Error("the directory of a run that lives was removed")
	}
	lives = false
	again()
	if stays() {
		t.Error("the run has ended and its directory is still there")
	}
}
