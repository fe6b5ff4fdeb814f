package usage

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/session"
)

var (
	noon   = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	claude = agent.For(agent.Builtins()[agent.Claude])
	codex  = agent.For(agent.Builtins()[agent.Codex])
	gemini = agent.For(agent.Builtins()[agent.Gemini])
)

// dollarEach is a Pricer for the model "m": a dollar for each token.
func dollarEach(model string, t session.Tokens, _ int64) (float64, bool) {
	return float64(t.Total()), model == "m"
}

// desk is a data directory with a session, whose agent writes one file.
type desk struct {
	t    *testing.T
	dir  string
	path string // of the agent's file
	of   Subject
	*Store
}

func newDesk(t *testing.T) *desk {
	dir := filepath.Join(t.TempDir(), "a [b] *?") // patterns contain the path
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return &desk{t: t, dir: dir, path: filepath.Join(dir, "home", "11111111.jsonl"), Store: New(filepath.Join(dir, "data"), dollarEach),
		of: Subject{ID: "api-1f2e3d4c", Address: "session.api", Agent: "claude", Run: "run1", Since: noon}}
}

// claudeLine is a line of a transcript with an answer.
func claudeLine(id, request, model string, output int64) string {
	return fmt.Sprintf(`{"isSidechain":false,"message":{"model":%q,"id":%q,"type":"message","content":[{"type":"text","text":"\"usage\":{}"}],"usage":{"input_tokens":10,"output_tokens":%d}},"requestId":%q,"type":"assistant","timestamp":"2026-03-14T12:00:01Z"}`+"\n",
		model, id, output, request)
}

func (d *desk) add(path, text string) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	f.Close()
}

// used updates the session, and checks its answers and tokens in this store and in a new one.
func (d *desk) used(answers, tokens int64) Sum {
	d.t.Helper()
	if err := d.Update(claude, d.of, d.path, "11111111", noon); err != nil {
		d.t.Fatal(err)
	}
	again := New(d.dataDir, dollarEach)
	var all Sum
	for _, s := range []*Store{d.Store, again} {
		x, err := s.Get(d.of.ID)
		if err != nil {
			d.t.Fatal(err)
		}
		if all = x.Total(); all.Answers != answers || all.Tokens.Total() != tokens {
			d.t.Errorf("%d answers took %d tokens, want %d and %d", all.Answers, all.Tokens.Total(), answers, tokens)
		}
	}
	return all
}

func TestWhatIsAddedCounts(t *testing.T) {
	d := newDesk(t)
	d.used(0, 0)
	if _, err := os.Stat(d.dataDir); err == nil {
		t.Error("without usage nothing is written")
	}
	d.add(d.path, `{"type":"user","message":{"content":"hi"}}`+"\n"+claudeLine("a", "r1", "m", 1))
	d.used(1, 11)
	d.add(d.path, claudeLine("a", "r1", "m", 5)) // another line of the same answer
	d.used(1, 15)
	d.add(d.path, claudeLine("a", "r1", "m", 5))
	d.used(1, 15)
	d.add(d.path, strings.TrimSuffix(claudeLine("b", "r2", "unknown", 7), "\n")) // incomplete
	d.used(1, 15)
	d.add(d.path, "\n")
	if all := d.used(2, 32); all.Cost != 15 || all.Unpriced != 17 {
		t.Errorf("it costs %v, and %d tokens have no price", all.Cost, all.Unpriced)
	}
}

// A renamed session keeps its last address, even without later usage.
func TestTheLastAddressIsRecorded(t *testing.T) {
	d := newDesk(t)
	d.add(d.path, claudeLine("a", "r1", "m", 1))
	d.used(1, 11)
	d.of.Address = "session.web"
	for range 2 {
		d.used(1, 11)
	}
	if x, err := New(d.dataDir, dollarEach).Get(d.of.ID); err != nil || x.Address != "session.web" {
		t.Errorf("it is %s: %v", x.Address, err)
	}
	text, err := os.ReadFile(filepath.Join(d.dataDir, Folder, d.of.ID+".jsonl"))
	if err != nil || strings.Count(string(text), "session.web") != 1 {
		t.Errorf("%v: %s", err, text)
	}
}

