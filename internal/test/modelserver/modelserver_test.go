package modelserver

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/internal/test/pipe"
)

func TestParse(t *testing.T) {
	for prompt, want := range map[string][]step{
		"":                             nil,
		"no script [here] [[nothing]]": nil,
		"do it [[delay 1500ms]] now [[text I look.]][[tool bash: echo [a]; ls]] [[text Done.]]": {
			{verb: "delay", delay: 1500 * time.Millisecond}, {verb: "text", text: "I look."},
			{verb: "tool", tool: "bash", args: "echo [a]; ls"}, {verb: "text", text: "Done."},
		},
		`[[tool Write {"file_path":"a","list":["b"]}]]`: {{verb: "tool", tool: "Write", args: `{"file_path":"a","list":["b"]}`}},
		"[[status 429 x2]] [[status 401]] [[status 500 it is broken]]": {
			{verb: "status", code: 429, times: 2}, {verb: "status", code: 401}, {verb: "status", code: 500, text: "it is broken"},
		},
		"[[status 429 x1 after 5s slow down]] [[limit 2h]]": {
			{verb: "status", code: 429, times: 1, delay: 5 * time.Second, text: "slow down"}, {verb: "limit", delay: 2 * time.Hour},
		},
		"[[stall]] [[hang]] [[cut]]":                      {{verb: "stall"}, {verb: "hang"}, {verb: "cut"}},
		"[[delay soon]]":                                  {{verb: "text", text: `script: [[delay soon]]: time: invalid duration "soon"`}},
		"[[status many]]":                                 {{verb: "text", text: "script: [[status many]] has no status of three digits"}},
		"[[tool Read a file]]":                            {{verb: "text", text: "script: [[tool Read a file]]: the arguments are no JSON"}},
		`[[usage {"input":1,"cache_read":2,"output":3}]]`: {{verb: "usage", usage: Usage{Input: 1, CacheRead: 2, Output: 3}}},
		"[[usage much]]":                                  {{verb: "text", text: "script: [[usage much]]: invalid character 'm' looking for beginning of value"}},
		"[[tool]]":                                        {{verb: "text", text: "script: [[tool ]] has no name and arguments"}},
	} {
		if diff := cmp.Diff(want, parse(prompt), cmp.AllowUnexported(step{})); diff != "" {
			t.Errorf("%q: %s", prompt, diff)
		}
	}
}

func TestSegment(t *testing.T) {
	all := parse("[[text 1]] [[tool bash: a]] [[tool bash: b]] [[text 2]]")
	for results, want := range [][]string{{"1", "a"}, {"b"}, {"2"}, {"2"}} {
		got := []string{}
		for _, s := range segment(all, results) {
			got = append(got, s.text+s.args)
		}
		if !cmp.Equal(want, got) {
			t.Errorf("after %d results: %q, want %q", results, got, want)
		}
	}
}

const tools = `"tools":[{"name":"Bash"},{"name":"Write"}]`

// ask posts a request and is what was answered.
func ask(t *testing.T, s *Server, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		b = append(b, " (then: "+err.Error()+")"...)
	}
	return resp.StatusCode, string(b)
}

func client() *http.Client { return &http.Client{Transport: pipe.Transport()} }

func start(t *testing.T) *Server {
	t.Helper()
	s := Serve(pipe.Listen())
	t.Cleanup(s.Close)
	return s
}

