package install

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/executable"
)

// TestLinux checks which programs for Linux are found next to agentform, and which of them an
// architecture gets.
func TestLinux(t *testing.T) {
	const own, amd64, arm64 = Binary, Binary + "-linux-amd64", Binary + "-linux-arm64"
	lacks := func(arch string) string {
		return "agentform-shim for linux/" + arch + " is not next to agentform: it is in the release archives"
	}
	for name, test := range map[string]struct {
		platform string
		files    []string
		want     Programs
		only     string
		errs     map[string]string
	}{
		"an archive for Linux":       {"linux/amd64", []string{own, arm64}, Programs{"amd64": own, "arm64": arm64}, "", map[string]string{"riscv64": "there is no agentform-shim for linux/riscv64: it is made for linux/amd64 and linux/arm64"}},
		"an archive for macOS":       {"darwin/arm64", []string{own, amd64, arm64}, Programs{"amd64": amd64, "arm64": arm64}, "", nil},
		"go install on Linux":        {"linux/arm64", []string{own}, Programs{"arm64": own}, "arm64", map[string]string{"amd64": lacks("amd64")}},
		"go install on macOS":        {"darwin/arm64", []string{own}, Programs{}, "", map[string]string{"amd64": lacks("amd64"), "arm64": lacks("arm64")}},
		"another kind of Linux":      {"linux/riscv64", []string{own, amd64, arm64}, Programs{"riscv64": own, "amd64": amd64, "arm64": arm64}, "", nil},
		"its own under a long name":  {"linux/amd64", []string{own, amd64}, Programs{"amd64": own}, "amd64", nil},
		"without its own under none": {"linux/amd64", nil, Programs{}, "", map[string]string{"amd64": lacks("amd64")}},
	} {
		dir := t.TempDir()
		for _, f := range test.files {
			executable.Write(t, filepath.Join(dir, f), []byte(f), 0o755)
		}
		want := Programs{}
		for arch, f := range test.want {
			want[arch] = filepath.Join(dir, f)
		}
		places := []string{filepath.Join(dir, "none", Binary), filepath.Join(dir, Binary)}
		got := linux(places, test.platform)
		if !maps.Equal(got, want) || got.Only() != test.only {
			t.Errorf("%s: %v, only %q; want %v, %q", name, got, got.Only(), want, test.only)
		}
		for arch, file := range want {
			if f, err := got.For(arch); f != file || err != nil {
				t.Errorf("%s: %s gets %q, %v", name, arch, f, err)
			}
		}
		for arch, said := range test.errs {
			if f, err := got.For(arch); err == nil || err.Error() != said {
				t.Errorf("%s: %s gets %q, %v; want %q", name, arch, f, err, said)
			}
		}
	}
}

// TestKeep checks that copies have the same name in pods on all machines, that this machine's own is
// the copy of Install, and that the kind of a copy is known by its name.
func TestKeep(t *testing.T) {
	dir, names := t.TempDir(), map[string]bool{}
	for platform, files := range map[string]map[string]string{
		"linux/amd64":  {Binary: "x", Binary + "-linux-arm64": "a"},
		"darwin/arm64": {Binary: "mac", Binary + "-linux-amd64": "x", Binary + "-linux-arm64": "a"},
	} {
		in := filepath.Join(dir, filepath.Base(platform), "in")
		if err := os.MkdirAll(in, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			executable.Write(t, filepath.Join(in, name), []byte(text), 0o755)
		}
		data := filepath.Join(dir, filepath.Base(platform), "data")
		kept, err := linux([]string{filepath.Join(in, Binary)}, platform).Keep(data)
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[string]string{}
		for arch, file := range kept {
			text, err := os.ReadFile(file)
			if err != nil || string(text) != map[string]string{"amd64": "x", "arm64": "a"}[arch] || filepath.Dir(file) != filepath.Join(data, "bin") {
				t.Errorf("%s: %s is %s: %q, %v", platform, arch, file, text, err)
			}
			kinds[arch] = Kind(filepath.Base(file))
		}
		want := map[string]string{"amd64": "shim-", "arm64": "shim-linux-arm64-"}
		if platform == "darwin/arm64" {
			want["amd64"] = "shim-linux-amd64-"
		}
		if !maps.Equal(kinds, want) {
			t.Errorf("%s: kinds %v, want %v", platform, kinds, want)
		}
		names[kept.Name()] = true
		delete(kept, "arm64")
		if other := kept.Name(); names[other] || !strings.HasPrefix(other, Prefix) {
			t.Errorf("%s: with one program the name is %s, too", platform, other)
		}
	}
	if len(names) != 1 {
		t.Errorf("names %v, want the same one", names)
	}
}
