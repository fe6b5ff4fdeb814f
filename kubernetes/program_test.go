package kubernetes

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/install"
	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/session"
)

// machine returns an environment in which uname prints a machine, or is missing, and a directory
// for more programs.
func machine(t *testing.T, name string) (env []string, bin string) {
	t.Helper()
	bin = t.TempDir()
	text := "#!/bin/sh\n[ \"$*\" = -m ] && echo '" + name + "'\n"
	if name == "" {
		text = "#!/bin/sh\nexit 127\n"
	}
	executable.Write(t, filepath.Join(bin, "uname"), []byte(text), 0o755)
	return append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH")), bin
}

// TestUploading checks that a volume gets the program for the node's machine, also after one for
// another, and what the error says if there is none.
func TestUploading(t *testing.T) {
	script := func(arch string) []byte {
		return []byte("#!/bin/sh\nIFS= read -r request\necho \"" + arch + ": $1 $2 $request\"\n")
	}
	both, one := programs{"amd64": script("amd64"), "arm64": script("arm64")}, programs{"amd64": script("amd64")}
	dir := t.TempDir()
	program, socket := filepath.Join(dir, "bin", "shim-1"), filepath.Join(dir, "s")
	s, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		defer syscall.Close(s)
		err = syscall.Bind(s, &syscall.SockaddrUnix{Name: socket})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		all        programs
		machine    string
		arch, lack string
	}{
		{both, "x86_64", "amd64", ""},
		{both, "aarch64", "arm64", ""},
		{one, "x86_64", "amd64", ""},
		{one, "aarch64", "", "agentform-shim for linux/arm64 is not next to agentform: it is in the release archives"},
		{both, "riscv64", "", "there is no agentform-shim for linux/riscv64: it is made for linux/amd64 and linux/arm64"},
		{both, "", "", "the image has no uname, which names the node's processor"},
		{both, strings.Repeat("x86_64", 100), "", "there is no agentform-shim for linux/x86_64x86_64"},
	} {
		env, _ := machine(t, test.machine)
		before, _ := os.ReadFile(program)
		said, err := test.all.send([]byte("a request\n"), func(in io.Reader, out io.Writer) error {
			c := exec.Command("sh", "-c", uploading, "sh", program, socket, filepath.Dir(program), filepath.Join(dir, "runs"))
			c.Env = append(env, "HOME="+filepath.Join(dir, "home"))
			c.Stdin, c.Stdout = in, out
			return c.Run()
		})
		after, _ := os.ReadFile(program)
		if test.lack != "" {
			if err == nil || !strings.HasPrefix(err.Error(), test.lack) || string(after) != string(before) {
				t.Errorf("%.20q: %v; want %q", test.machine, err, test.lack)
			}
			continue
		}
		if want := test.arch + ": " + shim.RelayMode + " " + socket + " a request\n"; said != want || err != nil {
			t.Errorf("%s: it said %q, %v; want %q", test.machine, said, err, want)
		}
		if string(after) != string(test.all[test.arch]) {
			t.Errorf("%s: the program is %q", test.machine, after)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
		if want := []string{program, program + "-" + test.machine}; !reflect.DeepEqual(files, want) {
			t.Errorf("%s: files %q, want %q", test.machine, files, want)
		}
	}
	failed := errors.New("no sh")
	if _, err := both.send([]byte("a request\n"), func(io.Reader, io.Writer) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("nothing was executed: %v", err)
	}
}

// TestWaitForProgram checks that a pod executes the program that is on its volume, unless that is for
// another machine: then it waits for its own.
func TestWaitForProgram(t *testing.T) {
	for name, test := range map[string]struct {
		there, want string
	}{
		"an empty volume":                     {"", "new a b\n"},
		"a program for this machine":          {"x86_64", "old a b\n"},
		"a program for another machine":       {"aarch64", "new a b\n"},
		"a program for a machine of old name": {"x86", "new a b\n"},
	} {
		env, bin := machine(t, "x86_64")
		program := filepath.Join(t.TempDir(), "shim-1")
		// What the pod waits for arrives while it sleeps.
		executable.Write(t, filepath.Join(bin, "new"), []byte("#!/bin/sh\necho new $*\n"), 0o755)
		executable.Write(t, filepath.Join(bin, "sleep"), []byte("#!/bin/sh\nmv "+bin+"/new "+program+"\n"), 0o755)
		if test.there != "" {
			executable.Write(t, program, []byte("#!/bin/sh\necho old $*\n"), 0o755)
			executable.Write(t, program+"-"+test.there, nil, 0o600)
		}
		c := exec.Command("sh", "-c", waitForProgram, "sh", program, "a", "b")
		c.Env = env
		if out, err := c.CombinedOutput(); string(out) != test.want || err != nil {
			t.Errorf("%s: %q, %v; want %q", name, out, err, test.want)
		}
	}
}

