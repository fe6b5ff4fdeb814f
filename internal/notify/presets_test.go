package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/internal/test/pipe"
)

// service is a chat that takes what the real one takes, and shows a message as it does.
type service struct {
	*httptest.Server
	shown   []string // each as a person reads it
	refused []string // what the real one would refuse
	limited func(w http.ResponseWriter) bool
	calls   atomic.Int32
}

// serve runs a service. take returns a message as it is shown, or the status and answer of
// a refusal.
func serve(t *testing.T, take func(r *http.Request, body []byte) (shown string, status int, answer string)) *service {
	s := &service{}
	s.Server = pipe.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		if s.limited != nil && s.limited(w) {
			return
		}
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		shown, status, answer := take(r, body)
		if status >= 300 {
			s.refused = append(s.refused, answer)
		} else {
			s.shown = append(s.shown, shown)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	return s
}

// object reads JSON that may have these fields only.
func object(r *http.Request, body []byte, into any) bool {
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") && d.Decode(into) == nil
}

const token = "s3cr3tT0kenOfTheHook"

// https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks#handling_errors
func slackService(t *testing.T) *service {
	return serve(t, func(r *http.Request, body []byte) (string, int, string) {
		var m struct {
			Text   string `json:"text"`
			Mrkdwn *bool  `json:"mrkdwn"`
		}
		switch {
		case r.URL.Path != "/services/T0/B0/"+token:
			return "", http.StatusForbidden, "invalid_token"
		case !object(r, body, &m):
			return "", http.StatusBadRequest, "invalid_payload"
		case m.Text == "":
			return "", http.StatusBadRequest, "no_text"
		}
		if m.Mrkdwn == nil || *m.Mrkdwn || utf8.RuneCountInString(m.Text) > 4000 ||
			strings.ContainsAny(m.Text, "<>") || regexp.MustCompile(`&($|[^agl]|a[^m]|[gl][^t])`).MatchString(m.Text) {
			t.Errorf("Slack would show something else: %.300q", m.Text)
		}
		return strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">").Replace(m.Text), http.StatusOK, "ok"
	})
}

// https://discord.com/developers/docs/resources/webhook#execute-webhook
func discordService(t *testing.T) *service {
	return serve(t, func(r *http.Request, body []byte) (string, int, string) {
		var m struct {
			Content  string `json:"content"`
			Mentions *struct {
				Parse []string `json:"parse"`
			} `json:"allowed_mentions"`
			Flags int `json:"flags"`
		}
		switch {
		case r.URL.Path != "/api/webhooks/11/"+token:
			return "", http.StatusUnauthorized, `{"message": "Invalid Webhook Token", "code": 50027}`
		case !object(r, body, &m):
			return "", http.StatusBadRequest, `{"message": "The request body contains invalid JSON.", "code": 50109}`
		case m.Content == "":
			return "", http.StatusBadRequest, `{"message": "Cannot send an empty message", "code": 50006}`
		case utf16Len(m.Content) > 2000:
			return "", http.StatusBadRequest, `{"message": "Invalid Form Body", "code": 50035, "errors": {"content": {"_errors": [{"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length."}]}}}`
		}
		if m.Mentions == nil || m.Mentions.Parse == nil || len(m.Mentions.Parse) > 0 || m.Flags != 4 {
			t.Errorf("Discord would mention people or embed links: %s", body)
		}
		return discordShows(t, m.Content), http.StatusNoContent, ""
	})
}

// discordShows reads Discord's markdown, with bold, code blocks and links in <>.
func discordShows(t *testing.T, s string) string {
	var shown strings.Builder
	for s != "" {
		switch {
		case strings.HasPrefix(s, "```\n"):
			code, rest, closed := strings.Cut(s[4:], "```")
			if !closed {
				t.Errorf("a code block without an end: %.300q", s)
			}
			shown.WriteString(strings.TrimSuffix(code, "\n"))
			s = rest
		case s[0] == '\\' && len(s) > 1 && s[1] < utf8.RuneSelf && regexp.MustCompile(`[^0-9A-Za-z\s]`).MatchString(s[1:2]):
			shown.WriteByte(s[1])
			s = s[2:]
		case strings.HasPrefix(s, "**"):
			s = s[2:]
		case strings.HasPrefix(s, "<https://"):
			link, rest, _ := strings.Cut(s[1:], ">")
			shown.WriteString(link)
			s = rest
		case strings.ContainsRune("*_~`|>#[]<@\\", rune(s[0])):
			t.Errorf("markup that is not ours: %.300q", s)
			return ""
		default:
			shown.WriteByte(s[0])
			s = s[1:]
		}
	}
	return shown.String()
}

