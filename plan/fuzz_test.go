package plan

import (
	"bytes"
	"testing"

	"github.com/agentform/agentform/session"
)

// FuzzDecode: a plan file that is taken can be summed up, held against itself and
// written again as the same.
func FuzzDecode(f *testing.F) {
	spec := session.Spec{Address: "session.api", Prompt: session.Prompt{Text: "do it", Digest: "d"}}
	good, err := Encode(Plan{Changes: []Change{{Address: "session.api", Action: Create, After: &spec}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"agentform_plan":1,"plan":{"changes":[{"address":"session.a","action":"none"}]}}`))
	f.Add([]byte(`{"agentform_plan":1,"plan":{"changes":[{"address":"../x","action":"explode"}]}}`))
	f.Add([]byte(`{"agentform_plan":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Decode(b)
		if err != nil {
			return
		}
		p.Summary()
		p.Acts()
		p.Next()
		p.Wanted()
		for _, c := range p.Changes {
			c.Address.Key() // may not panic on what was let in
			if !c.Matches(c) {
				t.Errorf("%+v is not itself", c)
			}
		}
		text, err := Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := Decode(text)
		if err != nil {
			t.Fatalf("what was written is refused: %v", err)
		}
		if again, err := Encode(q); err != nil || !bytes.Equal(again, text) {
			t.Errorf("written again it differs, %v:\n%s\n%s", err, text, again)
		}
	})
}
