package docs_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/language"
)

var update = flag.Bool("update", false, "write what is generated in the documents anew")

// TestManifestReference: the tables of manifest.md are the schema's, and each
// block of the language has one; its list of functions is the schema's too.
func TestManifestReference(t *testing.T) {
	const path = "manifest.md"
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	schema := config.Language()
	tables := map[string]string{"functions": "`" + strings.Join(schema.Functions, "`, `") + "`.\n"}
	for _, b := range schema.Blocks {
		switch b.Type {
		case "session", "agentform":
			for _, inner := range b.Blocks {
				tables[b.Type+"."+inner.Type] = reference(inner)
			}
			b.Blocks = nil
		case "agent":
			b.Blocks = []language.Block{*b.Block("patterns")}
		}
		tables[b.Type] = reference(b)
	}
	marked := regexp.MustCompile(`(?s)<!-- schema: (\S+) -->\n.*?<!-- end -->\n`)
	got := marked.ReplaceAllStringFunc(string(old), func(part string) string {
		name := marked.FindStringSubmatch(part)[1]
		table, ok := tables[name]
		if !ok {
			t.Errorf("%s has a table of %q, which the schema does not, or has twice", path, name)
			return part
		}
		delete(tables, name)
		return "<!-- schema: " + name + " -->\n" + table + "<!-- end -->\n"
	})
	for name := range tables {
		t.Errorf("%s lacks the table of %s: write <!-- schema: %s --> and <!-- end --> where it belongs, and run this with -update", path, name, name)
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(old), got); diff != "" {
		t.Errorf("%s is stale; go test ./docs -run TestManifestReference -update writes it anew (-is +should be):\n%s", path, diff)
	}
}

// reference is what a block is and holds, as Markdown.
func reference(b language.Block) string {
	var out strings.Builder
	out.WriteString(b.Doc + "\n")
	if list := rows(b, "", ""); list != "" {
		head := "| attribute | type | default | |\n|---|---|---|---|\n"
		if changes(b) {
			head = "| attribute | type | default | a change | |\n|---|---|---|---|---|\n"
		}
		out.WriteString("\n" + head + list)
	}
	for _, k := range b.Kinds {
		header := fmt.Sprintf("%s %q", k.Type, k.FirstLabel)
		if len(k.Labels) > 1 {
			header += ` "NAME"`
		}
		fmt.Fprintf(&out, "\n`%s`: %s", header, reference(k))
	}
	return out.String()
}

// changes reports whether anything in the block is compared by a plan.
func changes(b language.Block) bool {
	for _, a := range b.Attributes {
		if a.Forces != "" {
			return true
		}
	}
	return b.Forces != ""
}

// rows are the block's attributes, and those of the blocks in it.
func rows(b language.Block, prefix, forces string) string {
	if forces == "" {
		forces = b.Forces
	}
	symbols := map[string]string{"": "", "none": "`~`", "restart": "`↻`", "replace": "`±`"}
	var out strings.Builder
	for _, a := range b.Attributes {
		typ := strings.ReplaceAll(string(a.Kind), "|", "\\|")
		if len(a.Values) > 0 && len(a.Values) < 15 {
			typ = "`" + strings.Join(a.Values, "` `") + "`"
		}
		def := a.DefaultWords
		switch {
		case a.Required:
			def = "required"
		case a.Default != "":
			def = "`" + strings.Trim(a.Default, `"`) + "`"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s |", prefix+a.Name, typ, def)
		if changes(b) || forces != "" {
			reach := a.Forces
			if reach == "" {
				reach = forces
			}
			fmt.Fprintf(&out, " %s |", symbols[reach])
		}
		doc := a.Doc
		if len(a.Meanings) > 0 && len(a.Meanings) < 10 {
			var each []string
			for i, v := range a.Values {
				each = append(each, "`"+v+"`: "+a.Meanings[i])
			}
			doc += " " + strings.Join(each, "; ") + "."
		}
		fmt.Fprintf(&out, " %s |\n", strings.ReplaceAll(doc, "|", "\\|"))
	}
	for _, inner := range b.Blocks {
		out.WriteString(rows(inner, prefix+inner.Type+".", forces))
	}
	return out.String()
}