// https://docs.ntfy.sh/publish/
func ntfyService(t *testing.T) *service {
	return serve(t, func(r *http.Request, body []byte) (string, int, string) {
		_, password, _ := r.BasicAuth() // an access token, with an empty user name
		switch {
		case !regexp.MustCompile(`^/[-_A-Za-z0-9]{1,64}$`).MatchString(r.URL.Path):
			return "", http.StatusNotFound, `{"code":40401,"http":404,"error":"page not found"}`
		case password != token:
			return "", http.StatusForbidden, `{"code":40301,"http":403,"error":"forbidden","link":"https://ntfy.sh/docs/publish/#authentication"}`
		}
		if len(body) == 0 || len(body) > 4096 || !utf8.Valid(body) {
			t.Errorf("ntfy would show a file, or triggered: %d bytes", len(body))
		}
		for name, values := range r.Header {
			if strings.ContainsFunc(values[0], func(c rune) bool { return c < ' ' || c > '~' }) {
				t.Errorf("header %s: %q", name, values[0])
			}
		}
		if p := r.Header.Get("Priority"); p != "" && !slices.Contains([]string{"min", "low", "default", "high", "max"}, p) {
			return "", http.StatusBadRequest, `{"code":40007,"http":400,"error":"invalid request: priority invalid"}`
		}
		title, err := new(mime.WordDecoder).DecodeHeader(r.Header.Get("Title"))
		if err != nil {
			t.Errorf("title: %v", err)
		}
		return lines(title, string(body)), http.StatusOK, `{"id":"x","event":"message"}`
	})
}

// https://core.telegram.org/bots/api#sendmessage
func telegramService(t *testing.T) *service {
	return serve(t, func(r *http.Request, body []byte) (string, int, string) {
		var m struct {
			Chat    string          `json:"chat_id"`
			Thread  string          `json:"message_thread_id"`
			Text    string          `json:"text"`
			Mode    string          `json:"parse_mode"`
			Preview map[string]bool `json:"link_preview_options"`
		}
		refuse := func(status int, why string) (string, int, string) {
			return "", status, fmt.Sprintf(`{"ok":false,"error_code":%d,"description":%q}`, status, why)
		}
		switch {
		case r.URL.Path != "/bot11:"+token+"/sendMessage" || r.URL.RawQuery != "":
			return refuse(http.StatusUnauthorized, "Unauthorized")
		case !object(r, body, &m):
			return refuse(http.StatusBadRequest, "Bad Request: can't parse JSON object")
		case m.Chat != "-1001":
			return refuse(http.StatusBadRequest, "Bad Request: chat not found")
		case m.Mode != "HTML" || !m.Preview["is_disabled"]:
			t.Errorf("Telegram would show something else: %s", body)
		}
		tags := regexp.MustCompile(`</?(b|pre)>`)
		plain := tags.ReplaceAllString(m.Text, "")
		if strings.ContainsAny(plain, "<>") || regexp.MustCompile(`&($|[^aglq#])`).MatchString(plain) {
			return refuse(http.StatusBadRequest, "Bad Request: can't parse entities: unsupported start tag")
		}
		var open []string
		for _, tag := range tags.FindAllString(m.Text, -1) {
			if name, end := strings.CutPrefix(tag, "</"); !end {
				open = append(open, tag[1:])
			} else if len(open) == 0 || open[len(open)-1] != name {
				return refuse(http.StatusBadRequest, "Bad Request: can't parse entities: unmatched end tag")
			} else {
				open = open[:len(open)-1]
			}
		}
		plain = html.UnescapeString(plain)
		if len(open) > 0 || plain == "" || utf16Len(plain) > 4096 {
			return refuse(http.StatusBadRequest, "Bad Request: message is too long")
		}
		return plain, http.StatusOK, `{"ok":true,"result":{}}`
	})
}