// TestNodes checks which nodes a session's pod, its check and its commands can be on, and that what
// another machine has next to its agentform is no edit.
func TestNodes(t *testing.T) {
	linux := object{"kubernetes.io/os": "linux"}
	for name, test := range map[string]struct {
		shims    map[string]string
		selector map[string]string
		want     object
	}{
		"both":                    {map[string]string{"amd64": "/p/bin/shim-1", "arm64": "/p/bin/shim-2"}, nil, linux},
		"one":                     {map[string]string{"arm64": "/p/bin/shim-2"}, nil, object{"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64"}},
		"both, the manifest says": {map[string]string{"amd64": "/p/bin/shim-1", "arm64": "/p/bin/shim-2"}, map[string]string{"kubernetes.io/arch": "amd64"}, object{"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			a, c := newAPI(t)
			r := c.runtime(Config{DataDir: "/p", Lineage: "lineage", Shims: test.shims})
			m := asMadeWith(t, func(s *session.Spec) { s.Runtime.Kubernetes.NodeSelector = test.selector }, func(*record, object) {})
			l := session.Launch{Mark: m.record.Mark, Name: "shop-a", Dir: m.record.Spec.Workspace.Path, Spec: *m.record.Spec}
			selector := func(path string, in ...string) any {
				a.mu.Lock()
				defer a.mu.Unlock()
				o := a.objects[path]
				for _, name := range in {
					o, _ = o[name].(object)
				}
				return o["nodeSelector"]
			}
			if err := r.Check(t.Context(), l.Spec, nil); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				_, err := r.podWith(ctx, c, l.Mark, l.Spec, l.Dir)
				ended <- err
			}()
			synctest.Wait() // it waits for a node
			if got := selector("pods/"+oneOff(r.config.claimOf(l.Dir)), "spec"); !reflect.DeepEqual(got, test.want) {
				t.Errorf("%s: commands run on %v, want %v", name, got, test.want)
			}
			stop()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
			at, err := r.place(t.Context(), l, func(target, newPlace) error { return nil })
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, set := range a.names("statefulsets") {
				if got := selector("statefulsets/"+set, "spec", "template", "spec"); !reflect.DeepEqual(got, test.want) {
					t.Errorf("%s: %s is on %v, want %v", name, set, got, test.want)
				}
			}
			a.change("statefulsets/shop-a", object{"spec": object{"replicas": 2}})
			for other, shims := range map[string]map[string]string{"a reader": nil, "another": {"amd64": "/q/bin/shim-9"}} {
				found, err := c.runtime(Config{DataDir: "/q", Lineage: "lineage", Shims: shims}).target(t.Context(), at)
				if err != nil {
					t.Fatalf("%s, %s: %v", name, other, err)
				}
				lost, err := found.runtime.config.lostRecord(found.set)
				if err != nil {
					t.Fatalf("%s, %s: %v", name, other, err)
				}
				lost.Spec = found.record.Spec
				for what, k := range map[string]record{"its record": found.record, "a lost record": lost} {
					edits, err := made{found.runtime.config, found.set, k}.edits(session.Lifecycle{})
					at := func(part string) bool {
						return slices.ContainsFunc(edits, func(e session.Edit) bool { return strings.Contains(e.Field, part) })
					}
					if err != nil || !at(".replicas") || at("nodeSelector") {
						t.Errorf("%s, %s, %s: edits %+v, %v", name, other, what, edits, err)
					}
				}
			}
		})
	}
}

// TestReadPrograms checks which files are refused, and that the error names them.
func TestReadPrograms(t *testing.T) {
	dir := t.TempDir()
	header := func(machine byte) []byte {
		b := make([]byte, 64)
		copy(b, "\x7fELF\x02\x01\x01")
		b[16], b[18], b[20], b[52], b[54], b[58] = 2, machine, 1, 64, 56, 64
		return b
	}
	files := map[string]string{}
	for name, text := range map[string][]byte{"x86": header(62), "arm": header(183), "mac": []byte("\xcf\xfa\xed\xfe")} {
		files[name] = filepath.Join(dir, name)
		if err := os.WriteFile(files[name], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		files install.Programs
		want  string
	}{
		"both":           {install.Programs{"amd64": files["x86"], "arm64": files["arm"]}, ""},
		"another Linux":  {install.Programs{"riscv64": files["x86"]}, ""},
		"none":           {nil, "agentform-shim for Linux is not next to agentform: it is in the release archives"},
		"mixed up":       {install.Programs{"amd64": files["arm"]}, files["arm"] + " cannot run in a pod: it is for another processor (EM_AARCH64) than amd64"},
		"not for Linux":  {install.Programs{"arm64": files["mac"]}, files["mac"] + " cannot run in a pod: it is not a program for Linux"},
		"a lost program": {install.Programs{"arm64": dir + "/gone"}, dir + "/gone"},
	} {
		all, err := readPrograms(test.files)
		if test.want == "" {
			if err != nil || len(all) != len(test.files) {
				t.Errorf("%s: %d programs, %v", name, len(all), err)
			}
		} else if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v; want %q", name, err, test.want)
		}
	}
}
