// Command picture turns a terminal's output into an SVG image: it reads text with
// SGR escape sequences from standard input and writes the image to standard output.
// scripts/picture.sh calls it for docs/demo.svg.
package main

import (
	"bufio"
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Sizes in pixels of a monospaced font.
const (
	charWidth  = 7.8
	lineHeight = 18
	margin     = 16
)

// colors maps SGR parameters to fills that are readable on a dark background.
var colors = map[string]string{
	"31": "#f47067", "32": "#8ddb8c", "33": "#e0b252", "34": "#6cb6ff", "35": "#dcbdfb", "36": "#76e3ea",
	"2": "#8b949e", "90": "#8b949e",
}

var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

func main() {
	var lines []string
	columns := 0
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		lines = append(lines, in.Text())
		columns = max(columns, utf8.RuneCountInString(sgr.ReplaceAllString(in.Text(), "")))
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
	width, height := int(float64(columns)*charWidth)+2*margin, len(lines)*lineHeight+2*margin
	fmt.Printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">`+"\n", width, height, width, height)
	fmt.Println(`<rect width="100%" height="100%" rx="8" fill="#161b22"/>`)
	fmt.Println(`<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="13" fill="#e6edf3">`)
	// Browsers honor white-space on the text itself, and xml:space on the group no longer.
	for i, line := range lines {
		if line != "" {
			fmt.Printf(`<text x="%d" y="%d" style="white-space:pre">%s</text>`+"\n", margin, margin+(i+1)*lineHeight-5, spans(line))
		}
	}
	fmt.Println("</g>\n</svg>")
}

// spans returns a line's text with a tspan for each change of style.
func spans(line string) string {
	var b strings.Builder
	fill, bold := "", false
	write := func(text string) {
		text = html.EscapeString(text)
		switch weight := ` font-weight="bold"`; {
		case text == "":
		case fill == "" && !bold:
			b.WriteString(text)
		default:
			if !bold {
				weight = ""
			}
			if fill != "" {
				weight += ` fill="` + fill + `"`
			}
			fmt.Fprintf(&b, "<tspan%s>%s</tspan>", weight, text)
		}
	}
	at := 0
	for _, m := range sgr.FindAllStringSubmatchIndex(line, -1) {
		write(line[at:m[0]])
		at = m[1]
		for _, p := range strings.Split(line[m[2]:m[3]], ";") {
			switch p {
			case "", "0":
				fill, bold = "", false
			case "1":
				bold = true
			default:
				fill = colors[p]
			}
		}
	}
	write(line[at:])
	return b.String()
}