func TestAnswers(t *testing.T) {
	const stream = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
	for name, c := range map[string]struct {
		path, body string
		code       int
		want       []string // in this order
	}{
		"anthropic": {"/v1/messages", `{"stream":true,` + tools + `,"messages":[{"role":"user","content":"[[text hello you]]"}]}`,
			200, []string{"event: message_start", `"text":"hello "`, `"text":"you"`, `"stop_reason":"end_turn"`, "event: message_stop"}},
		"anthropic, whole": {"/v1/messages", `{` + tools + `,"messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"<system-reminder>[[text no]]</system-reminder>"}]}]}`,
			200, []string{`"text":"ok"`, `"stop_reason":"end_turn"`}},
		"anthropic calls a tool": {"/v1/messages", `{"stream":true,` + tools + `,"messages":[{"role":"user","content":"[[tool bash: ls]] [[text never]]"}]}`,
			200, []string{`"name":"Bash"`, `\"command\":\"ls\"`, `"stop_reason":"tool_use"`}},
		"anthropic goes on after the tool": {"/v1/messages", `{"stream":true,` + tools + `,"messages":[{"role":"user","content":"[[tool bash: ls]] [[text after it]]"},
			{"role":"assistant","content":[]},{"role":"user","content":[{"type":"tool_result","content":"a"}]}]}`,
			200, []string{`"text":"after "`, `"stop_reason":"end_turn"`}},
		"anthropic fails":         {"/v1/messages", `{` + tools + `,"messages":[{"role":"user","content":"[[status 429]]"}]}`, 429, []string{"scripted too many requests", "rate_limit_error"}},
		"anthropic on the side":   {"/v1/messages", `{"messages":[{"role":"user","content":"a title for [[status 500]]"}]}`, 200, []string{`\"title\":\"Scripted turn\"`}},
		"anthropic counts tokens": {"/v1/messages/count_tokens", `{}`, 200, []string{`{"input_tokens":1200}`}},
		"openai": {"/v1/responses", `{"stream":true,"tools":[{"name":"shell"}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"[[text hello you]]"}]},
			{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context/>"}]}]}`,
			200, []string{"event: response.created", `"delta":"hello "`, `"text":"hello you"`, "event: response.completed", `"total_tokens":1234`}},
		"openai calls a tool": {"/v1/responses", `{"stream":true,"tools":[{"name":"exec_command"}],"input":"[[tool bash: ls]]"}`,
			200, []string{`"arguments":"{\"cmd\":\"ls\"}"`, `"name":"exec_command"`, `"type":"function_call"`, "response.completed"}},
		"openai asks a person": {"/v1/responses", `{"tools":[{"name":"exec_command"}],"input":"[[tool ask: ls]]"}`,
			200, []string{`\"cmd\":\"ls\"`, "require_escalated"}},
		"openai goes on after the tool": {"/v1/responses", `{"tools":[{"name":"exec_command"}],"input":[{"role":"user","content":[{"text":"[[tool bash: ls]] [[text after]]"}]},{"type":"function_call_output"}]}`,
			200, []string{`"text":"after"`}},
		"openai fails": {"/v1/responses", `{"tools":[{"name":"shell"}],"input":"[[status 401 who are you]]"}`, 401, []string{"who are you"}},
		"chat": {"/v1/chat/completions", `{"stream":true,"tools":[{"function":{"name":"run_shell_command"}}],"messages":[{"role":"system","content":"[[text no]]"},{"role":"user","content":"[[text hello you]]"}]}`,
			200, []string{`"delta":{"content":"hello "}`, `"finish_reason":"stop"`, `"total_tokens":1234`, "data: [DONE]"}},
		"chat calls a tool": {"/v1/chat/completions", `{"tools":[{"function":{"name":"run_shell_command"}}],"messages":[{"role":"user","content":[{"type":"text","text":"[[tool bash: ls]] [[text never]]"}]}]}`,
			200, []string{`"finish_reason":"tool_calls"`, `\"command\":\"ls\"`, `"name":"run_shell_command"`}},
		"chat goes on after the tool": {"/v1/chat/completions", `{"tools":[{"function":{"name":"a"}}],"messages":[{"role":"user","content":"[[tool a {}]] [[text after]]"},{"role":"assistant","content":null},{"role":"tool","content":"b"}]}`,
			200, []string{`"content":"after"`}},
		"chat fails":      {"/v1/chat/completions", `{"tools":[{"function":{"name":"a"}}],"messages":[{"role":"user","content":"[[status 401]]"}]}`, 401, []string{"scripted unauthorized"}},
		"chat is used up": {"/v1/chat/completions", `{"tools":[{"function":{"name":"a"}}],"messages":[{"role":"user","content":"[[limit 2h]]"}]}`, 429, []string{"insufficient_quota"}},
		"gemini": {stream, `{"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}],"contents":[{"role":"user","parts":[{"text":"[[text hello you]]"}]}]}`,
			200, []string{`"text":"hello "`, `"text":"you"`, `"finishReason":"STOP"`}},
		"gemini calls a tool": {stream, `{"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}],"contents":[{"role":"user","parts":[{"text":"[[tool bash: ls]]"}]}]}`,
			200, []string{`"functionCall":{"args":{"command":"ls"`, `"name":"run_shell_command"`}},
		"gemini goes on after the tool": {stream, `{"tools":[{"functionDeclarations":[{"name":"a"}]}],"contents":[{"role":"user","parts":[{"text":"[[tool a {}]] [[text after]]"}]},{"role":"user","parts":[{"functionResponse":{}}]}]}`,
			200, []string{`"text":"after"`}},
		"gemini, whole":        {"/v1beta/models/gemini-x:generateContent", `{"contents":[{"role":"user","parts":[{"text":"who is next?"}]}]}`, 200, []string{`\"next_speaker\":\"user\"`}},
		"gemini fails":         {stream, `{"tools":[{"functionDeclarations":[{"name":"a"}]}],"contents":[{"role":"user","parts":[{"text":"[[status 429]]"}]}]}`, 429, []string{"RESOURCE_EXHAUSTED"}},
		"anthropic is used up": {"/v1/messages", `{` + tools + `,"messages":[{"role":"user","content":"[[limit 2h]]"}]}`, 429, []string{"rate_limit_error"}},
		"openai is used up":    {"/v1/responses", `{"tools":[{"name":"shell"}],"input":"[[limit 2h]]"}`, 429, []string{"resets_at", "usage_limit_reached"}},
		"gemini is used up":    {stream, `{"tools":[{"functionDeclarations":[{"name":"a"}]}],"contents":[{"role":"user","parts":[{"text":"[[limit 2h]]"}]}]}`, 429, []string{"QuotaFailure", "retryDelay"}},
		"cut":                  {"/v1/messages", `{"stream":true,` + tools + `,"messages":[{"role":"user","content":"[[text half]] [[cut]]"}]}`, 200, []string{`"text":"half"`, "unexpected EOF"}},
		"no JSON":              {"/v1/messages", `{`, 400, []string{"unexpected end"}},
		"elsewhere":            {"/v1/organizations", `{}`, 404, []string{"not found"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, got := ask(t, start(t), c.path, c.body)
			if code != c.code {
				t.Errorf("status %d, want %d", code, c.code)
			}
			inOrder(t, got, c.want)
		})
	}
}

