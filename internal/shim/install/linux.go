package install

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/agentform/agentform/internal/layout"
)

// Architectures are those of Linux whose shims are in each release archive.
var Architectures = []string{"amd64", "arm64"}

// Programs are files with the shim's program for Linux, by architecture as Go names it.
type Programs map[string]string

// Linux returns the shim's programs for Linux that are next to the running executable: its own one
// on Linux, and agentform-shim-linux-ARCHITECTURE for the others.
func Linux() Programs {
	_, places, err := beside()
	if err != nil {
		return nil
	}
	return linux(places, runtime.GOOS+"/"+runtime.GOARCH)
}

// linux returns the programs at or next to the places of the shim's program for a platform.
func linux(places []string, platform string) Programs {
	found := Programs{}
	add := func(arch, file string) {
		if found[arch] == "" && usable(os.Stat(file)) {
			found[arch] = file
		}
	}
	for _, own := range places {
		if arch, is := strings.CutPrefix(platform, "linux/"); is {
			add(arch, own)
		}
		for _, arch := range Architectures {
			add(arch, own+"-linux-"+arch)
		}
	}
	return found
}

func usable(info fs.FileInfo, err error) bool {
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// Keep copies the programs to DATA_DIR/bin as Install does, and returns the copies.
func (p Programs) Keep(dataDir string) (Programs, error) {
	if err := layout.MakeDataDir(dataDir); err != nil {
		return nil, fmt.Errorf("install shim: %w", err)
	}
	kept := Programs{}
	for arch, file := range p {
		prefix := Prefix
		if strings.HasPrefix(filepath.Base(file), Binary+"-") { // not this machine's own
			prefix += "linux-" + arch + "-"
		}
		at, err := keep(file, layout.Data{Dir: dataDir}.Programs(), prefix)
		if err != nil {
			return nil, fmt.Errorf("install shim for linux/%s: %w", arch, err)
		}
		kept[arch] = at
	}
	return kept, nil
}

// Name returns a file name for the copy of any of the kept programs, where the architecture is not
// known yet. It is the same on all machines with the same programs.
func (p Programs) Name() string {
	sum := sha256.New()
	for _, arch := range slices.Sorted(maps.Keys(p)) {
		file := filepath.Base(p[arch])
		fmt.Fprintln(sum, arch, strings.TrimPrefix(file, Kind(file)))
	}
	return Prefix + hex.EncodeToString(sum.Sum(nil))
}

// Only returns the architecture if there is a program for no other, else "".
func (p Programs) Only() string {
	if len(p) != 1 {
		return ""
	}
	return slices.Collect(maps.Keys(p))[0]
}

// For returns the program for an architecture. The error says where to find it.
func (p Programs) For(arch string) (string, error) {
	switch {
	case p[arch] != "":
		return p[arch], nil
	case !slices.Contains(Architectures, arch):
		return "", fmt.Errorf("there is no %s for linux/%s: it is made for linux/%s", Binary, arch, strings.Join(Architectures, " and linux/"))
	}
	return "", fmt.Errorf("%s for linux/%s is not next to agentform: it is in the release archives", Binary, arch)
}

// Kind returns what the name of a copy has before its digest. It is the same for all versions of a
// program.
func Kind(name string) string { return name[:strings.LastIndexByte(name, '-')+1] }
