package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A requested value is found after whatever is skipped, and only there.
func TestScanner(t *testing.T) {
	for _, skipped := range []string{
		`1`, `-1.5e3`, `null`, `true`, `""`, `"\""`, `"\\"`, `"\\\""`, `"a\\\\"`, `"}],"`, `[]`, `{}`, `[ ]`, `{ "want" : 1 }`,
		`[{"want":{"n":[1,"]"]}},"[",{}]`, `{"a":"{","b":[["}"]]}`, `"` + strings.Repeat(`\\\"`, 1000) + `"`,
	} {
		for _, line := range []string{
			`{"a":%s,"in":{"want":7,"b":%[1]s},"at":"2026-03-14T12:00:00.5Z","name":"a\"\u00e9","all":[{"want":7},%[1]s]}`,
			`{"name":"a\"é","in":{"b":%s,"want":7},"all":[{"b":%[1]s,"want":7}],"a":%[1]s,"at":"2026-03-14T12:00:00.5Z"}`,
			"{ \"a\" : %s , \"in\"\t: { \"want\" : 7 , \"b\" : %[1]s } , \"all\" : [ { \"want\" : 7 } , %[1]s ] , \"name\":\"a\\\"é\",\"at\" : \"2026-03-14T12:00:00.5Z\" \r}",
		} {
			text := fmt.Sprintf(line, skipped)
			for cut := range len(text) + 1 {
				var at time.Time
				name, wanted := "", int64(0)
				s := &scanner{text: []byte(text)[:cut]}
				s.object(func(key []byte) {
					switch string(key) {
					case "in":
						s.object(func(key []byte) {
							if string(key) == "want" {
								wanted = s.count()
							}
						})
					case "all":
						s.array(func() { s.object(func([]byte) {}) })
					case "name":
						name = s.str()
					case "at":
						at = s.time()
					}
				})
				if whole := cut == len(text); s.whole() != whole {
					t.Fatalf("whole is %v of %q", s.whole(), text[:cut])
				} else if whole && (name != `a"é` || at.UnixMilli() != 1773489600500 || wanted != 7) {
					t.Errorf("%q has the name %q, the time %s and %d", text, name, at, wanted)
				}
			}
		}
	}
}

func TestScannerCount(t *testing.T) {
	for text, want := range map[string]int64{"7": 7, "-7": 0, "1e3": 1000, "9e99": mostTokens, "99999999999999999999": mostTokens, `"7"`: 0, "null": 0, "": 0} {
		if n := (&scanner{text: []byte(text)}).count(); n != want {
			t.Errorf("%s is %d, want %d", text, n, want)
		}
	}
}
