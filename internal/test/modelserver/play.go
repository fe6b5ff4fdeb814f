package modelserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sideAnswer has every answer that the programs look for behind the scenes: a
// title, whether the topic is new, who speaks next, which model to take.
const sideAnswer = `{"title":"Scripted turn","isNewTopic":false,"reasoning":"scripted","next_speaker":"user","model_choice":"flash","complexity_score":1,"complexity_reasoning":"scripted"}`

// speaker says an answer in the language of one API.
type speaker interface {
	// uses says what the answer takes, before all else.
	uses(u Usage)
	// partly is what of that an answer tells that is never ended.
	partly() Usage
	// begin sends what comes before any content; once only.
	begin()
	text(s string)
	tool(name, args string)
	end()
	// fail answers with an HTTP status, and nothing else. After that time it may be
	// tried again; 0: nothing is said of it.
	fail(code int, message string, after time.Duration)
	// limit answers that the account may ask no more until then.
	limit(end time.Time)
}

type object = map[string]any

// play answers a request as the script in its last prompt says.
func (s *Server) play(ctx context.Context, r Request, to speaker) {
	s.record(r)
	if r.Side {
		to.uses(plainUsage)
		to.begin()
		to.text(sideAnswer)
		s.spend(r, plainUsage)
		to.end()
		return
	}
	prompt, said := r.Prompt(), false
	due := segment(parse(prompt), r.Results)
	uses := usageOf(due)
	to.uses(uses)
	for i, st := range due {
		switch st.verb {
		case "delay":
			if !wait(ctx, st.delay) {
				panic(http.ErrAbortHandler) // else it were an empty answer
			}
		case "await":
			for {
				if _, err := os.Stat(st.text); err == nil {
					break
				}
				if !wait(ctx, 50*time.Millisecond) {
					panic(http.ErrAbortHandler)
				}
			}
		case "text", "lines":
			if !said {
				to.begin()
			}
			to.text(st.text)
			said = true
		case "tool":
			if !said {
				to.begin()
			}
			name, args := call(r, st)
			to.tool(name, args)
			said = true
		case "status":
			if n := s.attempt(prompt, r.Results, i); !said && (st.times == 0 || n <= st.times) {
				to.fail(st.code, st.text, st.delay)
				return
			}
		case "limit":
			if !said {
				to.limit(time.Now().Add(st.delay))
				return
			}
		case "stall", "cut":
			if !said {
				to.begin()
			}
			if u := to.partly(); u != (Usage{}) {
				s.spend(r, u)
			}
			if st.verb == "stall" {
				<-ctx.Done()
			}
			panic(http.ErrAbortHandler) // closes the connection in the middle
		case "hang":
			<-ctx.Done()
			panic(http.ErrAbortHandler)
		}
	}
	if !said {
		to.begin()
		to.text("ok")
	}
	s.spend(r, uses)
	to.end()
}

// wait reports whether the time went by before the request was given up.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// shells are the shell tools of the programs, by name, and the arguments of a
// command line; ask says that it is to leave the sandbox, so that a person is
// asked where the program has one.
var shells = []struct {
	name string
	args func(command string, ask bool) object
}{
	{"Bash", described},
	{"bash", described},
	{"run_shell_command", described},
	{"exec_command", func(command string, ask bool) object {
		args := object{"cmd": command}
		if ask {
			args["sandbox_permissions"], args["justification"] = "require_escalated", "May the script run this command?"
		}
		return args
	}},
}

func described(command string, _ bool) object {
	return object{"command": command, "description": "Run a command"}
}

// call is a tool's name and arguments (JSON), as the program has it.
func call(r Request, st step) (name, args string) {
	if !st.shell() {
		return st.tool, st.args
	}
	for _, sh := range shells {
		if slices.Contains(r.Tools, sh.name) {
			b, err := json.Marshal(sh.args(st.args, st.tool == "ask"))
			if err != nil {
				panic(fmt.Sprintf("arguments of %s: %v", sh.name, err)) // strings always marshal
			}
			return sh.name, string(b)
		}
	}
	return st.tool, fmt.Sprintf(`{"command":%q}`, st.args)
}

// pieces cuts a text into what a model streams: a word at a time.
func pieces(text string) []string { return strings.SplitAfter(text, " ") }

func message(code int, text string) string {
	if text != "" {
		return text
	}
	return "scripted " + strings.ToLower(http.StatusText(code))
}

// refuse begins an answer with an HTTP status that is no success.
func refuse(w http.ResponseWriter, code int, after time.Duration) {
	w.Header().Set("Content-Type", "application/json")
	if after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(after.Seconds())))
	}
	w.WriteHeader(code)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that has gone is no fault
}

// events writes server-sent events.
type events struct{ w http.ResponseWriter }

func (e events) begin() {
	e.w.Header().Set("Content-Type", "text/event-stream")
	e.w.WriteHeader(http.StatusOK)
	e.flush()
}

func (e events) flush() {
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}

// send writes one event; without a name it has only data.
func (e events) send(name string, data object) {
	if name != "" {
		_, _ = fmt.Fprintf(e.w, "event: %s\n", name)
	}
	b, err := json.Marshal(data)
	if err != nil {
		panic(fmt.Sprintf("event %s: %v", name, err)) // made of plain values only
	}
	_, _ = fmt.Fprintf(e.w, "data: %s\n\n", b)
	e.flush()
}