// inOrder fails the test unless a text has all parts, in their order.
func inOrder(t *testing.T, text string, parts []string) {
	t.Helper()
	rest := text
	for _, want := range parts {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is not there, or not in its place:\n%s", want, text)
		}
		rest = after
	}
}

func TestRetriesAreCounted(t *testing.T) {
	s := start(t)
	body := `{` + tools + `,"messages":[{"role":"user","content":"[[status 529 x2]] [[text at last]]"}]}`
	for attempt, want := range []int{529, 529, 200, 200} {
		if code, got := ask(t, s, "/v1/messages", body); code != want {
			t.Errorf("attempt %d: status %d, want %d\n%s", attempt+1, code, want, got)
		}
	}
	turns := s.Turns()
	if len(turns) != 4 || turns[3].Prompt() != "[[status 529 x2]] [[text at last]]" || turns[3].API != "anthropic" || !cmp.Equal(turns[3].Tools, []string{"Bash", "Write"}) {
		t.Errorf("recorded: %+v", turns)
	}
}

// What never ends, ends with the server.
func TestCloseEndsAHang(t *testing.T) {
	for _, script := range []string{"[[hang]]", "[[stall]]", "[[delay 1h]]"} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t)
			done := make(chan error, 1)
			go func() {
				resp, err := client().Post(s.URL+"/v1/messages", "application/json",
					strings.NewReader(`{"stream":true,`+tools+`,"messages":[{"role":"user","content":"`+script+`"}]}`))
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					_ = resp.Body.Close()
				}
				done <- err
			}()
			synctest.Wait()
			if len(s.Turns()) != 1 {
				t.Fatal("no request arrived")
			}
			s.Close()
			if err := <-done; err == nil {
				t.Errorf("%s was answered", script)
			}
		})
	}
}