type chat struct {
	preset  string
	start   func(t *testing.T) *service
	address func(url, token string) string
	refusal string // for a wrong token
}

var chats = []chat{
	{Slack, slackService, func(u, token string) string { return u + "/services/T0/B0/" + token }, "403 Forbidden: invalid_token"},
	{Discord, discordService, func(u, token string) string { return u + "/api/webhooks/11/" + token }, "401 Unauthorized: Invalid Webhook Token"},
	{Ntfy, ntfyService, func(u, token string) string { return strings.Replace(u, "://", "://:"+token+"@", 1) + "/agents" }, "403 Forbidden: forbidden"},
	{Telegram, telegramService, func(u, token string) string {
		return u + "/bot11:" + token + "/sendMessage?chat_id=-1001&message_thread_id=7"
	}, "401 Unauthorized: Unauthorized"},
}

func (c chat) target(s *service) Target {
	return Target{Name: c.preset, Preset: c.preset, Webhook: c.address(s.URL, token), On: []string{"blocked", "done"}}
}

// hostile is a text with the markup, mentions and control characters of all services.
const hostile = "run `rm -rf <dir> && echo \"*_~|\"`? @everyone <!channel> <@U1> <b>&amp;</b> [a](b) \\n \x1b[31mred\x07\n```js\n# x\n-# y\n> z\n```\n</pre>"

// shownHostile is what people can read of it.
const shownHostile = "run `rm -rf <dir> && echo \"*_~|\"`? @everyone <!channel> <@U1> <b>&amp;</b> [a](b) \\n red^G\n```js\n# x\n-# y\n> z\n```\n</pre>"

func TestPresets(t *testing.T) {
	events := map[string]struct {
		Event
		want string
	}{
		"question": {
			Event{Event: "blocked", Project: "shop", Address: `session.worker["a*b"]`, Branch: "agents/a_b", Detail: hostile, Excerpt: "the screen",
				Remedy: `to see what it asks: agentform attach 'worker["a*b"]'`},
			"worker[\"a*b\"] asks (shop)\n" + shownHostile + "\nBranch: agents/a_b\nto see what it asks: agentform attach 'worker[\"a*b\"]'",
		},
		"without text": {Event{Event: "turn_ended", Project: "<ö>", Address: "session.api"}, "api finished its turn (<ö>)"},
		"pull request": {
			Event{Event: "pr_detected", Project: "shop", Address: "session.api", New: "https://github.com/a/b_c/pull/7"},
			"api opened a pull request (shop)\nhttps://github.com/a/b_c/pull/7",
		},
		"no link":  {Event{Event: "pr_detected", Project: "shop", Address: "session.api", New: "https://a/<!here>"}, "api opened a pull request (shop)\nhttps://a/<!here>"},
		"reason":   {Event{Event: "escalated", Project: "shop", Address: "session.api", Reason: "budget_spent"}, "api needs you (shop)\nbudget spent"},
		"mismatch": {Event{Event: "branch_mismatch", Project: "shop", Address: "session.api", Old: "a", New: "b"}, "api is on another branch (shop)\na → b"},
	}
	for _, c := range chats {
		s := c.start(t)
		n := &Notifier{config: Config{Transport: pipe.Transport()}}
		for name, e := range events {
			s.shown = nil
			if err := n.Deliver(t.Context(), c.target(s), e.Event); err != nil {
				t.Errorf("%s, %s: %v, %q", c.preset, name, err, s.refused)
				continue
			}
			got := strings.ReplaceAll(s.shown[0], "\u200b", "")
			if c.preset == Ntfy && e.New != "" && e.Event.Event == "pr_detected" {
				got = strings.TrimSpace(got)
			}
			want := e.want
			if c.preset == Ntfy && !strings.Contains(want, "\n") {
				want += "\n" + want // a body is needed
			}
			if got != want {
				t.Errorf("%s, %s:\n%q, want\n%q", c.preset, name, got, want)
			}
		}
	}
}

