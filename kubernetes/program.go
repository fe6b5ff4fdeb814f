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

	"github.com/agentform/agentform/internal/excerpt"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/install"
)

// programs are the shim's programs for Linux by architecture, as Go names it.
type programs map[string][]byte

// readPrograms reads the shim's programs from their files.
func readPrograms(files install.Programs) (programs, error) {
	if len(files) == 0 {
		return nil, errors.New("kubernetes: agentform-shim for Linux is not next to agentform: it is in the release archives")
	}
	all := programs{}
	for arch, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("kubernetes: read the shim: %w", err)
		}
		if err := checkProgram(b, arch); err != nil {
			return nil, fmt.Errorf("kubernetes: %s cannot run in a pod: %w", file, err)
		}
		all[arch] = b
	}
	return all, nil
}

// checkProgram returns why a program cannot run on Linux with any image: it has to be statically
// linked.
func checkProgram(b []byte, arch string) error {
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return errors.New("it is not a program for Linux")
	}
	defer f.Close()
	if want, known := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]; known && f.Machine != want {
		return fmt.Errorf("it is for another processor (%s) than %s", f.Machine, arch)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("it is linked with libraries that an image may not have: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// uploading prints the node's machine, and reads a request and the program for it from standard
// input. It creates the directories named after the program, writes the program so that others see
// it complete or not at all, and sends the request to the init that executes it. An empty file next
// to the program names the machine.
const uploading = `umask 077; program=$1 socket=$2; shift 2; machine=$(uname -m); printf '%s\n' "$machine"; IFS= read -r request || exit 1
mkdir -p "$HOME" "$@" && cat >"$program.$$" && chmod 0755 "$program.$$" || exit 1
rm -f "$program"-* && : >"$program-$machine" && mv "$program.$$" "$program" || exit 1
n=0; until [ -S "$socket" ] || [ "$n" = 100 ]; do n=$((n+1)); sleep 0.1 || sleep 1; done
printf '%s\n' "$request" | "$program" ` + shim.RelayMode + ` "$socket"`

// upload copies the node's one of the programs to the volume of a pod, and returns the init's answer
// to a request.
func (t target) upload(ctx context.Context, all programs, q shim.InitRequest) (shim.InitReply, error) {
	line, err := requestLine(q)
	if err != nil {
		return shim.InitReply{}, err
	}
	at := t.record.Program
	text, err := all.send(line, func(in io.Reader, out io.Writer) error {
		return stream(ctx, t.runtime.slots, t.cluster, t.pod, in, out, "sh", "-c", uploading, "sh",
			at, shim.InitFolder+"/"+shim.InitSocket, path.Dir(at), t.runDir(""))
	})
	if err != nil {
		return shim.InitReply{}, fmt.Errorf("copy agentform-shim to the volume, and %s: %w", q.Op, err)
	}
	return shim.ReadInitReply(q.Op, []byte(text))
}

// send calls run, which runs uploading with the given standard input and output, and returns what
// uploading prints after the machine.
func (p programs) send(request []byte, run func(in io.Reader, out io.Writer) error) (string, error) {
	in, to := io.Pipe()
	defer to.Close()
	lacking := make(chan error, 1)
	out := &afterLine{line: excerpt.Head{Limit: 100}, rest: excerpt.Tail{Limit: outputLimit}, first: func(machine string) {
		program, err := p.of(machine)
		if err != nil {
			lacking <- err
			to.Close() // which ends the script
			return
		}
		go func() {
			_, _ = io.Copy(to, io.MultiReader(bytes.NewReader(request), bytes.NewReader(program))) // the script says why it ended early
			to.Close()
		}()
	}}
	err := run(in, out)
	select {
	case why := <-lacking:
		return "", why
	default:
		return out.rest.String(), err
	}
}

// of returns the program for a machine, as `uname -m` names it.
func (p programs) of(machine string) ([]byte, error) {
	arch := machine
	switch machine {
	case "":
		return nil, errors.New("the image has no uname, which names the node's processor")
	case "x86_64":
		arch = "amd64"
	case "aarch64":
		arch = "arm64"
	}
	files := install.Programs{}
	for arch := range p {
		files[arch] = arch
	}
	_, err := files.For(arch)
	return p[arch], err
}

// afterLine keeps what is written after the first line, and calls first with that.
type afterLine struct {
	first func(line string)
	line  excerpt.Head
	seen  bool
	rest  excerpt.Tail
}

// Write never fails.
func (a *afterLine) Write(b []byte) (int, error) {
	rest := b
	if !a.seen {
		var head []byte
		head, rest, a.seen = bytes.Cut(b, []byte("\n"))
		_, _ = a.line.Write(head) // a longer line is no machine
		if !a.seen {
			return len(b), nil
		}
		a.first(strings.TrimSpace(a.line.String()))
	}
	_, err := a.rest.Write(rest)
	return len(b), err
}
