package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// compose is how long process-compose takes until so many `sleep` run. It is 0 where
// process-compose is neither in the PATH nor in bin/.
func (p project) compose(t *testing.T, n int) time.Duration {
	t.Helper()
	program, err := exec.LookPath("process-compose")
	if err != nil {
		if program, err = filepath.Abs("../../bin/process-compose"); err != nil || !isFile(program) {
			return 0
		}
	}
	var text strings.Builder
	text.WriteString("version: \"0.5\"\nprocesses:\n")
	for i := range n {
		fmt.Fprintf(&text, "  s%d:\n    command: exec sleep 100000\n", i)
	}
	p.write(t, "process-compose.yaml", text.String())
	socket := p.beside("compose")
	c := p.command(program, "-f", "process-compose.yaml", "-t=false", "-U", "-u", socket, "-L", p.beside("compose.log"), "up")
	// It ends its processes itself, and what outlives it goes with its group.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	began := time.Now()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	}()
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	for end := began.Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if running(&client) == n {
			return time.Since(began)
		}
	}
	t.Fatalf("process-compose does not run %d processes within two minutes", n)
	return 0
}

// running is how many processes process-compose runs.
func running(client *http.Client) int {
	answer, err := client.Get("http://process-compose/processes")
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	var all struct {
		Data []struct {
			Running bool `json:"is_running"`
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&all); err != nil {
		return 0
	}
	count := 0
	for _, one := range all.Data {
		if one.Running {
			count++
		}
	}
	return count
}