// However long an event is, and whatever its characters count, services take it.
func TestPresetsFit(t *testing.T) {
	for _, c := range chats {
		s := c.start(t)
		n := &Notifier{config: Config{Transport: pipe.Transport()}}
		for _, text := range []string{"x", "&", "<", "*", "`", "```", "ö", "漢", "😀", "\x00", "\xff", "\n"} {
			for _, count := range []int{100, 490, 1000, 1990, 2000, 4090, 4096, 50_000} {
				e := Event{Event: "blocked", Project: strings.Repeat(text, count), Address: "session." + strings.Repeat(text, count),
					Branch: strings.Repeat(text, count), Detail: strings.Repeat(text, count)}
				for _, e := range []Event{{Event: "done", Project: "shop", Address: "session.api", Detail: e.Detail}, e} {
					if err := n.Deliver(t.Context(), c.target(s), e); err != nil {
						t.Errorf("%s, %d of %q: %v %q", c.preset, count, text, err, s.refused)
					}
				}
			}
		}
	}
}

// A service that is asked too often says how long to wait, each in its own way.
func TestRateLimits(t *testing.T) {
	limits := map[string]func(w http.ResponseWriter){
		Slack: func(w http.ResponseWriter) { // https://docs.slack.dev/apis/web-api/rate-limits
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, "rate_limited")
		},
		Discord: func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "65")
			w.Header().Set("X-RateLimit-Scope", "shared")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"message": "The resource is being rate limited.", "retry_after": 0.64, "global": false}`)
		},
		Ntfy: func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"code":42901,"http":429,"error":"limit reached: too many requests","link":"https://ntfy.sh/docs/publish/#limitations"}`)
		},
		Telegram: func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 1","parameters":{"retry_after":1}}`)
		},
	}
	for _, c := range chats {
		t.Run(c.preset, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := c.start(t)
				s.limited = func(w http.ResponseWriter) bool {
					if s.calls.Load() == 1 {
						limits[c.preset](w)
						return true
					}
					return false
				}
				began := time.Now()
				n := &Notifier{config: Config{Transport: pipe.Transport()}}
				err := n.Deliver(t.Context(), c.target(s), Event{Event: "done", Address: "session.api", Project: "shop"})
				if took := time.Since(began); err != nil || len(s.shown) != 1 || took != time.Second {
					t.Errorf("%v after %s, %d calls", err, took, s.calls.Load())
				}
			})
		})
	}
}

// A limit that lasts is not waited for, and nothing is sent before its end.
func TestLongRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range chats {
			s := c.start(t)
			s.limited = func(w http.ResponseWriter) bool {
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(http.StatusTooManyRequests)
				return true
			}
			var log logged
			n := New(t.Context(), Config{Targets: []Target{c.target(s)}, Transport: pipe.Transport(), Log: textLog(&log)})
			for i := range 3 {
				n.Send(Event{Event: "done", Address: "session.api", Detail: strconv.Itoa(i)})
			}
			n.Close()
			if s.calls.Load() != 1 || strings.Count(log.String(), "rate limit was reached") != 2 || !strings.Contains(log.String(), "429 Too Many Requests; it asks to wait until ") {
				t.Errorf("%s: %d calls\n%s", c.preset, s.calls.Load(), &log)
			}
		}
	})
}

// What goes wrong is said without the address, which has the token.
func TestTokensStaySecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range chats {
			s := c.start(t)
			s.limited = func(w http.ResponseWriter) bool {
				if s.calls.Load() != 4 {
					return false
				}
				w.WriteHeader(http.StatusBadRequest) // one that repeats what it was asked
				_, _ = io.WriteString(w, `{"message":"`+c.address(s.URL, token)+`"}`)
				return true
			}
			secret := func(string) (string, error) { return c.address(s.URL, token) + "\n", nil }
			n := &Notifier{config: Config{Secret: secret, Transport: pipe.Transport()}}
			try := func(what, want string, target Target) {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				target.Preset = c.preset
				err := n.Deliver(ctx, target, Event{Event: "done"})
				if got := fmt.Sprint(err); !strings.Contains(got, want) || strings.Contains(got, token) || strings.Contains(got, "wrongT0ken") {
					t.Errorf("%s, %s: %s, want %s", c.preset, what, got, want)
				}
			}
			try("from a secret", "<nil>", Target{Secret: "HOOK"})
			wrong := c.address(s.URL, "wrongT0ken")
			try("a wrong token", "webhook: it answers "+c.refusal, Target{Webhook: wrong})
			try("not a URL", "webhook: its address is not an https:// or http:// URL", Target{Webhook: "https://wrongT0ken:x%zz/"})
			try("no scheme", "webhook: its address is not an https:// or http:// URL", Target{Webhook: strings.Replace(wrong, "http", "ftp", 1)})
			try("a wrong token again", c.refusal, Target{Webhook: wrong})
			try("one that repeats the address", "webhook: it answers 400 Bad Request", Target{Secret: "HOOK"})
			s.Close()
			try("unreachable", "webhook: ", Target{Secret: "HOOK"})
			n.config.Secret = func(string) (string, error) { return "", errors.New("command \"pass\": exit status 1") }
			try("no secret", "webhook: secret HOOK: command", Target{Secret: "HOOK"})
		}
	})
}

