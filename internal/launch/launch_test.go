package launch_test

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/state"
)

// robot is an agent with settings, hooks and an environment of its own. Its prompt is
// typed or part of its command line, as its block says.
type robot struct{ spec session.AgentSpec }

func (robot) Start(in session.StartInput) session.Start {
	start := session.Start{
		Argv:  append(slices.Concat(in.Spec.Agent.Command, in.Spec.Args), "--profile", in.Spec.Profile),
		Env:   map[string]string{"ROBOT": "adapter", "LEVEL": "adapter"},
		Files: map[string]string{"settings": strings.Join(in.Notify, " "), "user": map[bool]string{true: "root", false: "nobody"}[in.Root]},
	}
	if in.Conversation != "" {
		start.Argv = append(start.Argv, "--resume", in.Conversation)
	}
	if in.Spec.Agent.PromptVia == "paste" {
		start.Paste = in.Prompt
	} else {
		start.Argv = append(start.Argv, in.Prompt)
	}
	return start
}

func (a robot) Ready(screen string) bool {
	return a.spec.Ready != "" && strings.Contains(screen, a.spec.Ready)
}

func (robot) Detect(e session.Evidence) session.Detection {
	if strings.HasSuffix(e.Screen, "?") {
		return session.Detection{Activity: session.Blocked, Detail: e.Screen, Source: "screen"}
	}
	return session.Detection{Activity: session.Activity(e.Title), Source: "title"}
}

// The session file of a robot has a line for each message of the user.
func (robot) Files(of session.Lookup) []string {
	return []string{filepath.Join(of.Home, "robot", "session.jsonl")}
}

func (robot) Reader() session.TranscriptReader { return new(prompts) }

type prompts int

func (n *prompts) Add([]byte) { *n++ }

func (n *prompts) Transcript() session.Transcript {
	return session.Transcript{Prompts: int(*n), At: time.Now()}
}

func (robot) Entries([]byte) []session.Entry { return nil }

func adapt(s session.AgentSpec) session.Agent { return robot{s} }

func lookup(name string) (string, bool) { return "value of " + name, true }

// started is what came of a launch, without what differs between any two: the names of
// the session and the run.
type started struct {
	Argv    []string
	Env     []string
	Secrets map[string]string
	Dir     string
	Timeout time.Duration
	Stop    session.Stop
	Spec    session.Spec
	Files   map[string]string
	Sent    []session.Input
}

