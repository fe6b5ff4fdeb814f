//go:build real

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/dockertest"
)

// manyContainers is above what is made and removed several times to be measured.
const manyContainers = 50

// workers is how many containers are made at once for the floor.
const workers = 4

// inContainers is `agentform apply` of sessions in containers, and `agentform plan`
// with nothing to do of them. The floors are the engine's own: the same containers
// created and started by four workers that ask for nothing else, and one list of
// them.
func inContainers(t *testing.T, m *measurement) {
	image, err := dockertest.Build(dockertest.Programs()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dockertest.Remove(image); err != nil {
			t.Error(err)
		}
	})
	p := newRepository(t, m.bin)
	p.destroyed(t)
	e := newEngine()
	t.Cleanup(func() { e.remove(t, image) })
	planned := Plot{Name: "docker-plan", Title: "No-op plan of N live sessions in containers", Unit: Seconds}
	started := Plot{Name: "docker-apply", Title: "Start of N sessions in containers", Unit: Seconds}
	plans, lists := Curve{Name: "agentform plan", Ours: true}, Curve{Name: "a list of the containers"}
	asks := Curve{Name: "docker inspect each"}
	applies, creates := Curve{Name: "agentform apply", Ours: true}, Curve{Name: "create and start, four workers"}
	for _, n := range m.each(5, 20, 50, 200) {
		p.manifest(t, n, fmt.Sprintf(`
runtime "docker" "sandbox" {
  image   = %q
  network = "none"
}
session "s" {
  count   = %d
  agent   = agent.idle
  runtime = runtime.docker.sandbox
  workspace {
    mode = "plain"
  }
}
`, image, n))
		first := p.time(t, "agentform", "apply", "--auto-approve")
		since := time.Now()
		plan := m.turns(7,
			func() time.Duration { return p.time(t, "agentform", "plan", "--detailed-exitcode") },
			func() time.Duration { return e.list(t, image, n) },
			func() time.Duration { return p.time(t, "agentform", "version") })
		execs := e.execs(t, image, since)
		inspected := e.inspectEach(t, p, image)
		noop := Row{
			Work:  fmt.Sprintf("no-op plan, %d live sessions in containers", n),
			Took:  Time(plan[0]),
			Floor: Beside{"a list of the containers", Time(plan[1])},
			Today: Beside{"a docker inspect process each", Time(inspected)},
			Goals: []Goal{
				{Says: "≤ 1 of 3 × floor and the start-up", Got: ratio(plan[0], 3*plan[1]+plan[2]), Bound: 1},
				{Says: "no exec at all", Got: float64(execs), Bound: 0.5},
			},
			Shown: n == 50,
		}
		if m.full && len(noop.Short()) > 0 {
			noop.Missed = "What the floor has not is to ask each container's first process over its socket, which alone knows whether the agent in it lives. " + p.profile(t, 50, "plan")
		}
		var apply []time.Duration
		if n > manyContainers { // once: an engine takes minutes for them
			apply = []time.Duration{first, e.make(t, image, n)}
			e.remove(t, image)
			p.run(t, "agentform", "destroy", "--auto-approve")
		} else {
			p.run(t, "agentform", "destroy", "--auto-approve")
			apply = m.turns(3,
				func() time.Duration { return p.time(t, "agentform", "apply", "--auto-approve") },
				func() time.Duration { return e.make(t, image, n) },
				func() time.Duration {
					e.remove(t, image)
					p.run(t, "agentform", "destroy", "--auto-approve")
					return 1
				})
		}
		made := Row{
			Work:  fmt.Sprintf("apply, %d sessions in containers", n),
			Took:  Time(apply[0]),
			Floor: Beside{"create and start of the same, four workers", Time(apply[1])},
			Goals: []Goal{{Says: "≤ 1.2 × floor", Got: ratio(apply[0], apply[1]), Bound: 1.2}},
			Shown: n == 50,
		}
		if m.full && len(made.Short()) > 0 && n <= manyContainers {
			made.Missed = p.profile(t, 1, "apply", "--auto-approve")
			p.run(t, "agentform", "destroy", "--auto-approve")
		}
		m.add(noop)
		m.add(made)
		plans.Add(n, plan[0].Seconds())
		lists.Add(n, plan[1].Seconds())
		asks.Add(n, inspected.Seconds())
		applies.Add(n, apply[0].Seconds())
		creates.Add(n, apply[1].Seconds())
	}
	planned.Curves = []Curve{plans, lists, asks}
	started.Curves = []Curve{applies, creates}
	m.plots = append(m.plots, planned, started)
}

