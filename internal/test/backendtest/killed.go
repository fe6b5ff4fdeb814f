package backendtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/backend"
)

// killsVariable holds how many writers the suite kills, 30 if it is not set.
const killsVariable = "AGENTFORM_KILLS"

// workerVariable tells a test binary that it is a writer to be killed.
const workerVariable = "AGENTFORM_BACKENDTEST_WORKER"

// worker says what a writer writes to.
type worker struct{ Address, Project, Name string }

// Main runs the tests, or a writer if a test has started this process as one.
func (s Suite) Main(m *testing.M) {
	text, is := os.LookupEnv(workerVariable)
	if !is {
		os.Exit(m.Run())
	}
	var w worker
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	random.seed(w.Name)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // it ends with the test
		os.Exit(0)
	}()
	b, err := s.Open(w.Address, w.Project, short)
	for n := 0; err == nil; n++ {
		line := fmt.Sprint(w.Name, "-", n)
		err = addLine(context.Background(), b, w.Name, line, func() { time.Sleep(jitter(10 * time.Millisecond)) })
		if _, lost := errors.AsType[*backend.LostError](err); lost {
			fmt.Println("lost", line)
			err = nil
		} else if err == nil {
			fmt.Println("wrote", line)
		}
	}
	fmt.Println("error", err)
	os.Exit(1)
}

// report is a line that a worker printed.
type report struct {
	worker, what, line string
	at                 time.Time
}

// crew are the workers that run.
type crew struct {
	store
	started int
	running map[string]*exec.Cmd
	reports chan report
	readers sync.WaitGroup
}

func (c *crew) start(t *testing.T) {
	t.Helper()
	c.started++
	name := fmt.Sprint("worker", c.started)
	text, err := json.Marshal(worker{c.address, c.project, name})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.running[name] = cmd
	c.readers.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			what, line, _ := strings.Cut(lines.Text(), " ")
			c.reports <- report{name, what, line, time.Now()}
		}
	})
}

func (c *crew) kill(name string) {
	cmd := c.running[name]
	delete(c.running, name)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// killed ends writers by kill -9 at random moments, while two others write: each line that a
// writer reported is in the state once, no line is there twice, and nobody waits for longer
// than a lease.
func killed(t *testing.T, s store) {
	kills := 30
	if text := os.Getenv(killsVariable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(killsVariable, err)
		}
		kills = n
	}
	c := &crew{store: s, running: map[string]*exec.Cmd{}, reports: make(chan report, 1<<20)}
	defer func() {
		for name := range c.running {
			c.kill(name)
		}
		c.readers.Wait()
	}()
	for range 3 {
		c.start(t)
	}
	wrote, lost := map[string]bool{}, 0
	var longest time.Duration
	for n := range kills {
		for victims := time.After(jitter(300 * time.Millisecond)); ; {
			var done bool
			select {
			case r := <-c.reports:
				count(t, r, wrote, &lost)
			case <-victims:
				done = true
			}
			if done {
				break
			}
		}
		for name := range c.running { // a random one
			c.kill(name)
			break
		}
		at := time.Now()
		c.start(t)
		waited := c.progress(t, at, wrote, &lost)
		if longest = max(longest, waited); waited > short+slack {
			t.Fatalf("nobody wrote for %v after kill %d", waited, n+1)
		}
	}
	for name := range c.running {
		c.kill(name)
	}
	c.readers.Wait()
	close(c.reports)
	for r := range c.reports {
		count(t, r, wrote, &lost)
	}
	text, _, err := s.open(t).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d, err := parse(text)
	if err != nil || d.Serial != len(d.Lines) {
		t.Fatalf("serial %d of %d lines, %v", d.Serial, len(d.Lines), err)
	}
	written := wantOnce(t, d.Lines)
	for line := range wrote {
		if !written[line] {
			t.Errorf("%q was written, and is not in the state", line)
		}
	}
	t.Logf("%d kills, %d lines, %d reported, %d locks lost, longest wait %v", kills, len(d.Lines), len(wrote), lost, longest.Round(time.Millisecond))
}

func count(t *testing.T, r report, wrote map[string]bool, lost *int) {
	t.Helper()
	switch r.what {
	case "wrote":
		wrote[r.line] = true
	case "lost":
		*lost++
	default:
		t.Fatalf("%s: %s %s", r.worker, r.what, r.line)
	}
}

// progress waits until a worker that runs writes after a time, and returns how long that
// took. Locks that do not expire are released by force, once their holders are dead.
func (c *crew) progress(t *testing.T, from time.Time, wrote map[string]bool, lost *int) time.Duration {
	t.Helper()
	for {
		select {
		case r := <-c.reports:
			count(t, r, wrote, lost)
			if c.running[r.worker] != nil && r.what == "wrote" && r.at.After(from) {
				return r.at.Sub(from)
			}
		case <-time.After(200 * time.Millisecond):
			if time.Since(from) > 2*(short+slack) {
				return time.Since(from)
			}
			if c.Expires || c.Local {
				continue
			}
			b := c.open(t)
			if i, err := b.Holder(t.Context()); err == nil && c.running[i.Who] == nil && strings.HasPrefix(i.Who, "worker") {
				mustUnlock(t, b, i)
			}
		}
	}
}

// random draws the same numbers in each run, others in each worker.
var random = &source{r: rand.New(rand.NewPCG(1, 0))}

type source struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (s *source) seed(worker string) {
	n, _ := strconv.ParseUint(strings.TrimPrefix(worker, "worker"), 10, 64)
	s.r = rand.New(rand.NewPCG(1, n))
}

// jitter returns a random part of d.
func jitter(d time.Duration) time.Duration {
	random.mu.Lock()
	defer random.mu.Unlock()
	return time.Duration(random.r.Int64N(int64(d)))
}
