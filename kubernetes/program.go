package kubernetes

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
)

// program is the shim's program on this machine.
type program struct {
	content []byte
	path    string // here and in pods
}

// readProgram reads the shim's program, which has to run on Linux whatever its image has:
// statically linked.
func readProgram(c Config) (program, error) {
	file := c.Shim
	if file == "" || !strings.HasPrefix(file, c.DataDir+"/") {
		return program{}, errors.New("kubernetes: agentform-shim not found: it has to be in the directory of agentform, as in the release archives (go install ./cmd/...)")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return program{}, fmt.Errorf("kubernetes: read the shim: %w", err)
	}
	if err := checkProgram(b); err != nil {
		return program{}, fmt.Errorf("kubernetes: %s cannot run in a pod: %w", file, err)
	}
	return program{b, file}, nil
}

func checkProgram(b []byte) error {
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return errors.New("it is not a program for Linux: run agentform on Linux")
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("it is linked with libraries that an image may not have: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// upload copies the program to the volume of a pod. Readers see all of it or nothing.
func (t target) upload(ctx context.Context, p program) error {
	const script = `umask 077 && mkdir -p "$HOME" "$2" "$3" && cat >"$1.$$" && chmod 0755 "$1.$$" && mv "$1.$$" "$1"`
	at := t.record.Program
	_, err := t.runtime.run(ctx, t.cluster, t.pod, bytes.NewReader(p.content), "sh", "-c", script, "sh", at, path.Dir(at), t.runDir(""))
	if err != nil {
		return fmt.Errorf("copy agentform-shim to the volume: %w", err)
	}
	return nil
}
