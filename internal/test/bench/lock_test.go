//go:build real

package bench

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/agentform/agentform/internal/test/wait"
)

// lockLeft is what an apply to a shared state costs when the process that had its lock was killed on this
// machine. The lock of S3 is valid for a minute without a renewal.
func lockLeft(t *testing.T, m *measurement) {
	memory := s3mem.New()
	if err := memory.CreateBucket("team"); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(gofakes3.New(memory).Server())
	t.Cleanup(s.Close)
	p := newRepository(t, m.bin)
	p.env = append(p.env, "AGENTFORM_S3_ENDPOINT="+s.URL, "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret")
	held := p.beside("held")
	p.write(t, "agentform.hcl", fmt.Sprintf(`
agentform {
  backend "s3" {
    bucket         = "team"
    key            = "shop.json"
    use_path_style = true
  }
}

variable "n" {
  default = "0"
}

agent "idle" {
  command    = ["sleep", "100000"]
  prompt_via = "none"
}

session "changes" {
  agent  = agent.idle
  branch = "agents/changes"
  labels = { n = var.n }
}

session "holds" {
  agent  = agent.idle
  branch = "agents/holds"

  workspace {
    setup = ["sh", "-c", "echo $$ >%s; exec sleep 1000"]
  }
}
`, held))
	p.run(t, "agentform", "apply", "--auto-approve", "--target", "session.changes")
	t.Cleanup(func() { p.run(t, "agentform", "destroy", "--auto-approve") })
	n := 0
	change := func() time.Duration {
		n++
		return p.time(t, "agentform", "apply", "--auto-approve", "--target", "session.changes", "--var", fmt.Sprint("n=", n))
	}
	took := m.turns(5, func() time.Duration {
		holder := p.command("agentform", "apply", "--auto-approve", "--target", "session.holds")
		if err := holder.Start(); err != nil {
			t.Fatal(err)
		}
		setup := 0
		wait.For(t, "the setup runs, under the lock", func() (any, bool) {
			text, err := os.ReadFile(held)
			setup, _ = strconv.Atoi(strings.TrimSpace(string(text)))
			return err, setup > 0
		})
		if err := errors.Join(holder.Process.Kill(), syscall.Kill(setup, syscall.SIGKILL)); err != nil {
			t.Fatal(err)
		}
		_ = holder.Wait() // it was killed
		if err := os.Remove(held); err != nil {
			t.Fatal(err)
		}
		return change()
	}, change)
	m.add(Row{
		Work:  "apply to a shared state whose lock a process had that was killed on this machine",
		Took:  Time(took[0]),
		Floor: Beside{"the same with a lock that is free", Time(took[1])},
		Goals: []Goal{{Says: "≤ floor + 1 s", Got: ratio(took[0], took[1]+time.Second), Bound: 1}},
		Shown: true,
	})
}
