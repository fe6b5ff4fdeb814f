package agent

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
	"github.com/google/go-cmp/cmp"
)

func TestOpencodeStart(t *testing.T) {
	const update = "OPENCODE_DISABLE_AUTOUPDATE"
	permissions := func(p string) session.AgentSpec {
		return builtin("opencode", func(s *session.AgentSpec) { s.Permissions = p })
	}
	env := map[string]string{update: "1"}
	argument := builtin("opencode", func(s *session.AgentSpec) { s.PromptVia = ViaArgument })
	for name, c := range map[string]struct {
		agent session.AgentSpec
		in    session.StartInput
		want  session.Start
	}{
		"a prompt":      {builtin("opencode"), session.StartInput{Prompt: "fix it"}, session.Start{Argv: []string{"opencode"}, Env: env, Paste: "fix it"}},
		"a shell line":  {builtin("opencode"), session.StartInput{Prompt: "!ls"}, session.Start{Argv: []string{"opencode"}, Env: env, Paste: " !ls"}},
		"by argument":   {argument, session.StartInput{Prompt: "-p"}, session.Start{Argv: []string{"opencode", "--prompt=-p"}, Env: env}},
		"may all":       {permissions("all"), session.StartInput{}, session.Start{Argv: []string{"opencode", "--auto"}, Env: env}},
		"may edit":      {permissions("edits"), session.StartInput{}, session.Start{Argv: []string{"opencode"}, Env: map[string]string{update: "1", "OPENCODE_CONFIG_CONTENT": `{"permission":{"bash":"ask","edit":"allow"}}`}}},
		"with a plugin": {builtin("opencode"), session.StartInput{Private: "/run/1"}, session.Start{Argv: []string{"opencode"}, Env: map[string]string{update: "1", "OPENCODE_CONFIG_CONTENT": `{"plugin":["file:///run/1/opencode.js"]}`}, Files: map[string]string{"opencode.js": opencodePlugin}}},
		"goes on with a prompt, which it would not submit": {argument, session.StartInput{Conversation: "ses_1", Prompt: "and now", Spec: session.Spec{Args: []string{"-m", "a/b"}}},
			session.Start{Argv: []string{"opencode", "--session", "ses_1", "-m", "a/b"}, Env: env, Paste: "and now", Conversation: "ses_1"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.Spec.Agent = c.agent
			if diff := cmp.Diff(c.want, For(c.agent).Start(c.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOpencodeComposer checks the text in the composer of opencode 1.18.33.
func TestOpencodeComposer(t *testing.T) {
	home := func(rows ...string) string {
		for i, row := range rows {
			rows[i] = "        ┃" + row
		}
		return "\n" + strings.Join(rows, "\n") + "\n        ╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀\n                tab agents  ctrl+p commands\n\n  /work/shop:main         1.18.33\n"
	}
	const agent = "  Build · Scripted Anthropic"
	screen := func(situation string) string { return string(read(t, "testdata/opencode/"+situation+"/screen.txt")) }
	for name, c := range map[string]struct {
		screen, want string
		hidden       bool
	}{
		"empty":                         {screen: screen("idle")},
		"empty, narrow":                 {screen: screen("idle-60")},
		"empty in a conversation":       {screen: screen("turn-done-80")},
		"empty beside a side bar":       {screen: screen("turn-done-200")},
		"empty while it works":          {screen: screen("queued")},
		"empty while it retries":        {screen: screen("retrying")},
		"a permission":                  {screen: screen("approval"), hidden: true},
		"a question":                    {screen: screen("question"), hidden: true},
		"it has exited":                 {screen: screen("exited"), hidden: true},
		"nothing":                       {hidden: true},
		"a draft":                       {screen: home("", "  begin 3 [[text Begun.]]", "", agent), want: "begin 3 [[text Begun.]]"},
		"a draft of rows":               {screen: home("", "", "  one", "  two", "", agent), want: "one"},
		"a draft before it has a model": {screen: home("", "  do it", "", ""), want: "do it"},
		"a draft beside a side bar": {screen: strings.Replace(screen("turn-done-200"), "  ┃\n  ┃\n  ┃\n  ┃  Build",
			"  ┃\n  ┃  do it"+strings.Repeat(" ", 155)+"LSP\n  ┃\n  ┃  Build", 1), want: "do it"},
		"an edge that someone has pasted": {screen: home("", "  do it", "", agent) + screen("approval"), hidden: true},
	} {
		got, shown := For(builtin("opencode")).(interface{ Composer(string) (string, bool) }).Composer(c.screen)
		if got != c.want || shown == c.hidden {
			t.Errorf("%s: %q, %v, want %q", name, got, shown, c.want)
		}
	}
}

func TestOpencodeFiles(t *testing.T) {
	for name, c := range map[string]struct {
		of   session.Lookup
		want []string
	}{
		"a conversation": {session.Lookup{Home: "/h", Conversation: "ses_1"}, []string{"/h/.local/share/opencode/agentform/ses_1.jsonl"}},
		"not known":      {session.Lookup{Home: "/h"}, []string{"/h/.local/share/opencode/agentform/ses_*.jsonl"}},
		"its own folder": {session.Lookup{Home: "/h", Env: map[string]string{"XDG_DATA_HOME": "/d*"}}, []string{`/d\*/opencode/agentform/ses_*.jsonl`}},
		"no home":        {session.Lookup{}, nil},
	} {
		if diff := cmp.Diff(c.want, opencodeFiles(c.of)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A turn cut off by the end of its run does not belong to the next run: its questions are gone, and
// the first message of the next run is taken up at once.
func TestOpencodeRunThatWasCutOff(t *testing.T) {
	lines := func(texts ...string) (all [][]byte) {
		for _, text := range texts {
			all = append(all, []byte(strings.ReplaceAll(text, "SES", `"sessionID":"ses_1"`)))
		}
		return all
	}
	const (
		run    = `{"at":1000,"type":"run","properties":{SES,"directory":"/work"}}`
		prompt = `{"at":2000,"type":"message.part.updated","properties":{SES,"part":{"type":"text","messageID":"m1","text":"go"}}}`
		asks   = `{"at":3000,"type":"permission.asked","properties":{SES,"id":"per_1","permission":"bash","metadata":{"command":"ls"}}}`
		again  = `{"at":5000,"type":"message.part.updated","properties":{SES,"part":{"type":"text","messageID":"m2","text":"again"}}}`
	)
	if n := session.ReadTranscript(For(builtin("opencode")), lines(run, prompt, asks)); n.Activity != session.Blocked || n.Detail != `run "ls"?` || n.Prompts != 1 {
		t.Errorf("while it asks: %+v", n)
	}
	if n := session.ReadTranscript(For(builtin("opencode")), lines(run, prompt, asks, run)); n.Activity != "" || n.Turns != 0 || n.Conversation != "ses_1" || n.Dir != "/work" {
		t.Errorf("at the start of the next run: %+v", n)
	}
	if n := session.ReadTranscript(For(builtin("opencode")), lines(run, prompt, asks, run, again)); n.Activity != session.Working || len(n.Queued) != 0 || n.Prompts != 2 || n.LastPrompt != "again" {
		t.Errorf("in the next run: %+v", n)
	}
}

// TestOpencodeInterrupted checks that either error shows an interruption, and that one during a
// retry, which has no error, is found too.
func TestOpencodeInterrupted(t *testing.T) {
	const (
		run       = `{"at":1000,"type":"run","properties":{SES,"directory":"/work"}}`
		prompt    = `{"at":2000,"type":"message.part.updated","properties":{SES,"part":{"type":"text","messageID":"m1","text":"go"}}}`
		busy      = `{"at":2100,"type":"session.status","properties":{SES,"status":{"type":"busy"}}}`
		retry     = `{"at":2200,"type":"session.status","properties":{SES,"status":{"type":"retry","attempt":1,"message":"Bad Gateway","next":3000}}}`
		aborted   = `{"at":3000,"type":"session.error","properties":{SES,"error":{"name":"MessageAbortedError","data":{"message":"Aborted"}}}}`
		written   = `{"at":3000,"type":"message.updated","properties":{SES,"info":{"id":"a1","parentID":"m1","role":"assistant","error":{"name":"MessageAbortedError","data":{"message":"Aborted"}}}}}`
		failed    = `{"at":3000,"type":"session.error","properties":{SES,"error":{"name":"APIError","data":{"message":"no","statusCode":401}}}}`
		idle      = `{"at":3100,"type":"session.idle","properties":{SES}}`
		again     = `{"at":4000,"type":"message.part.updated","properties":{SES,"part":{"type":"text","messageID":"m2","text":"again"}}}`
		answers   = `{"at":4100,"type":"message.updated","properties":{SES,"info":{"id":"a2","parentID":"m2","role":"assistant"}}}`
		helper    = `{"at":3000,"type":"session.error","properties":{"sessionID":"ses_2","error":{"name":"MessageAbortedError","data":{"message":"Aborted"}}}}`
		compacted = `{"at":5000,"type":"session.status","properties":{SES,"status":{"type":"busy"}}}`
	)
	for name, c := range map[string]struct {
		lines       []string
		want        session.Activity
		turns       int
		interrupted bool
	}{
		"an error of the turn":               {[]string{run, prompt, busy, aborted, idle}, session.Idle, 1, true},
		"an error of its message":            {[]string{run, prompt, busy, written, idle}, session.Idle, 1, true},
		"both":                               {[]string{run, prompt, busy, aborted, idle, written, idle}, session.Idle, 1, true},
		"before anything else":               {[]string{run, aborted, idle}, session.Idle, 1, true},
		"while it tries again":               {[]string{run, prompt, busy, retry, idle}, session.Idle, 1, true},
		"not over yet":                       {[]string{run, prompt, busy, aborted}, session.Working, 0, false},
		"it tried again, and had an answer":  {[]string{run, prompt, busy, retry, busy, idle}, session.Idle, 1, false},
		"it tried again, and has failed":     {[]string{run, prompt, busy, retry, failed, idle}, session.Failed, 1, false},
		"by itself":                          {[]string{run, prompt, busy, idle}, session.Idle, 1, false},
		"a sub-agent's":                      {[]string{run, prompt, busy, helper, idle}, session.Idle, 1, false},
		"a message after it":                 {[]string{run, prompt, busy, aborted, idle, again}, session.Working, 1, false},
		"a turn after it":                    {[]string{run, prompt, busy, aborted, idle, again, busy, idle}, session.Idle, 2, false},
		"the message is written again late":  {[]string{run, prompt, busy, aborted, idle, again, written, busy, idle}, session.Idle, 2, false},
		"a turn without a message after it":  {[]string{run, prompt, busy, aborted, idle, compacted, idle}, session.Idle, 2, false},
		"one waits":                          {[]string{run, prompt, busy, again, aborted, idle}, session.Idle, 1, true},
		"one that waited is taken up":        {[]string{run, prompt, busy, again, aborted, idle, answers}, session.Working, 1, false},
		"one that waited is taken up within": {[]string{run, prompt, busy, again, written, answers, idle}, session.Idle, 1, false},
		"the next run begins":                {[]string{run, prompt, busy, aborted, idle, run}, "", 1, true},
	} {
		var lines [][]byte
		for _, l := range c.lines {
			lines = append(lines, []byte(strings.ReplaceAll(l, "SES", `"sessionID":"ses_1"`)))
		}
		n := session.ReadTranscript(For(builtin("opencode")), lines)
		if n.Activity != c.want || n.Turns != c.turns || n.Interrupted != c.interrupted {
			t.Errorf("%s: %s, %d turns, interrupted %v", name, n.Activity, n.Turns, n.Interrupted)
		}
	}
}

// TestOpencodeRetry checks that the message decides whether a retry is a limit, in events and on
// the screen: opencode retries after any server error.
func TestOpencodeRetry(t *testing.T) {
	const begin = `{"at":1795524570000,"type":"run","properties":{"sessionID":"s1","directory":"/w"}}`
	a := For(builtin("opencode"))
	for message, c := range map[string]struct {
		next string // a time at which it starts
		want session.Activity
	}{
		"scripted too many requests":                             {"1795524572000", session.BlockedAPI},
		"Too Many Requests":                                      {"1795524572000", session.BlockedAPI},
		"This request would exceed your account's rate limit.":   {"1795524572000", session.BlockedAPI},
		"You exceeded your current quota":                        {"1795524572000", session.BlockedAPI},
		"5 hour usage limit reached. It will reset in 2 hours":   {"1795524572000", session.BlockedAPI},
		"Free usage exceeded, subscribe to Go":                   {"1795524572000", session.BlockedAPI},
		"Provider is overloaded":                                 {"1795524572000", session.BlockedAPI},
		"Internal Server Error, and the provider asked for time": {"1795531770000", session.BlockedAPI},
		"scripted internal server error":                         {"1795524572000", session.Working},
		"socket hang up":                                         {"1795524572000", session.Working},
		"Bad Gateway after 4291 ms":                              {"1795524572000", session.Working},
	} {
		n := session.ReadTranscript(a, [][]byte{[]byte(begin), []byte(`{"at":1795524570100,"type":"session.status","properties":{"sessionID":"s1","status":{"type":"retry","attempt":1,"message":"` + message + `","next":` + c.next + `}}}`)})
		if n.Activity != c.want || n.Detail != message || n.Until.IsZero() == (c.next == "1795531770000") {
			t.Errorf("%s: %s (%s) until %v, want %s", message, n.Activity, n.Detail, n.Until, c.want)
		}
		if c.next != "1795524572000" {
			continue
		}
		line := " ⬝⬝⬝⬝⬝⬝■■ " + message + " [retrying attempt #1]    esc interrupt"
		for _, transcript := range []*session.Transcript{nil, &n} {
			if got := a.Detect(session.Evidence{Liveness: session.Alive, Screen: line, Transcript: transcript}); got.Activity != c.want {
				t.Errorf("%s: the screen reads %s, want %s", message, got.Activity, c.want)
			}
		}
	}
}
