package modelserver

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// step is one thing that a script says to do.
type step struct {
	verb  string
	delay time.Duration // delay; limit: until it ends; status: until another try
	text  string        // text; status: the message; await: the file
	tool  string        // tool: its name; bash or ask: the program's own shell
	args  string        // tool: JSON; of bash and ask a command line
	code  int           // status
	times int           // status: for how many attempts; 0: all
	usage Usage         // usage
}

var (
	// A step ends with the first "]]" that no third bracket follows, so that JSON
	// and shell may hold brackets.
	steps      = regexp.MustCompile(`(?s)\[\[\s*(delay|await|text|tool|status|limit|usage|stall|hang|cut)\b(.*?)\]\](?:[^\]]|$)`)
	statusForm = regexp.MustCompile(`(?s)^(\d{3})(?:\s+x(\d+))?(?:\s+after\s+(\d+[smh]))?\s*(.*)$`)
	toolForm   = regexp.MustCompile(`(?s)^([\w.-]+?)(?::\s*|\s+)(.+)$`)
)

// parse reads the script in a prompt. What makes no sense becomes what the model
// says, so that the test's author sees it.
func parse(prompt string) []step {
	var all []step
	for prompt != "" {
		m := steps.FindStringSubmatchIndex(prompt)
		if m == nil {
			break
		}
		verb, rest := prompt[m[2]:m[3]], strings.TrimSpace(prompt[m[4]:m[5]])
		s, err := parseStep(verb, rest)
		if err != nil {
			s = step{verb: "text", text: err.Error()}
		}
		all = append(all, s)
		prompt = prompt[m[5]+len("]]"):]
	}
	return all
}

func parseStep(verb, rest string) (step, error) {
	s := step{verb: verb}
	switch verb {
	case "delay", "limit":
		d, err := time.ParseDuration(rest)
		if err != nil {
			return s, fmt.Errorf("script: [[%s %s]]: %w", verb, rest, err)
		}
		s.delay = d
	case "text", "await":
		s.text = rest
	case "lines":
		n, err := strconv.Atoi(rest)
		if err != nil {
			return s, fmt.Errorf("script: [[lines %s]]: %w", rest, err)
		}
		for i := range n {
			s.text += fmt.Sprintf("- line %d of %d\n", i+1, n)
		}
	case "usage":
		u, err := parseUsage(rest)
		if err != nil {
			return s, fmt.Errorf("script: [[usage %s]]: %w", rest, err)
		}
		s.usage = u
	case "status":
		m := statusForm.FindStringSubmatch(rest)
		if m == nil {
			return s, fmt.Errorf("script: [[status %s]] has no status of three digits", rest)
		}
		s.code, _ = strconv.Atoi(m[1])
		s.times, _ = strconv.Atoi(m[2])
		s.delay, _ = time.ParseDuration(m[3]) // empty: none
		s.text = m[4]
	case "tool":
		m := toolForm.FindStringSubmatch(rest)
		if m == nil {
			return s, fmt.Errorf("script: [[tool %s]] has no name and arguments", rest)
		}
		s.tool, s.args = m[1], m[2]
		if !s.shell() && !json.Valid([]byte(s.args)) {
			return s, fmt.Errorf("script: [[tool %s]]: the arguments are no JSON", rest)
		}
	}
	return s, nil
}

// shell reports whether a tool call is for the program's own shell.
func (s step) shell() bool { return s.tool == "bash" || s.tool == "ask" }

// segment is the part of a script that is due after some tool results: each tool
// call ends one.
func segment(all []step, results int) []step {
	for i, s := range all {
		if s.verb != "tool" {
			continue
		}
		if results == 0 {
			return all[:i+1]
		}
		return segment(all[i+1:], results-1)
	}
	return all
}