// bareEngine is the Docker engine, asked over its socket for as little as can be.
type bareEngine struct{ http.Client }

func newEngine() *bareEngine {
	path := strings.TrimPrefix(os.Getenv("DOCKER_HOST"), "unix://")
	if path == "" {
		path = "/var/run/docker.sock"
	}
	return &bareEngine{http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		},
		MaxIdleConnsPerHost: workers,
	}}}
}

// ask returns the body of an answer that has to be a good one.
func (e *bareEngine) ask(method, path string, body []byte) ([]byte, error) {
	q, err := http.NewRequest(method, "http://engine"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	r, err := e.Do(q)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, r.Status, text)
	}
	return text, err
}

// with are the containers that a filter finds, running or not.
func (e *bareEngine) with(t *testing.T, filter, value string) (ids []string) {
	t.Helper()
	filters, err := json.Marshal(map[string][]string{filter: {value}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.ask("GET", "/containers/json?all=1&filters="+url.QueryEscape(string(filters)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var found []struct{ ID string }
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	for _, c := range found {
		ids = append(ids, c.ID)
	}
	return ids
}

// list is how long it takes to list the containers of an image.
func (e *bareEngine) list(t *testing.T, image string, want int) time.Duration {
	t.Helper()
	began := time.Now()
	if got := e.with(t, "ancestor", image); len(got) != want {
		t.Fatalf("%d containers, want %d", len(got), want)
	}
	return time.Since(began)
}

// execs is how often something was executed in the containers of an image since then.
func (e *bareEngine) execs(t *testing.T, image string, since time.Time) int {
	t.Helper()
	filters, err := json.Marshal(map[string][]string{"type": {"container"}, "image": {image}, "event": {"exec_create"}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.ask("GET", fmt.Sprintf("/events?since=%d&until=%d&filters=%s", since.Unix(), time.Now().Unix(), url.QueryEscape(string(filters))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("\n"))
}

// inspectEach is how long it takes to ask about each container as scripts do: with a
// process of its own.
func (e *bareEngine) inspectEach(t *testing.T, p project, image string) time.Duration {
	t.Helper()
	ids := e.with(t, "ancestor", image)
	some := ids[:min(len(ids), sampled)]
	began := time.Now()
	for _, id := range some {
		p.run(t, "docker", "inspect", id)
	}
	return time.Since(began) * time.Duration(len(ids)) / time.Duration(len(some))
}

// like is a container like those of an image, with a program of the image in it. What
// they have mounted is there as long as they are.
func (e *bareEngine) like(t *testing.T, image string) []byte {
	t.Helper()
	text, err := e.ask("GET", "/containers/"+e.with(t, "ancestor", image)[0]+"/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	var one struct{ Config, HostConfig map[string]any }
	if err := json.Unmarshal(text, &one); err != nil {
		t.Fatal(err)
	}
	body := one.Config
	body["Entrypoint"], body["Cmd"] = []string{"sleep", "100000"}, nil
	body["Labels"], body["HostConfig"] = map[string]string{bareLabel: image}, one.HostConfig
	text, err = json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// bareLabel is on the containers that are not agentform's, with their image.
const bareLabel = "agentform-bench"

// make is how long it takes to create and start so many containers like agentform's.
func (e *bareEngine) make(t *testing.T, image string, n int) time.Duration {
	t.Helper()
	body := e.like(t, image)
	began := time.Now()
	e.each(t, make([]string, n), func(string) error {
		text, err := e.ask("POST", "/containers/create", body)
		if err != nil {
			return err
		}
		var made struct{ ID string }
		if err := json.Unmarshal(text, &made); err != nil {
			return err
		}
		_, err = e.ask("POST", "/containers/"+made.ID+"/start", nil)
		return err
	})
	return time.Since(began)
}

// remove removes what make made.
func (e *bareEngine) remove(t *testing.T, image string) {
	t.Helper()
	e.each(t, e.with(t, "label", bareLabel+"="+image), func(id string) error {
		_, err := e.ask("DELETE", "/containers/"+id+"?force=1", nil)
		return err
	})
}

// each does it for each of the containers, a few at once.
func (e *bareEngine) each(t *testing.T, ids []string, do func(id string) error) {
	t.Helper()
	todo := make(chan string)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for id := range todo {
				if err := do(id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, id := range ids {
		todo <- id
	}
	close(todo)
	all.Wait()
}
