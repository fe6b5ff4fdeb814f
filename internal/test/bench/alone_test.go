//go:build real

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// planAlone is `agentform plan` of a manifest of which nothing is live or on record
// yet: evaluating, deciding and printing, with next to nothing to look at. Beside it
// is `terraform plan` of as many terraform_data, written out and by for_each as well.
func planAlone(t *testing.T, m *measurement) {
	p := newRepository(t, m.bin)
	speed := Plot{Name: "manifest", Title: "Plan of N sessions to create", Unit: Seconds}
	space := Plot{Name: "memory", Title: "Memory of that plan", Unit: Bytes}
	curves := map[string]*[2]Curve{}
	for _, name := range []string{"written out", "for_each", "terraform, written out", "terraform, for_each"} {
		c := Curve{Name: name, Ours: !strings.HasPrefix(name, "terraform")}
		curves[name] = &[2]Curve{c, c}
	}
	_, err := exec.LookPath("terraform")
	terraform := m.full && err == nil
	if m.full && !terraform {
		m.leftOut("`terraform plan`, which is not installed")
	}
	for _, n := range m.each(1000, 2000, 5000) {
		written, each := p.folder(t, fmt.Sprint("written", n)), p.folder(t, fmt.Sprint("each", n))
		written.manifest(t, n, repeated(n, "session \"s%[1]d\" {\n  agent  = agent.idle\n  branch = \"agents/s%[1]d\"\n}\n"))
		each.manifest(t, n, fmt.Sprintf("session \"s\" {\n  for_each = %s\n  agent    = agent.idle\n  branch   = \"agents/s${each.key}\"\n}\n", keys(n)))
		var memory [4]float64
		plan := func(i int, p project, args ...string) func() time.Duration {
			return func() time.Duration {
				bytes, took := p.memory(t, args...)
				memory[i] = max(memory[i], bytes)
				return took
			}
		}
		took := m.turns(5, plan(0, written, "agentform", "plan"), plan(1, each, "agentform", "plan"))
		var today, todayEach time.Duration
		if terraform {
			tf := p.terraform(t, fmt.Sprint("tf", n), repeated(n, "resource \"terraform_data\" \"s%[1]d\" {\n  input = \"agents/s%[1]d\"\n}\n"))
			today = m.turns(1, plan(2, tf, "terraform", "plan", "-input=false"))[0]
		}
		if terraform && n <= 1000 { // it is quadratic: 5000 would take half an hour
			tf := p.terraform(t, fmt.Sprint("tfe", n), fmt.Sprintf("resource \"terraform_data\" \"s\" {\n  for_each = %s\n  input    = \"agents/s${each.key}\"\n}\n", keys(n)))
			todayEach = m.turns(1, plan(3, tf, "terraform", "plan", "-input=false"))[0]
		}
		for i, kind := range []struct {
			name        string
			ours, today time.Duration
		}{{"written out", took[0], today}, {"for_each", took[1], todayEach}} {
			curves[kind.name][0].Add(n, kind.ours.Seconds())
			curves[kind.name][1].Add(n, memory[i])
			time := Row{Work: fmt.Sprintf("plan of %d sessions to create, %s", n, kind.name), Took: Time(kind.ours), Shown: n == 1000}
			space := Row{Work: fmt.Sprintf("peak memory of that plan of %d, %s", n, kind.name), Took: Memory(memory[i]), Shown: n == 1000 && i == 0}
			if kind.today > 0 {
				tf := curves["terraform, "+kind.name]
				tf[0].Add(n, kind.today.Seconds())
				tf[1].Add(n, memory[i+2])
				time.Today = Beside{"terraform plan of as many terraform_data", Time(kind.today)}
				time.Goals = []Goal{{Says: "≥ 10 × faster than terraform", Got: ratio(kind.today, kind.ours), Bound: 10, AtLeast: true}}
				space.Today = Beside{"terraform", Memory(memory[i+2])}
				space.Goals = []Goal{{Says: "≤ 1/3 of terraform's", Got: memory[i] / memory[i+2], Bound: 1. / 3}}
			}
			if i == 1 {
				time.Goals = append(time.Goals, Goal{Says: "≤ 1.2 × written out", Got: ratio(took[1], took[0]), Bound: 1.2})
			}
			if first := curves[kind.name][0].Points[0]; n == 5*first.N {
				time.Goals = append(time.Goals, Goal{Says: fmt.Sprintf("≤ 6 × that of %d", first.N), Got: kind.ours.Seconds() / first.Cost, Bound: 6})
			}
			if m.full && len(time.Short()) > 0 {
				time.Missed = []project{written, each}[i].profile(t, 5, "plan")
			}
			if m.full && len(space.Short()) > 0 {
				least, _ := p.memory(t, "agentform", "version")
				space.Missed = fmt.Sprintf("The program takes %s of it before it reads anything.", Memory(least))
			}
			m.add(time)
			m.add(space)
		}
	}
	for _, name := range []string{"written out", "for_each", "terraform, written out", "terraform, for_each"} {
		speed.Curves = append(speed.Curves, curves[name][0])
		space.Curves = append(space.Curves, curves[name][1])
	}
	m.plots = append(m.plots, speed, space)
}

// directory is a directory in the repository, as a project of its own.
func (p project) folder(t *testing.T, name string) project {
	t.Helper()
	p.dir = filepath.Join(p.dir, name)
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

// terraform is a directory for terraform, which asks nobody for newer versions.
func (p project) terraform(t *testing.T, name, text string) project {
	t.Helper()
	tf := p.folder(t, name)
	tf.env = append(tf.env[:len(tf.env):len(tf.env)], "CHECKPOINT_DISABLE=1")
	tf.write(t, "main.tf", text)
	tf.run(t, "terraform", "init", "-input=false")
	return tf
}

// repeated is a block so many times, each with its number.
func repeated(n int, block string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, block, i)
	}
	return b.String()
}

// keys is an expression with so many keys; range has at most 1024.
func keys(n int) string {
	return fmt.Sprintf(`toset(flatten([for a in range(%d) : [for b in range(1000) : "${a}-${b}"]]))`, n/1000)
}
