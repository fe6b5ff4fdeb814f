package bench

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentform/agentform/docker/dockertest"
	"github.com/agentform/agentform/state"
)

// workers is how many containers are made at the same time: an engine gets no faster
// with more.
const workers = 4

// containers is `agentform apply` and `agentform plan` of sessions in containers. The
// floor is what the engine's API takes for the same: to make and start as many
// containers of the same image, and to list them once. BENCH_FULL makes it 200 at last.
func containers(t *testing.T, m *measurement) {
	image, err := dockertest.Build(dockertest.Programs()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dockertest.Remove(image); err != nil {
			t.Error(err)
		}
	})
	p, d := newRepository(t, m.bin), newEngine(t)
	p.env = append(p.env, "DOCKER_HOST="+os.Getenv("DOCKER_HOST"))
	p.destroyed(t)
	started := Plot{Name: "containers", Title: "Start of N sessions in containers", Unit: Seconds}
	looked := Plot{Name: "containers-plan", Title: "No-op plan of N sessions in containers", Unit: Seconds}
	applies, creates := Curve{Name: "agentform apply", Ours: true}, Curve{Name: "create and start, 4 at a time"}
	plans, lists, execs := Curve{Name: "agentform plan", Ours: true}, Curve{Name: "one list of containers"}, Curve{Name: "docker exec each"}
	sizes := []int{5, 50}
	if os.Getenv("BENCH_FULL") != "" {
		sizes = append(sizes, 200)
	}
	for _, n := range m.each(sizes...) {
		p.manifest(t, n, fmt.Sprintf(`
runtime "docker" "box" {
  image   = %q
  network = "none"
}
session "s" {
  count   = %d
  agent   = agent.idle
  runtime = runtime.docker.box
  workspace {
    mode = "plain"
  }
}
`, image, n))
		took := m.turns(1,
			func() time.Duration { return p.time(t, "agentform", "apply", "--auto-approve", "--parallelism", fmt.Sprint(2*workers)) },
			func() time.Duration { return d.bare(t, image, n) })
		apply, create := took[0], took[1]
		lineage, err := state.Lineage(filepath.Join(p.dir, ".agentform", "state.json"))
		if err != nil {
			t.Fatal(err)
		}
		since := time.Now()
		took = m.turns(7,
			func() time.Duration { return p.time(t, "agentform", "plan", "--detailed-exitcode") },
			func() time.Duration { return d.list(t, lineage, n) },
			func() time.Duration { return p.time(t, "agentform", "version") })
		plan, list, start := took[0], took[1], took[2]
		execed := d.execs(t, lineage, since)
		each := d.exec(t, p, lineage, n)
		m.add(Row{
			Work:  fmt.Sprintf("apply, %d containers", n),
			Took:  Time(apply),
			Floor: Beside{"create and start, 4 at a time", Time(create)},
			Goals: []Goal{{Says: "≤ 1.2 × floor", Got: ratio(apply, create), Bound: 1.2}},
		})
		m.add(Row{
			Work:  fmt.Sprintf("no-op plan, %d containers", n),
			Took:  Time(plan),
			Floor: Beside{"one list of containers", Time(list)},
			Today: Beside{"a docker exec each", Time(each)},
			Goals: []Goal{
				{Says: "≤ 1 of 3 × floor and the start-up", Got: ratio(plan, 3*list+start), Bound: 1},
				{Says: "no exec", Got: float64(execed), Bound: 0.5},
			},
		})
		applies.Add(n, apply.Seconds())
		creates.Add(n, create.Seconds())
		plans.Add(n, plan.Seconds())
		lists.Add(n, list.Seconds())
		execs.Add(n, each.Seconds())
		p.run(t, "agentform", "destroy", "--auto-approve")
	}
	started.Curves = []Curve{applies, creates}
	looked.Curves = []Curve{plans, lists, execs}
	m.plots = append(m.plots, started, looked)
}

// bare is how long the engine takes to make and start so many containers of a sleep.
func (d engine) bare(t *testing.T, image string, n int) time.Duration {
	t.Helper()
	made := func(i int) string { return fmt.Sprintf("afb%d-%d", os.Getpid(), i) }
	defer d.inParallel(n, func(i int) { d.call(t, "DELETE", "/containers/"+made(i)+"?force=1", nil, nil) })
	began := time.Now()
	d.inParallel(n, func(i int) {
		d.call(t, "POST", "/containers/create?name="+made(i), map[string]any{
			"Image": image, "Cmd": []string{"sleep", "100000"}, "HostConfig": map[string]any{"NetworkMode": "none"},
		}, nil)
		d.call(t, "POST", "/containers/"+made(i)+"/start", nil, nil)
	})
	return time.Since(began)
}

func (d engine) inParallel(n int, work func(int)) {
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < n; i += workers {
				work(i)
			}
		})
	}
	all.Wait()
}

// list is how long one list of the containers of that lineage takes.
func (d engine) list(t *testing.T, lineage string, want int) time.Duration {
	t.Helper()
	began := time.Now()
	if found := d.of(t, lineage); len(found) != want {
		t.Fatalf("%d containers, want %d", len(found), want)
	}
	return time.Since(began)
}

// of are the ids of the containers of that lineage.
func (d engine) of(t *testing.T, lineage string) []string {
	t.Helper()
	var found []struct{ ID string }
	d.call(t, "GET", "/containers/json?all=1&filters="+filter("label", "agentform.project="+lineage), nil, &found)
	ids := make([]string, len(found))
	for i, f := range found {
		ids[i] = f.ID
	}
	return ids
}

// exec is how long it takes to look into as many containers with a docker exec each.
func (d engine) exec(t *testing.T, p project, lineage string, n int) time.Duration {
	t.Helper()
	some := min(n, sampled)
	began := time.Now()
	for _, id := range d.of(t, lineage)[:some] {
		p.run(t, "docker", "exec", id, "ps")
	}
	return time.Since(began) * time.Duration(n) / time.Duration(some)
}

// execs is how often something was executed in the containers of that lineage since then.
func (d engine) execs(t *testing.T, lineage string, since time.Time) int {
	t.Helper()
	text := d.call(t, "GET", fmt.Sprintf("/events?since=%d&until=%d&filters=%s", since.Unix(), time.Now().Unix()+1, filter("type", "container")), nil, nil)
	count := 0
	for line := range strings.Lines(text) {
		var e struct {
			Action string
			Actor  struct{ Attributes map[string]string }
		}
		if json.Unmarshal([]byte(line), &e) == nil && strings.HasPrefix(e.Action, "exec_create") && e.Actor.Attributes["agentform.project"] == lineage {
			count++
		}
	}
	return count
}

func filter(key, value string) string {
	text, _ := json.Marshal(map[string][]string{key: {value}}) // strings cannot fail
	return url.QueryEscape(string(text))
}
