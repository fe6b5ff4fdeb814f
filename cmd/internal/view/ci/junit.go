package ci

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// JUnit writes a test case for each session, which fails if the session has drifted and is in error
// if it could not be inspected, and one for whether the inspection was complete.
func JUnit(w io.Writer, r view.DriftReport) error {
	r = r.Near()
	class := "agentform." + plaintext.OneLine(r.Project)
	s := junitSuite{Name: "agentform drift: " + plaintext.OneLine(r.Project), Timestamp: wire.UTC(r.At).Format("2006-01-02T15:04:05")}
	at := map[session.Address]int{} // in s.Cases
	of := func(a session.Address) *junitCase {
		if _, known := at[a]; !known {
			at[a] = len(s.Cases)
			s.Cases = append(s.Cases, junitCase{Name: plaintext.OneLine(string(a)), Class: class})
		}
		return &s.Cases[at[a]]
	}
	for _, a := range r.Sessions {
		of(a)
	}
	for _, i := range r.Items {
		of(i.Address).fail(i)
	}
	s.Cases = append(s.Cases, inspection(r, class))
	for _, c := range s.Cases {
		switch {
		case c.Error != nil:
			s.Errors++
		case c.Failure != nil:
			s.Failures++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
	s.Tests = len(s.Cases)
	b, err := xml.MarshalIndent(struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Suite    junitSuite `xml:"testsuite"`
	}{Tests: s.Tests, Failures: s.Failures, Errors: s.Errors, Suite: s}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode JUnit: %w", err)
	}
	_, err = io.WriteString(w, xml.Header+string(b)+"\n")
	return err
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr,omitempty"`
	Error   *junitOutcome `xml:"error"`
	Failure *junitOutcome `xml:"failure"`
	Skipped *junitOutcome `xml:"skipped"`
}

type junitOutcome struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// fail adds an item to the failure, if there is one.
func (c *junitCase) fail(i view.DriftItem) {
	if i.Range != nil {
		c.File = plaintext.OneLine(i.Range.Filename)
	}
	into := &c.Failure
	if i.Kind == plan.Unreachable {
		into = &c.Error
	}
	if *into == nil {
		*into = &junitOutcome{Message: plaintext.OneLine(i.Words()), Type: plaintext.OneLine(string(i.Kind)), Text: plaintext.Safe(i.Detail)}
		return
	}
	(*into).Text += "\n" + plaintext.Safe(i.Words())
}

func inspection(r view.DriftReport, class string) junitCase {
	c := junitCase{Name: "running sessions were inspected", Class: class}
	var told []string
	for _, d := range r.Problems {
		told = append(told, plaintext.Safe(strings.TrimSpace(d.Summary+"\n"+d.Detail)))
	}
	outcome := &junitOutcome{Message: plaintext.OneLine(r.Verdict()), Text: strings.Join(told, "\n")}
	switch {
	case r.Offline:
		c.Skipped = outcome
	case !r.Complete:
		c.Error = outcome
	}
	return c
}
