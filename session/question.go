package session

import (
	"fmt"
	"strings"
)

// Question is what a dialog on an agent's screen asks.
type Question struct {
	// ID identifies the dialog by its text, whichever option is marked. Two dialogs with the same
	// text in one run have the same ID.
	ID      string   `json:"id"`
	Text    string   `json:"text"`    // one line, for people: run "touch x"?
	Options []Option `json:"options"` // as drawn; empty: a text answers it
	Free    bool     `json:"free_text"`
	Several bool     `json:"several"` // more than one option can be chosen
	Says    string   `json:"-"`       // the dialog's text above its answers, without white space
	Marked  int      `json:"-"`       // number of the option with the cursor; 0: no cursor
	Above   string   `json:"-"`       // what the screen shows above the dialog
}

// Option is one answer that a dialog offers.
type Option struct {
	Number int    `json:"number"`          // from 1, as drawn
	Word   string `json:"word,omitempty"`  // yes, always or no, by the option's text
	Label  string `json:"label"`           // as drawn, without its number and key
	About  string `json:"about,omitempty"` // the dialog's text below the label
	Key    string `json:"key,omitempty"`   // the keys that choose it, in their order: y, 1, Escape, Right Enter
	Text   bool   `json:"text,omitempty"`  // choosing it is typing a text
}

// The words of options. Always is a yes that also answers later questions.
const (
	Yes    = "yes"
	Always = "always"
	No     = "no"
)

// Name returns how an option is shown and named in a command: its word, or its number and
// label.
func (o Option) Name() string {
	if o.Word != "" {
		return o.Word
	}
	return fmt.Sprintf("%d %s", o.Number, cutText(o.Label, 32))
}

// Names returns the names of the options.
func (q Question) Names() []string {
	names := make([]string, len(q.Options))
	for i, o := range q.Options {
		names[i] = o.Name()
	}
	return names
}

// String returns the question with its answers in one line: run "touch x"? [yes] [no].
func (q Question) String() string {
	var b strings.Builder
	b.WriteString(q.Text)
	for _, o := range q.Options {
		fmt.Fprintf(&b, " [%s]", o.Name())
	}
	if len(q.Options) == 0 {
		b.WriteString(" [TEXT]")
	}
	return b.String()
}

// cutText returns a text of at most n characters.
func cutText(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return strings.TrimSpace(string(r[:n-1])) + "…"
	}
	return s
}
