//go:build real

package git

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// A signal that comes between is no reason to give up: the network file systems of some
// kernels return it.
func TestHoldInterrupted(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	repo := newRepo(t)
	c := exec.Command("strace", "-f", "-qq", "-o", os.DevNull, "-e", "trace=flock", "-e", "inject=flock:error=EINTR:when=1..2", os.Args[0])
	c.Env = append(os.Environ(), holdVariable+"="+filepath.Join(repo, ".git"))
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Errorf("the process that locks says %q, %v", line, err)
	}
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // it may have ended
	_ = c.Wait()
}
