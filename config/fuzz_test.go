package config

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

// FuzzLoad gives Load any text as a manifest. It may find anything wrong with
// it, but must say so with a place that exists, must not end the program, and
// must come to the same result again.
func FuzzLoad(f *testing.F) {
	err := filepath.WalkDir("testdata", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !IsManifest(e.Name()) || strings.Contains(path, "too_large") {
			return err // what takes seconds to be refused teaches a fuzzer nothing
		}
		src, err := os.ReadFile(path)
		if err == nil {
			f.Add(src, strings.HasSuffix(path, ".json"))
		}
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(many(20, true)), false)
	f.Add([]byte(many(20, false)), false)
	f.Fuzz(func(t *testing.T, src []byte, asJSON bool) {
		name := "agentform.hcl"
		if asJSON {
			name = "x.agentform.json"
		}
		o := write(t, map[string]string{name: string(src), "prompts/api.md": "${area}\n"})
		m, ds := Load(o)
		if m == nil {
			t.Fatal("no manifest")
		}
		for _, d := range ds {
			if d.Summary == "" || d.Detail == "" {
				t.Errorf("a problem without words: %+v", d)
			}
			if s := d.Snippet; s != nil && (s.From < 0 || s.From > s.To || s.To > len(s.Code)) {
				t.Errorf("%s: highlights %d to %d of %d bytes", d.Summary, s.From, s.To, len(s.Code))
			}
		}
		for _, s := range m.Sessions {
			if a, err := session.ParseAddress(string(s.Address)); err != nil || a != s.Address {
				t.Errorf("address %s: %s, %v", s.Address, a, err)
			}
			if !filepath.IsAbs(s.Workspace.Path) || filepath.Clean(s.Workspace.Path) != s.Workspace.Path {
				t.Errorf("%s works in %q", s.Address, s.Workspace.Path)
			}
			if len(s.Agent.Command) == 0 {
				t.Errorf("%s has no command", s.Address)
			}
		}
		var named []session.Address
		for _, v := range m.Moves {
			named = append(named, v.From, v.To)
		}
		for _, r := range m.Removed {
			named = append(named, r.From)
		}
		for _, i := range m.Imports {
			named = append(named, i.To)
		}
		for _, a := range named {
			if again, err := session.ParseAddress(string(a)); err != nil || again != a {
				t.Errorf("address %s: %s, %v", a, again, err)
			}
		}
		for _, o := range m.Outputs {
			if !json.Valid(o.Value) {
				t.Errorf("output %s: %s", o.Name, o.Value)
			}
		}
		first, err := json.Marshal([]any{m, ds})
		if err != nil {
			t.Fatal(err)
		}
		m, ds = Load(o)
		if second, _ := json.Marshal([]any{m, ds}); string(first) != string(second) {
			t.Errorf("two loads differ:\n%s\n%s", first, second)
		}
		_, _ = Format(src)
	})
}
