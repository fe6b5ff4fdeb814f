package view

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

func TestServices(t *testing.T) {
	yes, no := true, false
	const sandbox = "c0ffee00112233445566778899aabbccddeeff00112233445566778899aabbcc"
	tmux := func(a session.Address, state session.State, alive *bool, detail string) status.Input {
		r := record(a, "agents/x")
		r.Location = session.Location{Runtime: "tmux", Socket: "/run/user/1000/agentform/1a2b3c4d/tmux-0", Name: a.OutsideName("shop")}
		return status.Input{Record: r, Live: &session.Live{Mark: session.Mark{ID: r.ID}, Location: r.Location, PlaceUp: true}, Diagnosis: plan.Diagnosis{State: state, Alive: alive, Detail: detail}}
	}
	docker := func(a session.Address, host string, d plan.Diagnosis, live, up bool) status.Input {
		k := tmux(a, d.State, d.Alive, d.Detail)
		k.Diagnosis = d
		k.Record.Spec.Runtime = session.RuntimeSpec{Kind: "docker", Name: "box", Docker: &session.DockerConfig{Image: "agents:1", Host: host}}
		k.Record.Location = session.Location{Runtime: "docker", Name: a.OutsideName("shop"), Container: sandbox[:62] + a.Slug()[:2]}
		k.Live.Location, k.Live.PlaceUp = k.Record.Location, up
		if !live {
			k.Live = nil
		}
		return k
	}
	orphan := session.Live{Mark: session.Mark{Address: "session.lost", ID: "x"}, PlaceUp: true, Liveness: session.Alive,
		Location: session.Location{Runtime: "tmux", Socket: "/run/user/1000/agentform/1a2b3c4d/tmux-0", Name: "shop-lost-1a2b3c"}}
	known := []status.Input{
		tmux("session.api", session.StateRunning, &yes, "running"),
		tmux(session.Keyed("worker", "web"), session.StateStale, &no, "agent exited (exit status 1)"),
		docker("session.build", "", plan.Diagnosis{State: session.StateStale, Alive: &no, Detail: "agent exited"}, true, true),
		docker("session.check", "", plan.Diagnosis{State: session.StateError, Alive: &no, Detail: "the container was killed: out of memory"}, true, false),
		docker("session.far", "ssh://ada@far", plan.Diagnosis{State: session.StateUnknown, Detail: "no route to host"}, false, false),
		docker("session.near", "", plan.Diagnosis{State: session.StateUnknown, Detail: "docker: no daemon answers on /var/run/docker.sock"}, false, false),
	}
	lost := tmux("session.ended", session.StateError, &no, "tmux session is gone")
	lost.Live = nil
	stopped := lost
	stopped.Record = record("session.halted", "agents/x")
	stopped.Record.Location, stopped.Diagnosis = session.Location{}, plan.Diagnosis{State: session.StateStopped, Alive: &no, Detail: "stopped"}
	known = append([]status.Input{lost, stopped}, known...)
	all := status.ServicesOf(known, []session.Live{orphan}, nil)
	styles(t, "services", true, func(w io.Writer, s Style) error { return Services(w, s, all) })
	golden(t, "services.json", func(w io.Writer) error { return ServicesJSON(w, all) })
	var b bytes.Buffer
	if err := Services(&b, Style{}, nil); err != nil || !strings.Contains(b.String(), "No sessions.") {
		t.Errorf("%q, %v", b.String(), err)
	}
	hub := status.DocumentOf([]api.Session{
		{Address: "session.far", State: session.StateRunning, Alive: &yes},
		{Address: "session.near", State: session.StateUnknown},
		{Address: "session.api", State: session.StateStale, Alive: &no},
	}, api.Places{}, api.HubRuns)
	said := map[session.Address]status.Housed{}
	for _, x := range status.ServicesOf(known, nil, &hub) {
		for _, h := range x.Sessions {
			said[h.Address] = h
			if h.Address == "session.far" && (x.Up == nil || !*x.Up) {
				t.Error("the hub sees an agent in a place that does not run")
			}
		}
	}
	if far := said["session.far"]; far.State != session.StateRunning || far.Alive == nil || !*far.Alive || far.Detail != "reported by the hub" {
		t.Errorf("what only the hub can see: %+v", far)
	}
	if near := said["session.near"]; near.State != session.StateUnknown || strings.Contains(near.Detail, "hub down") {
		t.Errorf("what nobody can see: %+v", near)
	}
	if api := said["session.api"]; api.State != session.StateRunning {
		t.Errorf("what is seen from here is another with a hub: %+v", api)
	}
}

// A tmux server that died with its sessions is shown, as are sessions that were stopped before.
func TestServicesThatDied(t *testing.T) {
	no := false
	died := status.Input{Record: record("session.api", "agents/x"), Diagnosis: plan.Diagnosis{State: session.StateError, Alive: &no, Detail: "tmux session is gone"}}
	died.Record.Location = session.Location{Runtime: "tmux", Socket: "/run/tmux-0", Name: "shop-api"}
	stopped := status.Input{Record: record("session.web", "agents/y"), Diagnosis: plan.Diagnosis{State: session.StateStopped, Alive: &no, Detail: "stopped"}}
	stopped.Record.Location = session.Location{}
	for name, c := range map[string]struct {
		known []status.Input
		want  string
	}{
		"the server died":        {[]status.Input{died, stopped}, "tmux server /run/tmux-0, not running\n  session.api  error  tmux session is gone\nno server or container\n  session.web  stopped\n\n1 tmux server; 1 error, 1 stopped\n"},
		"everything was stopped": {[]status.Input{stopped}, "no server or container\n  session.web  stopped\n\n1 stopped\n"},
		"it was never applied":   {[]status.Input{{Wanted: wanted(spec("session.new", "agents/z"))}}, "No sessions.\n"},
	} {
		var b bytes.Buffer
		if err := Services(&b, Style{}, status.ServicesOf(c.known, nil, nil)); err != nil || b.String() != c.want {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", name, err, b.String(), c.want)
		}
	}
}

// TestShortID checks that only ids are cut: the name of a pod is needed whole.
func TestShortID(t *testing.T) {
	for id, want := range map[string]string{strings.Repeat("0a", 32): "0a0a0a0a0a0a", "shop-web-0123456789ab-0": "shop-web-0123456789ab-0", "": ""} {
		if got := shortID(id); got != want {
			t.Errorf("%s: %s", id, got)
		}
	}
}