// A conversation copied into another file counts once, even if lines of an answer differ, or the
// process was restarted in between.
func TestACopiedConversationCountsOnce(t *testing.T) {
	d := newDesk(t)
	first := claudeLine("a", "r1", "m", 1) + claudeLine("a", "r1", "m", 5) + claudeLine("b", "r2", "m", 5)
	d.add(d.path, first)
	d.used(2, 30)
	d.path = filepath.Join(filepath.Dir(d.path), "22222222.jsonl")
	d.Store = New(d.dataDir, dollarEach)
	d.add(d.path, first+claudeLine("c", "r3", "m", 5))
	d.used(3, 45)
}

// The part that a fork has copied from another session's conversation is not its own.
func TestWhatWasBeforeTheSessionIsNotItsOwn(t *testing.T) {
	d := newDesk(t)
	d.of.Since = noon.Add(time.Hour)
	d.add(d.path, claudeLine("a", "r1", "m", 1))
	d.used(0, 0)
	d.add(d.path, strings.Replace(claudeLine("b", "r1", "m", 1), "12:00:01", "13:00:01", 1))
	d.used(1, 11)
}

func TestSubAgentsCount(t *testing.T) {
	d := newDesk(t)
	d.add(d.path, claudeLine("a", "r1", "m", 1))
	sub := strings.TrimSuffix(d.path, ".jsonl") + "/subagents/agent-1.jsonl"
	side := func(line string) string { return strings.Replace(line, `"isSidechain":false`, `"isSidechain":true`, 1) }
	// A side chain repeats the parent's message with its own request.
	d.add(sub, side(claudeLine("a", "r9", "m", 1))+side(claudeLine("s", "r10", "m", 2)))
	d.used(2, 23)
	d.add(sub, side(claudeLine("s2", "r11", "m", 2)))
	d.used(3, 35)
	// Some providers have no names for requests.
	nameless := strings.Replace(claudeLine("b", "", "m", 1), `"requestId":"",`, "", 1)
	d.add(d.path, nameless)
	d.used(4, 46)
	d.add(sub, side(strings.Replace(nameless, `"type":"assistant"`, `"requestId":"r12","type":"assistant"`, 1)))
	d.used(4, 46)
}

