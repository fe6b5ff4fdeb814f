package fakeagent

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// composer is a terminal in the manner of coding agents: a line in which a text is
// composed, pasted in one piece or typed, and which keeps it until Enter takes it.
type composer struct {
	in   *bufio.Reader
	text []rune
	deaf int // so many times more Enter breaks the line
}

// The keys that it knows.
const (
	ctrlC     = 0x03
	ctrlD     = 0x04
	enter     = '\r'
	newline   = '\n'
	ctrlU     = 0x15
	escape    = 0x1b
	backspace = 0x7f
)

// raw takes the terminal over, with pastes marked; the function gives it back.
func raw() (restore func(), err error) {
	before, err := term.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		return nil, err
	}
	fmt.Print("\x1b[?2004h")
	return func() {
		fmt.Print("\x1b[?2004l")
		_ = term.Restore(int(os.Stdin.Fd()), before)
	}, nil
}

// draw shows the last line of what is composed; the first one has the mark.
func (c *composer) draw() {
	rows, mark := strings.Split(string(c.text), "\n"), "❯ "
	if len(rows) > 1 {
		mark = "  "
	}
	fmt.Printf("\r\x1b[K%s%s", mark, rows[len(rows)-1])
}

// next is the next text that Enter took. False: there are no more.
func (c *composer) next() (string, bool) {
	c.draw()
	for {
		r, _, err := c.in.ReadRune()
		switch {
		case err != nil || r == ctrlC || r == ctrlD:
			return "", false
		case r == escape:
			c.paste()
		case r == ctrlU:
			c.text = c.text[:strings.LastIndexByte(string(c.text), newline)+1]
		case r == backspace && len(c.text) > 0:
			if c.text[len(c.text)-1] == newline {
				fmt.Print("\r\x1b[K\x1b[A")
			}
			c.text = c.text[:len(c.text)-1]
		case r == enter && c.deaf > 0:
			c.deaf--
			c.text = append(c.text, newline)
			fmt.Print("\r\n")
		case r == enter && len(c.text) > 0:
			text := string(c.text)
			c.text = nil
			fmt.Printf("\r\x1b[K> %s\r\n", strings.ReplaceAll(text, "\n", "\r\n  "))
			return text, true
		case r >= ' ' || r == newline:
			c.text = append(c.text, r)
		}
		c.draw()
	}
}

// paste takes what stands between the marks of a paste. Other sequences, such as
// of arrows, are passed over.
func (c *composer) paste() {
	if c.sequence() != "[200~" {
		return
	}
	for {
		r, _, err := c.in.ReadRune()
		switch {
		case err != nil:
			return
		case r == escape:
			c.sequence()
			return
		case r == enter:
			r = newline
		}
		if r == newline {
			c.draw()
			fmt.Print("\r\n")
		}
		c.text = append(c.text, r)
	}
}

func (c *composer) sequence() string {
	var s strings.Builder
	for {
		r, _, err := c.in.ReadRune()
		if err != nil {
			return ""
		}
		s.WriteRune(r)
		if r >= '@' && r != '[' {
			return s.String()
		}
	}
}

// dialog are the answers of a dialog.
var dialog = []string{"Yes", "Yes, and don't ask again for this command", "No"}

// answer shows a dialog, in which there is no composer, until an answer is chosen: with
// the cursor and Enter, or by any other key.
func (c *composer) answer(question string) rune {
	fmt.Print("\r\x1b[K")
	rows := strings.Count(question, "\r\n") + len(dialog) + 3
	for marked := 0; ; {
		fmt.Printf("────────────────────────────────\r\n%s\r\n", question)
		for i, label := range dialog {
			mark := " "
			if i == marked {
				mark = "❯"
			}
			fmt.Printf("%s %d. %s\r\n", mark, i+1, label)
		}
		fmt.Print("\r\nEsc to cancel")
		r, _, err := c.in.ReadRune()
		if err != nil {
			return 0
		}
		fmt.Printf("\r\x1b[%dA\x1b[J", rows)
		if r == escape && c.in.Buffered() > 0 {
			switch c.sequence() {
			case "[A", "OA":
				marked = max(0, marked-1)
			case "[B", "OB":
				marked = min(len(dialog)-1, marked+1)
			}
			continue
		}
		if r == enter {
			r = rune('1' + marked)
		}
		return r
	}
}

// converse is a session in the manner of Claude Code: what Enter takes is worked
// at, as its first word says.
//
//	work until FILE TEXT  works until the file exists and says TEXT
//	turn until FILE TEXT  the same
//	work TEXT             says TEXT at once
//	ask TEXT              asks for a permission to run TEXT
//	strange TEXT          shows a dialog that nobody knows
//	deaf N                the next N times Enter only breaks the line
//	fail                  ends the turn with a failure of the model
//	exit N                leaves
func converse(as *claude, prompt string, boot time.Duration) int {
	restore, err := raw()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakeagent:", err)
		return 1
	}
	defer restore()
	time.Sleep(boot)
	c := &composer{in: bufio.NewReader(os.Stdin)}
	fmt.Printf("\x1b]2;✳ fake\x07%s\r\n? for shortcuts\r\n", cmp.Or(os.Getenv("FAKE_NAME"), "fakeagent 1.0, at your service"))
	as.is("idle", "")
	as.tell("SessionStart", nil)
	defer as.left()
	for text := prompt; ; text = "" {
		if text == "" {
			var more bool
			if text, more = c.next(); !more {
				return 0
			}
		}
		if code, leaves := as.turn(c, text); leaves {
			return code
		}
	}
}

// turn works at one text.
func (c *claude) turn(t *composer, text string) (code int, leaves bool) {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "exit":
		_, _ = fmt.Sscan(rest, &code)
		return code, true
	case "deaf":
		_, _ = fmt.Sscan(rest, &t.deaf)
		return 0, false
	case "strange":
		t.answer(rest)
		return 0, false
	}
	c.is("busy", "")
	c.tell("UserPromptSubmit", map[string]any{"prompt": text})
	c.said("user", text)
	fmt.Print("\x1b]2;⠋ fake\x07Working… (esc to interrupt)")
	reply := cmp.Or(os.Getenv("FAKE_REPLY"), "you said: "+text)
	if file := os.Getenv("FAKE_UNTIL"); file != "" {
		until("until " + file)
	}
	switch word {
	case "work", "turn":
		reply = until(rest)
	case "ask":
		c.is("waiting", "permission prompt")
		c.tell("PermissionRequest", map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": rest}})
		reply = "the answer was " + string(t.answer("Bash command\r\n\r\n  "+rest+"\r\n\r\nDo you want to proceed?"))
	}
	fmt.Printf("\r\x1b[K%s\r\n", strings.ReplaceAll(reply, "\n", "\r\n"))
	if word == "fail" {
		c.keep(map[string]any{"type": "assistant", "isApiErrorMessage": true, "error": "server_error", "message": map[string]any{"content": "API Error: 500"}})
	} else {
		c.said("assistant", reply)
	}
	c.keep(map[string]any{"type": "system", "subtype": "turn_duration", "durationMs": 1})
	c.is("idle", "")
	fmt.Print("\x1b]2;✳ fake\x07")
	if word == "fail" {
		c.tell("StopFailure", map[string]any{"error": "server_error", "last_assistant_message": "API Error: 500"})
	} else {
		c.tell("Stop", map[string]any{"last_assistant_message": reply})
	}
	return 0, false
}
