package language_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/language"
	"github.com/agentform/agentform/session"
)

// span is the memory of a value.
type span struct{ from, to uintptr }

func spanOf(v reflect.Value) span {
	return span{v.Addr().Pointer(), v.Addr().Pointer() + v.Type().Size()}
}

func (s span) within(all []span) bool {
	return slices.ContainsFunc(all, func(o span) bool { return o.from <= s.from && s.to <= o.to })
}

// whole returns a spec in which no pointer to a block is nil.
func whole() *session.Spec {
	return &session.Spec{
		Runtime: session.RuntimeSpec{Docker: &session.DockerConfig{}, Kubernetes: &session.KubernetesConfig{}},
		Health:  session.Health{Heartbeat: &session.Heartbeat{}},
	}
}

func comparedIn(s *session.Spec) (all []span) {
	for _, c := range language.AllCompared() {
		all = append(all, spanOf(reflect.ValueOf(c.Field(s)).Elem()))
	}
	return all
}

// TestEveryFieldHasARow checks that plans compare each field of a spec, by a row of the table.
func TestEveryFieldHasARow(t *testing.T) {
	s := whole()
	compared := comparedIn(s)
	without := []string{
		"Address",            // what is compared has the same one
		"Workspace.Explicit", // how Workspace.Path is declared
	}
	var check func(path string, v reflect.Value)
	check = func(path string, v reflect.Value) {
		if spanOf(v).within(compared) {
			if slices.Contains(without, path) {
				t.Errorf("%s has a row", path)
			}
			return
		}
		switch {
		case v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct:
			v = v.Elem()
		case v.Kind() != reflect.Struct && !slices.Contains(without, path):
			t.Errorf("no row of the table has session.Spec.%s as its field, and no plan compares it", path)
		}
		if v.Kind() == reflect.Struct {
			for i := range v.NumField() {
				check(strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."), v.Field(i))
			}
		}
	}
	check("", reflect.ValueOf(s).Elem())
}

// TestEveryRow checks that a row with a field is compared and documented, and that no two rows
// have the same field.
func TestEveryRow(t *testing.T) {
	s := whole()
	compared, fields := comparedIn(s), map[span]string{}
	rows := 0
	var check func(path string, b language.Block)
	check = func(path string, b language.Block) {
		if b.Doc == "" {
			t.Errorf("%s has no documentation", path)
		}
		for _, a := range b.Attributes {
			path := path + "." + a.Name
			rows++
			if a.Kind == "" || !strings.HasSuffix(a.Doc, ".") {
				t.Errorf("%s: kind %q, documentation %q", path, a.Kind, a.Doc)
			}
			if a.Field == nil {
				continue
			}
			at := spanOf(reflect.ValueOf(a.Field(s)).Elem())
			if !at.within(compared) {
				t.Errorf("%s has a field, and no plan compares it: say what a change forces", path)
			}
			if other, twice := fields[at]; twice && other != strings.Replace(path, "session.", "agent.", 1) { // an agent has its sessions' policies
				t.Errorf("%s has the field of %s", path, other)
			}
			fields[at] = path
		}
		for _, inner := range slices.Concat(b.Blocks, b.Kinds) {
			check(path+"."+inner.Type+inner.FirstLabel, inner)
		}
	}
	for _, b := range language.Sorted(language.Blocks()) {
		check(b.Type, b)
	}
	if rows < 200 {
		t.Errorf("%d rows", rows)
	}
}

// TestCompared checks that no two compared values have a path in common.
func TestCompared(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range language.AllCompared() {
		if seen[c.Path] || c.Forces == "" {
			t.Errorf("%s is compared twice, or it is not said what a change forces: %q", c.Path, c.Forces)
		}
		seen[c.Path] = true
	}
}