// A secret's command that waits for somebody does not keep the hub from ending.
func TestSecretThatHangs(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	defer close(answer)
	ctx, cancel := context.WithCancel(t.Context())
	n := New(ctx, Config{Targets: []Target{{On: []string{"done"}, Secret: "HOOK"}}, Secret: func(string) (string, error) {
		close(asked)
		<-answer
		return "", nil
	}})
	n.Send(Event{Event: "done"})
	<-asked
	cancel()
	n.Close()
}

func TestAddressesOfPresets(t *testing.T) {
	n := &Notifier{config: Config{Transport: pipe.Transport()}}
	for address, want := range map[string]string{"ntfy https://ntfy.sh": "no topic", "telegram https://api.telegram.org/bot1:x/sendMessage": "names no chat"} {
		preset, webhook, _ := strings.Cut(address, " ")
		if err := n.Deliver(t.Context(), Target{Preset: preset, Webhook: webhook}, Event{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
	}
	if err := n.Deliver(t.Context(), Target{Preset: "pager", Webhook: "https://x"}, Event{}); err == nil {
		t.Error("a preset without a name was taken")
	}
}

func TestNotes(t *testing.T) {
	e := Event{Event: "blocked", Address: `session.worker["web"]`, Branch: "agents/web", Remedy: `to answer it: agentform answer 'worker["web"]' ANSWER`}
	if got, want := describe(e).notes, "Branch: agents/web\nto answer it: agentform answer 'worker[\"web\"]' ANSWER"; got != want {
		t.Errorf("notes %q, want %q", got, want)
	}
}

// notify-send reads backslash escapes in the body, and notification servers markup.
func TestDesktop(t *testing.T) {
	e := Event{Event: "blocked", Project: "shop", Address: "session.api", Detail: "--help `a\\tb` <b>&amp;</b> \"x\"", Remedy: "to see what it asks: agentform attach api"}
	want := "--help `a\\tb` <b>&amp;</b> \"x\"\nto see what it asks: agentform attach api"

	bin := t.TempDir()
	script := "#!/bin/sh\nfor a; do printf '%s\\0' \"$a\"; done >" + bin + "/args\n"
	executable.Write(t, filepath.Join(bin, "notify-send"), []byte(script), 0o755)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	argv := desktopCommand("linux", describe(e))
	n := &Notifier{config: Config{Dir: bin, Environ: os.Environ()}}
	if err := n.run(t.Context(), argv, e, nil); err != nil {
		t.Fatal(err)
	}
	n.workers.Wait()
	b, err := os.ReadFile(filepath.Join(bin, "args"))
	args := strings.Split(string(b), "\x00")
	if err != nil || len(args) != 5 || args[1] != "--" || args[2] != "api asks (shop)" {
		t.Fatalf("notify-send got %q, %v", args, err)
	}
	body, err := strconv.Unquote(`"` + strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(args[3]) + `"`) // as g_strcompress does
	if got := html.UnescapeString(body); err != nil || got != want {
		t.Errorf("shown: %q, %v, want %q", got, err, want)
	}

	argv = desktopCommand("darwin", describe(e))
	const script1 = `display notification "--help ` + "`a\\\\tb`" + ` <b>&amp;</b> \"x\"` + "\n" + `to see what it asks: agentform attach api" with title "api asks (shop)"`
	if !slices.Equal(argv, []string{"osascript", "-e", script1}) {
		t.Errorf("on macOS %q, want %q", argv[2], script1)
	}
}