func startedBy(t *testing.T, rt *sessiontest.Scripted, dataDir string) started {
	t.Helper()
	places := rt.Places()
	if len(places) != 1 {
		t.Fatalf("places %v, want one", places)
	}
	st, _ := rt.State(places[0])
	l := st.Launch
	if want := filepath.Join(dataDir, "runs", l.Mark.Run); l.RunDir != want {
		t.Errorf("run directory %s, want %s", l.RunDir, want)
	}
	files := map[string]string{}
	err := filepath.WalkDir(l.RunDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		name := strings.TrimPrefix(path, l.RunDir)
		if filepath.Base(path) == "typed.jsonl" {
			return err // the digest of the prompt, with a salt
		}
		files[info.Mode().String()+" "+name] = strings.ReplaceAll(string(text), l.RunDir, "RUN")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(l.Env)
	return started{l.Argv, l.Env, l.Secrets, l.Dir, l.Timeout, l.Stop, l.Spec, files, st.Sent}
}

func spec(dir, via string) session.Spec {
	return session.Spec{
		Address: session.Single("api"), Role: "default", Desired: session.Running,
		Agent: session.AgentSpec{Name: "robot", Command: []string{"robot", "--fast"}, Ready: ">", PromptVia: via,
			Env: map[string]string{"LEVEL": "agent", "TOKEN": "of the block"}},
		Profile: "careful", Args: []string{"--color"},
		Env:     map[string]string{"OWN": "spec"},
		Secrets: []string{"KEY"}, InheritEnv: []string{"TEAM*"},
		Prompt:       session.PromptOf("write the tests"),
		Workspace:    session.Workspace{Mode: session.Plain, Path: filepath.Join(dir, "work"), OnDestroy: session.Keep},
		Runtime:      session.RuntimeSpec{Kind: "scripted"},
		Conversation: session.Conversation{Resume: true, ID: "earlier"},
		Timeout:      session.Duration(time.Hour),
		Stop:         session.Stop{Signal: "SIGINT", Grace: session.Duration(time.Second)},
	}
}

func environ(bin string) []string {
	return []string{"PATH=" + bin, "HOME=/home/ada", "TEAM_NAME=red", "TEAM_TOKEN=t0p", "GIT_DIR=/elsewhere", "UNRELATED=1"}
}

// byApply launches the spec as a plan does.
func byApply(t *testing.T, dir string, s session.Spec, rt *sessiontest.Scripted) {
	t.Helper()
	store, err := state.Open(t.Context(), filepath.Join(dir, "state.json"), "shop", "test", state.Holder{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	a := apply.Applier{
		Store: store, Runtime: func(session.RuntimeSpec) (session.Runtime, error) { return rt, nil }, Agent: adapt,
		Git: apply.HostGit(), Blobs: state.Blobs{Dir: filepath.Join(dir, "blobs")}, Secrets: lookup, Facts: rt.Facts,
		BaseEnv: environ(dir), Hooks: func() ([]string, error) { return []string{"shim", "notify"}, nil },
		DataDir: dir, Project: "shop", Parallelism: 1,
	}
	p := plan.Plan{Lineage: "library", Changes: []plan.Change{{Address: s.Address, Action: plan.Create, After: &s}}}
	if _, err := a.Run(t.Context(), p, nil); err != nil {
		t.Fatal(err)
	}
}

// byLibrary launches the spec as a program does.
func byLibrary(t *testing.T, dir string, s session.Spec, rt *sessiontest.Scripted) {
	t.Helper()
	l := agentform.Launcher{Runtime: rt, Adapt: adapt, Environ: environ(dir), Secrets: lookup, Facts: rt.Facts, Dir: dir, Hook: []string{"shim", "notify"}}
	if _, err := l.Launch(t.Context(), session.Single("api").OutsideName("shop"), s); err != nil {
		t.Fatal(err)
	}
}

// TestSameLaunch checks that apply and the library launch a spec in the same way: command
// line, environment, secrets, directory, files, and delivery of the prompt.
func TestSameLaunch(t *testing.T) {
	for _, via := range []string{"argument", "paste"} {
		t.Run(via, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []started
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "robot"), []byte("#!/bin/sh\n"), 0o755); err != nil {
					t.Fatal(err)
				}
				for _, by := range []func(*testing.T, string, session.Spec, *sessiontest.Scripted){byApply, byLibrary} {
					rt := sessiontest.New("")
					rt.Script(session.Single("api").OutsideName("shop"), sessiontest.Step{After: time.Second, Screen: "hello\n>"})
					by(t, dir, spec(dir, via), rt)
					got = append(got, startedBy(t, rt, dir))
				}
				if !reflect.DeepEqual(got[0], got[1]) {
					t.Errorf("apply launches\n%+v\nthe library\n%+v", got[0], got[1])
				}
				if g := got[0]; len(g.Files) != 2 || g.Secrets["KEY"] == "" || !slices.Contains(g.Env, "LEVEL=agent") || !slices.Contains(g.Env, "TEAM_NAME=red") ||
					(len(g.Sent) == 1) != (via == "paste") {
					t.Errorf("launched %+v, files %q", g, slices.Sorted(maps.Keys(g.Files)))
				}
			})
		})
	}
}

// TestBegunByItsFile checks that an agent which asks something in its first turn, so that
// its screen never shows that it is ready, is launched by the library as soon as its own
// session file has its prompt, and that one whose file has none is not.
func TestBegunByItsFile(t *testing.T) {
	for _, begun := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("HOME", dir)
			if begun {
				if err := os.Mkdir(filepath.Join(dir, "robot"), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "robot", "session.jsonl"), []byte("{}\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			rt := sessiontest.New("")
			rt.Script("api", sessiontest.Step{Screen: "May I run make test?"})
			l := agentform.Launcher{Runtime: rt, Adapt: adapt, Facts: rt.Facts, Dir: dir}
			s := spec(dir, "argument")
			s.Secrets, s.Conversation = nil, session.Conversation{}
			began := time.Now()
			_, err := l.Launch(t.Context(), "api", s)
			if begun != (err == nil) || begun && time.Since(began) > time.Second {
				t.Errorf("its file has its prompt: %v; launched after %v: %v", begun, time.Since(began), err)
			}
		})
	}
}
