package history

import (
	"encoding/json"
	"reflect"
	"testing"
)

// Lines as they are usually written need no decoder of JSON.
func TestParsePlain(t *testing.T) {
	want := Event{Time: noon, Address: "session.api", ID: "a1", Run: "0011223344556677", Kind: StatusChanged, Action: "restart", Reason: "stale", By: "ada",
		Old: "running", New: "blocked", Detail: "run make?"}
	line, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := parsePlain(append(line, '\n')); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%s is %+v, %t", line, got, ok)
	}
	want.Detail = "run \"make\"?"
	if line, err = json.Marshal(want); err != nil {
		t.Fatal(err)
	}
	if _, ok := parsePlain(line); ok {
		t.Errorf("%s has escapes", line)
	}
	if got, ok := parse(line); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%s is %+v, %t", line, got, ok)
	}
}

func BenchmarkParse(b *testing.B) {
	line, err := json.Marshal(Event{Time: noon, Address: "session.api", ID: "a1", Run: "0011223344556677", Kind: StatusChanged, Old: "running", New: "blocked", Detail: "run make?"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, ok := parse(line); !ok {
			b.Fatal("it is not parsed")
		}
	}
}
