package kubernetes

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/agentform/agentform/internal/shim"
)

// program is the shim's program on this machine.
type program []byte

// readProgram reads the shim's program, which must be statically linked to run on Linux with any
// image.
func readProgram(c Config) (program, error) {
	file := c.Shim
	if file == "" || !strings.HasPrefix(file, c.DataDir+"/") {
		return nil, errors.New("kubernetes: agentform-shim not found: it has to be in the directory of agentform, as in the release archives (go install ./cmd/agentform...)")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("kubernetes: read the shim: %w", err)
	}
	if err := checkProgram(b); err != nil {
		return nil, fmt.Errorf("kubernetes: %s cannot run in a pod: %w", file, err)
	}
	return b, nil
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

// uploading reads a request and the program from standard input. It creates the directories named
// after the program, writes the program so that others see it complete or not at all, and sends the
// request to the init that executes it.
const uploading = `umask 077; program=$1 socket=$2; shift 2; IFS= read -r request || exit 1
mkdir -p "$HOME" "$@" && cat >"$program.$$" && chmod 0755 "$program.$$" && mv "$program.$$" "$program" || exit 1
n=0; until [ -S "$socket" ] || [ "$n" = 100 ]; do n=$((n+1)); sleep 0.1 || sleep 1; done
printf '%s\n' "$request" | "$program" ` + shim.RelayMode + ` "$socket"`

// upload copies the program to the volume of a pod, and returns the init's answer to a request.
func (t target) upload(ctx context.Context, p program, q shim.InitRequest) (shim.InitReply, error) {
	line, err := requestLine(q)
	if err != nil {
		return shim.InitReply{}, err
	}
	at := t.record.Program
	text, err := t.runtime.run(ctx, t.cluster, t.pod, io.MultiReader(bytes.NewReader(line), bytes.NewReader(p)), "sh", "-c", uploading, "sh",
		at, shim.InitFolder+"/"+shim.InitSocket, path.Dir(at), t.runDir(""))
	if err != nil {
		return shim.InitReply{}, fmt.Errorf("copy agentform-shim to the volume, and %s: %w", q.Op, err)
	}
	return shim.ReadInitReply(q.Op, []byte(text))
}