// Whatever a kill leaves of the session's file, everything is counted once.
func TestATornLine(t *testing.T) {
	d := newDesk(t)
	d.add(d.path, claudeLine("a", "r1", "m", 1))
	d.used(1, 11)
	file := filepath.Join(d.dataDir, Folder, d.of.ID+".jsonl")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range whole {
		if err := os.WriteFile(file, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		d.Store = New(d.dataDir, dollarEach)
		d.used(1, 11)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	d.used(1, 11) // after its removal the file is read again
	d.add(file, `{"session":"session.api","fi`)
	d.add(d.path, claudeLine("b", "r2", "m", 1))
	d.used(2, 22)
}

// Two processes record at the same time: each answer counts once.
func TestTwoAtOnce(t *testing.T) {
	d := newDesk(t)
	other := New(d.dataDir, dollarEach)
	done := make(chan error)
	const answers = 300
	for _, s := range []*Store{d.Store, other} {
		go func() {
			for {
				if err := s.Update(claude, d.of, d.path, "11111111", noon); err != nil {
					done <- err
					return
				}
				if x, err := s.Get(d.of.ID); err != nil || x.Total().Answers >= answers {
					done <- err
					return
				}
			}
		}()
	}
	for n := range answers {
		d.add(d.path, claudeLine(fmt.Sprint("m", n), "r", "m", 1))
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	d.used(answers, answers*11)
}

// The file of a removed session stays, with its last address.
func TestAll(t *testing.T) {
	d := newDesk(t)
	d.add(d.path, claudeLine("a", "r1", "m", 1))
	d.used(1, 11)
	d.of.Address = "session.renamed"
	d.add(d.path, claudeLine("b", "r2", "m", 1))
	d.used(2, 22)
	all, err := New(d.dataDir, dollarEach).All()
	if err != nil || len(all) != 1 || all[0].Address != "session.renamed" || all[0].ID != d.of.ID {
		t.Errorf("%+v, %v", all, err)
	}
	for k, sum := range all[0].Slices {
		if !k.Start.Equal(noon) || k.Model != "m" || k.Run != "run1" || k.Agent != "claude" || sum.Answers != 2 {
			t.Errorf("%+v: %+v", k, sum)
		}
	}
	if all, err := New(t.TempDir(), dollarEach).All(); len(all) > 0 || err != nil {
		t.Errorf("without usage: %v, %v", all, err)
	}
}

// An answer is read back as it was written.
func TestAnswerAsText(t *testing.T) {
	for _, a := range []Answer{
		{},
		{At: noon.Add(123456789), Model: "my model, v2", Keys: []uint64{1, 1<<64 - 1}, Tokens: session.Tokens{Input: 1, CacheRead: 2, CacheWrite: 3, CacheWrite1h: 4, Output: 5, Reasoning: 6}},
		{At: noon, Model: "m", More: true, Prompt: 7, Tokens: session.Tokens{Input: -1}},
	} {
		text, err := a.MarshalText()
		var b Answer
		if err == nil {
			err = b.UnmarshalText(text)
		}
		if err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%+v is written as %q and read as %+v, %v", a, text, b, err)
		}
	}
	for _, text := range []string{"", "- - - - - - - - - -", "2026-03-14T12:00:00Z x 0 0 0 0 0 0 0 m", "2026-03-14T12:00:00Z - 0 0 0 0 0 0 m"} {
		if err := new(Answer).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is an answer", text)
		}
	}
}

// An error while recording loses nothing.
func TestWhatCannotBeRecordedIsReadAgain(t *testing.T) {
	d := newDesk(t)
	d.add(d.path, claudeLine("a", "r1", "m", 1))
	if err := os.WriteFile(d.dataDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Update(claude, d.of, d.path, "", noon); err == nil {
		t.Error("a data directory that is a file is no error")
	}
	if err := os.Remove(d.dataDir); err != nil {
		t.Fatal(err)
	}
	d.used(1, 11)
}

func TestLongLines(t *testing.T) {
	d := newDesk(t)
	long := strings.Replace(claudeLine("a", "r1", "m", 1), `"type":"text","text":"`, `"type":"text","text":"`+strings.Repeat("x", 3*chunk), 1)
	d.add(d.path, long+claudeLine("b", "r2", "m", 1)+long[:2*chunk])
	d.used(2, 22)
	d.add(d.path, long[2*chunk:])
	d.used(2, 22) // the answer a again
}

// Old rollouts have only totals, which in some restart with a compaction.
func TestCodexTotals(t *testing.T) {
	total := func(in, cached, out, last int64) string {
		return fmt.Sprintf(`{"timestamp":"2026-03-14T12:00:01Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d},"last_token_usage":{"input_tokens":%d,"output_tokens":1}}}}`, in, cached, out, last)
	}
	var c session.UsageContext
	var all session.Tokens
	model := ""
	for _, line := range []string{
		`{"timestamp":"2026-03-14T12:00:00Z","type":"turn_context","payload":{"model":"gpt-5"}}`,
		`{"timestamp":"2026-03-14T12:00:00Z","type":"event_msg","payload":{"type":"token_count","info":null}}`,
		total(100, 60, 10, 100), total(100, 60, 10, 100), total(150, 80, 30, 50), total(7, 0, 1, 7),
	} {
		for _, u := range codex.(session.UsageReader).Usage([]byte(line), &c, func(string) bool { return false }) {
			all, model = all.Plus(u.Tokens), u.Model
		}
	}
	if want := (session.Tokens{Input: 70 + 7, CacheRead: 80, Output: 31}); all != want || model != "gpt-5" {
		t.Errorf("%+v of %q, want %+v", all, model, want)
	}
}

// FuzzUsage checks that sums are correct whatever is in a session file.
func FuzzUsage(f *testing.F) {
	f.Add([]byte(claudeLine("a", "r", "m", 1)))
	f.Add([]byte(`{"type":"gemini","id":"a","tokens":{"input":-1,"output":9e99}}`))
	f.Add([]byte(`{"type":"token_usage_record","payload":{"response_id":"r","usage":{"input_tokens":1,"cached_input_tokens":5}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, a := range []session.Agent{claude, codex, gemini} {
			var c session.UsageContext
			var all session.Tokens
			for range 3 {
				for _, u := range a.(session.UsageReader).Usage(line, &c, func(string) bool { return false }) {
					all = all.Plus(u.Tokens)
				}
			}
			for _, n := range []int64{all.Input, all.CacheRead, all.CacheWrite, all.CacheWrite1h, all.Output, all.Reasoning} {
				if n < 0 || n > 1<<55 {
					t.Errorf("%+v", all)
				}
			}
			if text, err := json.Marshal(c); err != nil {
				t.Errorf("the context %s cannot be kept: %v", text, err)
			}
		}
	})
}
