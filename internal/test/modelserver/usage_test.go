package modelserver

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// What an answer says that it took is what the server counts, once.
func TestUsage(t *testing.T) {
	const script = `[[usage {\"input\":10,\"cache_read\":20,\"cache_write_5m\":4,\"cache_write_1h\":3,\"output\":30,\"reasoning\":5}]] [[text hi]]`
	whole := Usage{Input: 10, CacheRead: 20, CacheWrite5m: 4, CacheWrite1h: 3, Output: 30, Reasoning: 5}
	for name, c := range map[string]struct {
		path, body string
		want       []string
	}{
		"anthropic": {"/v1/messages", `{"model":"m","stream":true,` + tools + `,"messages":[{"role":"user","content":"` + script + `"}]}`, []string{
			`"cache_creation":{"ephemeral_1h_input_tokens":3,"ephemeral_5m_input_tokens":4},"cache_creation_input_tokens":7,"cache_read_input_tokens":20,"input_tokens":10,"output_tokens":1,`,
			`"cache_read_input_tokens":20,"input_tokens":10,"output_tokens":30,`,
		}},
		"openai": {"/v1/responses", `{"model":"m","tools":[{"name":"shell"}],"input":"` + script + `"}`, []string{
			`"usage":{"input_tokens":37,"input_tokens_details":{"cached_tokens":20},"output_tokens":30,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":67}`,
		}},
		"chat": {"/v1/chat/completions", `{"model":"m","stream":true,"tools":[{"function":{"name":"shell"}}],"messages":[{"role":"user","content":"` + script + `"}]}`, []string{
			`"usage":{"completion_tokens":30,"completion_tokens_details":{"reasoning_tokens":5},"prompt_tokens":37,"prompt_tokens_details":{"cached_tokens":20},"total_tokens":67}`,
		}},
		"gemini": {"/v1beta/models/m:generateContent", `{"tools":[{"functionDeclarations":[{"name":"a"}]}],"contents":[{"role":"user","parts":[{"text":"` + script + `"}]}]}`, []string{
			`"usageMetadata":{"cachedContentTokenCount":20,"candidatesTokenCount":25,"promptTokenCount":37,"thoughtsTokenCount":5,"totalTokenCount":67}`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			_, got := ask(t, s, c.path, c.body)
			inOrder(t, got, c.want)
			if diff := cmp.Diff([]Spent{{Model: "m", Usage: whole}}, s.Spent(), cmpopts.IgnoreFields(Spent{}, "Prompt")); diff != "" {
				t.Error(diff)
			}
		})
	}
	s := start(t)
	ask(t, s, "/v1/messages", `{"stream":true,`+tools+`,"messages":[{"role":"user","content":"[[text half]] [[cut]]"}]}`)
	ask(t, s, "/v1/messages", `{"model":"side","messages":[{"role":"user","content":"a title"}]}`)
	cut := plainUsage
	cut.Output = 1
	if diff := cmp.Diff([]Spent{{Prompt: "[[text half]] [[cut]]", Usage: cut}, {Model: "side", Side: true, Prompt: "a title", Usage: plainUsage}}, s.Spent()); diff != "" {
		t.Errorf("an answer that is cut counts as far as it was told, and one on the side does: %s", diff)
	}
}
