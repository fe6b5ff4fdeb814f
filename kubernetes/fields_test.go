package kubernetes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/agentform/agentform/session"
)

// notCompared are fields of a StatefulSet's spec whose changes do not count as edits.
var notCompared = []struct {
	field *regexp.Regexp
	why   string
}{
	{regexp.MustCompile(`^\.(Selector|ServiceName|PodManagementPolicy|VolumeClaimTemplates)\b`), "cannot change"},
	{regexp.MustCompile(`\.(DNSPolicy|RestartPolicy|SchedulerName|TerminationMessagePath|ConfigMap\.DefaultMode|Protocol|Scheme|SuccessThreshold) \(removed\)$`), "the API server sets it again"},
	{regexp.MustCompile(`^\.(UpdateStrategy|PersistentVolumeClaimRetentionPolicy)\b.* \(removed\)$`), "the API server sets it again"},
	{regexp.MustCompile(`^\.Template\.ObjectMeta\.(Labels|Annotations)\[\+\]$`), "further ones are free"},
}

// TestEveryFieldIsCompared changes, adds to and removes each field of a StatefulSet's spec, in turn,
// and checks that it counts as an edit.
func TestEveryFieldIsCompared(t *testing.T) {
	m := asMadeWith(t, everything, func(*record, object) {})
	m.set.Metadata.Generation++
	whole, err := m.declared(m.record.Mark, *m.record.Spec, session.Lifecycle{})
	if err != nil {
		t.Fatal(err)
	}
	fillIn(whole["spec"].(object))
	text, err := json.Marshal(whole["spec"])
	if err != nil {
		t.Fatal(err)
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	var spec appsv1.StatefulSetSpec
	if err := strict.Decode(&spec); err != nil {
		t.Fatalf("agentform sets a field that the API does not have: %v", err)
	}
	isEdit := func() bool {
		b, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		m.set.Spec = setSpec{}
		if err := json.Unmarshal(b, &m.set.Spec); err != nil {
			t.Fatal(err)
		}
		edited, err := m.edits(session.Lifecycle{})
		if err != nil {
			t.Fatal(err)
		}
		return len(edited) > 0
	}
	if isEdit() {
		edited, _ := m.edits(session.Lifecycle{})
		t.Fatalf("nothing was edited, found %+v", edited)
	}
	excepted := make([]int, len(notCompared))
	changes := 0
	mutate(reflect.ValueOf(&spec).Elem(), "", func(at string) {
		changes++
		for i, x := range notCompared {
			if x.field.MatchString(at) {
				excepted[i]++
				return
			}
		}
		if !isEdit() {
			t.Errorf("a change of %s does not count as an edit", at)
		}
	})
	for i, n := range excepted {
		if n == 0 {
			t.Errorf("no field is %s", notCompared[i].field)
		}
	}
	t.Logf("%d changes", changes)
}

// mutate calls changed after each of the changes of a value, which it reverts: another value, none,
// an element more, and those of its parts.
func mutate(v reflect.Value, at string, changed func(at string)) {
	before := reflect.New(v.Type()).Elem()
	before.Set(v)
	set := func(at string, to reflect.Value) {
		v.Set(to)
		changed(at)
		v.Set(before)
	}
	another := filled(v.Type())
	if v.IsZero() && v.Kind() != reflect.Struct {
		set(at, another)
		return
	}
	if leaf(v.Type()) {
		if v.IsZero() || v.Type() == reflect.TypeFor[intstr.IntOrString]() || v.Type() == reflect.TypeFor[resource.Quantity]() {
			set(at, another)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			mutate(v.Field(i), at+"."+v.Type().Field(i).Name, changed)
		}
	case reflect.Pointer:
		set(at+" (removed)", reflect.Zero(v.Type()))
		mutate(v.Elem(), at, changed)
	case reflect.Slice:
		set(at+" (removed)", reflect.Zero(v.Type()))
		set(at+"[+]", reflect.Append(reflect.AppendSlice(reflect.New(v.Type()).Elem(), v), another.Index(0)))
		for i := range v.Len() {
			mutate(v.Index(i), fmt.Sprintf("%s[%d]", at, i), changed)
		}
	case reflect.Map:
		more := reflect.MakeMap(v.Type())
		for _, key := range v.MapKeys() {
			more.SetMapIndex(key, v.MapIndex(key))
		}
		for _, key := range another.MapKeys() {
			more.SetMapIndex(key, another.MapIndex(key))
		}
		set(at+"[+]", more)
		for _, gone := range v.MapKeys() {
			fewer := reflect.MakeMap(v.Type())
			for _, key := range v.MapKeys() {
				if key.String() != gone.String() {
					fewer.SetMapIndex(key, v.MapIndex(key))
				}
			}
			set(at+"["+gone.String()+"] (removed)", fewer)
		}
	case reflect.Bool:
		set(at, reflect.ValueOf(!v.Bool()).Convert(v.Type()))
	default:
		set(at+" (removed)", reflect.Zero(v.Type()))
		set(at, another)
	}
}

// leaf reports whether a struct has a JSON form of its own.
func leaf(of reflect.Type) bool {
	switch of {
	case reflect.TypeFor[resource.Quantity](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[intstr.IntOrString](), reflect.TypeFor[metav1.FieldsV1]():
		return true
	}
	return false
}

// filled returns a value of a type with no part that is empty.
func filled(of reflect.Type) reflect.Value {
	v := reflect.New(of).Elem()
	switch x := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*x = resource.MustParse("7777")
		return v
	case *metav1.Time:
		*x = metav1.NewTime(time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC))
		return v
	case *intstr.IntOrString:
		*x = intstr.FromInt32(7777)
		return v
	case *metav1.FieldsV1:
		x.Raw = []byte(`{"f:x":{}}`)
		return v
	}
	switch of.Kind() {
	case reflect.Struct:
		for i := range of.NumField() {
			v.Field(i).Set(filled(of.Field(i).Type))
		}
	case reflect.Pointer:
		v.Set(reflect.New(of.Elem()))
		v.Elem().Set(filled(of.Elem()))
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(of.Elem())))
	case reflect.Map:
		v.Set(reflect.MakeMap(of))
		v.SetMapIndex(filled(of.Key()), filled(of.Elem()))
	case reflect.String:
		v.SetString("another")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(7777)
	case reflect.Uint8:
		v.SetUint(7)
	default:
		panic("a value of kind " + of.Kind().String())
	}
	return v
}
