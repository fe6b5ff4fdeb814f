package dockertest

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Programs returns what a session needs in a container, and what tests type into one.
func Programs() []string {
	return []string{"bash", "sh", "ln", "tmux", "git", "env", "cat", "ls", "id", "sleep", "stty", "mkdir", "rm", "rmdir", "mv", "chmod", "dirname", "basename", "cp", "find", "touch", "head", "tail", "sed", "ps", "uname"}
}

// Build builds an image with programs of this machine, the libraries that they are linked
// with, and the terminfo of tmux, and returns its name, which is new. It takes about a
// second. Call Remove to remove the image.
func Build(programs ...string) (name string, err error) {
	text, err := Layer(programs...)
	if err != nil {
		return "", fmt.Errorf("build an image: %w", err)
	}
	b := make([]byte, 6)
	rand.Read(b) // never fails
	name = "agentform-test:" + hex.EncodeToString(b)
	if _, err := Docker(text, "import", "--change", "ENV "+strings.Join(Variables, " "), "-", name); err != nil {
		return "", fmt.Errorf("build an image: %w", err)
	}
	return name, nil
}

// Variables are the environment of such an image.
var Variables = []string{"LANG=C.UTF-8", "IMAGE=yes"}

// Remove removes an image, of which no container may be left.
func Remove(image string) error {
	_, err := Docker(nil, "rmi", image)
	return err
}

// Docker runs the docker command and returns its output without the last line break. The
// error contains its standard error.
func Docker(stdin []byte, args ...string) (string, error) {
	c := exec.Command("docker", args...)
	c.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// Layer returns the files of such an image as a tar archive.
func Layer(programs ...string) ([]byte, error) {
	var b bytes.Buffer
	w := writer{tar: tar.NewWriter(&b), made: map[string]bool{}}
	// The paths of libraries contain these links.
	for _, link := range []string{"bin", "sbin", "lib", "lib32", "lib64"} {
		if to, err := os.Readlink("/" + link); err == nil {
			w.write(&tar.Header{Typeflag: tar.TypeSymlink, Name: link, Linkname: to, Mode: 0o777}, nil)
		}
	}
	for _, dir := range []string{"etc", "proc", "sys", "dev", "root", "usr", "var"} {
		w.folder(dir)
	}
	w.write(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}, nil)
	w.text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
	w.text("etc/group", "root:x:0:\n")
	for _, program := range programs {
		if err := w.program(program); err != nil {
			return nil, err
		}
	}
	for _, terminal := range []string{"s/screen", "s/screen-256color", "t/tmux", "t/tmux-256color", "x/xterm", "x/xterm-256color"} {
		for _, base := range []string{"/lib/terminfo", "/usr/share/terminfo"} {
			if err := w.file(filepath.Join(base, terminal), 0o644); err != nil && !os.IsNotExist(err) {
				return nil, err
			}
		}
	}
	if err := w.locale(); err != nil {
		return nil, err
	}
	if err := w.tar.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), w.err
}

// locale writes the locale that tmux needs to start.
func (w *writer) locale() error {
	for _, base := range []string{"/usr/lib/locale/C.utf8", "/usr/lib/locale/C.UTF-8"} {
		err := filepath.WalkDir(base, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			return w.file(path, 0o644)
		})
		if err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// writer writes each path once.
type writer struct {
	tar  *tar.Writer
	made map[string]bool
	err  error // the first one
}

func (w *writer) write(h *tar.Header, text []byte) {
	if w.err != nil || w.made[h.Name] {
		return
	}
	w.made[h.Name] = true
	h.Size = int64(len(text))
	if w.err = w.tar.WriteHeader(h); w.err == nil {
		_, w.err = w.tar.Write(text)
	}
}

// directory writes a directory and its parents.
func (w *writer) folder(name string) {
	if name == "." {
		return
	}
	w.folder(filepath.Dir(name))
	w.write(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755}, nil)
}

func (w *writer) text(name, text string) {
	w.write(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644}, []byte(text))
}

// file writes a file of this machine at the same path.
func (w *writer) file(path string, mode int64) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path)) // links to directories are in the image
	if err != nil {
		return err
	}
	dir = strings.TrimPrefix(dir, "/")
	w.folder(dir)
	w.write(&tar.Header{Typeflag: tar.TypeReg, Name: filepath.Join(dir, filepath.Base(path)), Mode: mode}, text)
	return nil
}

// library matches a path in the output of ldd.
var library = regexp.MustCompile(`(?m)(?:=> |^\s+)(/\S+)`)

// program writes a program and its libraries.
func (w *writer) program(name string) error {
	path, err := exec.LookPath(name)
	if err != nil {
		return err
	}
	printed, err := exec.Command("ldd", path).CombinedOutput()
	if err != nil && !strings.Contains(string(printed), "not a dynamic") {
		return fmt.Errorf("ldd %s: %w: %s", path, err, printed)
	}
	files := []string{path}
	for _, found := range library.FindAllStringSubmatch(string(printed), -1) {
		files = append(files, found[1])
	}
	for _, f := range slices.Compact(files) {
		if err := w.file(f, 0o755); err != nil {
			return err
		}
	}
	return nil
}
