package docs_test

import (
	"encoding/xml"
	"os"
	"testing"
)

// TestDemoPicture checks that each line of docs/demo.svg keeps its columns in today's browsers.
func TestDemoPicture(t *testing.T) {
	text, err := os.ReadFile("demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	var picture struct {
		Lines []struct {
			Style string `xml:"style,attr"`
			Text  string `xml:",innerxml"`
		} `xml:"g>text"`
	}
	if err := xml.Unmarshal(text, &picture); err != nil || len(picture.Lines) == 0 {
		t.Fatalf("%d lines of text, %v", len(picture.Lines), err)
	}
	for _, line := range picture.Lines {
		if line.Style != "white-space:pre" {
			t.Errorf("style %q, so that runs of spaces become one: %s", line.Style, line.Text)
		}
	}
}
