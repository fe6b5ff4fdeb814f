//go:build real

package config

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
)

// bombLimits are lower than those of Load, so that many bombs can be tried.
var bombLimits = expr.Limits{Time: 50 * time.Millisecond, Memory: 256 << 20}

// bombMemory is how many bytes loading a bomb may use. A buffer that doubles is found after it did.
const bombMemory = 2 << 30

// doubled are locals of which each is as large as some of the last: t7 has 2 MiB.
const doubled = `
locals {
  n  = range(1000)
  t0 = "0123456789abcdef"
  t1 = join("", [for i in range(8) : local.t0])
  t2 = join("", [for i in range(8) : local.t1])
  t3 = join("", [for i in range(8) : local.t2])
  t4 = join("", [for i in range(8) : local.t3])
  t5 = join("", [for i in range(8) : local.t4])
  t6 = join("", [for i in range(8) : local.t5])
  l1 = [for i in local.n : local.n]
}
`

// bombs are manifests that ask for more than any machine has, each in its way.
func bombs() map[string]string {
	long := func(s string, n int) string { return strings.Repeat(s, n) }
	local := func(expr string) string { return doubled + "locals {\n  bomb = " + expr + "\n}\n" }
	return map[string]string{
		"references":    local(`"` + long("${local.t5}", 100_000) + `"`),
		"loops":         local(`length([for a in local.n : [for b in local.n : [for c in local.n : [for d in local.n : 1]]]])`),
		"directives":    local(`"%{for a in local.n}%{for b in local.n}%{for c in local.n}${a}%{endfor}%{endfor}%{endfor}"`),
		"directive":     local(`"%{for a in local.n}${local.t5}%{endfor}"`),
		"doubling":      local(`"${local.t6}${local.t6}${local.t6}${local.t6}${local.t6}${local.t6}${local.t6}${local.t6}"`),
		"lists":         local(`[` + long(`local.l1, `, 50_000) + `1]`),
		"splats":        local(`local.n[*][length(local.n[*][length(local.n[*][length(local.n[*])])])]`),
		"joined":        local(`join(local.t5, local.n)`),
		"joins":         local(`[` + long(`join("", [local.t5, local.t5]), `, 2000) + `1]`),
		"calls":         local(`length([` + long(`upper(local.t5), `, 20_000) + `1])`),
		"jsonencode":    local(`jsonencode([` + long("local.t5, ", 1000) + `1])`),
		"escapes":       local(`jsonencode(jsonencode(jsonencode(jsonencode(jsonencode(replace(local.t5, "0", "\""))))))`),
		"setproduct":    local(`setproduct(local.n, local.n, local.n)`),
		"flatten":       local(`flatten([` + long("local.l1, ", 50) + `1])`),
		"concat":        local(`concat(` + long("local.n, ", 5000) + `local.n)`),
		"merge":         local(`merge(` + long("{ for a in local.n : a => local.t5 }, ", 2000) + `{})`),
		"range":         local(`range(1e18)`),
		"ranges":        local(`[` + long("range(1000), ", 20_000) + `1]`),
		"width":         local(`format("%1000000000d", 1)`),
		"precision":     local(`format("%.1000000000f", 1)`),
		"argument":      local(`format("` + long("%[1]s", 10_000) + `", local.t5)`),
		"formatlist":    local(`formatlist("%s%s%s", local.n, local.t5, local.t5)`),
		"replace":       local(`replace(local.t5, "0", local.t5)`),
		"pattern":       local(`replace(local.t5, "/./", local.t5)`),
		"quoted":        local(`replace(local.t5, "/(.*)/", "` + long("$1", 10_000) + `")`),
		"matches":       local(`regexall("", local.t6)`),
		"regex":         local(`regex("((a{0,100}){0,100}){0,100}", local.t5)`),
		"split":         local(`split("", local.t6)`),
		"indent":        local(`indent(1000000000, "a\nb")`),
		"union":         local(`setunion(` + long("[for a in local.n : \"${a}\"], ", 3000) + `[])`),
		"sets":          local(`toset([for a in local.n : toset([for b in local.n : "${a}-${b}"])])`),
		"number":        local(`"${1e100000000}"`),
		"power":         local(`"${pow(10, 100000000)}"`),
		"product":       local(long(`1e4000 * `, 1000) + `1`),
		"digits":        local(long("9", 1_000_000)),
		"parsed digits": local(`parseint(local.t6, 16)`),
		"brackets":      local(long("(", 1_000_000) + "1" + long(")", 1_000_000)),
		"lists in each": local(long("[", 100_000) + long("]", 100_000)),
		"blocks":        long("session \"a\" {\n", 50_000) + long("}\n", 50_000),
		"operators":     local(long("1 + ", 300_000) + "1"),
		"interpolation": local(long(`"${`, 20_000) + "1" + long(`}"`, 20_000)),
		"tries":         local(long("try(", 150) + "[for a in local.n : [for b in local.n : nope]]" + long(", 1)", 150)),
		"cans":          local(long("can(", 150) + "[for a in local.n : a]" + long(")", 150)),
		"templates": doubled + `locals {
  bomb = [for a in local.n : templatefile("bomb.txt", { t = local.t5, n = local.n })]
}
`,
		"sessions": doubled + `
session "w" {
  count  = 5000
  agent  = "claude"
  branch = "w${count.index}"
  prompt = "${count.index}${local.t5}"
}
`,
		"instances": doubled + `
session "w" {
  for_each = toset([for p in setproduct(local.n, local.n) : "${p[0]}-${p[1]}"])
  agent    = "claude"
  branch   = each.key
}
`,
		"many dear":   doubled + "locals {\n" + many1000("  b%d = length([for a in local.n : [for b in local.n : a + b]])\n") + "}\n",
		"wrong names": chain("session \"a%d\" {\n  agnt = b%d\n}\n", 50_000),
		"twice":       strings.Repeat("session \"a\" {\n}\n", 50_000),
		"chain":       "locals {\n  a0 = 1\n" + chain("  a%d = [local.a%d]\n", 80_000) + "}\n",
		"count":       "session \"w\" {\n  count = 1e15\n  agent = \"claude\"\n  branch = \"w\"\n}\n",
		"json": `{"locals": {"n": "${range(1000)}",
  "bomb": "${[for a in local.n : [for b in local.n : [for c in local.n : 1]]]}"}}`,
		"commas":        "locals {\n  bomb = [" + long("1,", 2_000_000) + "]\n}\n",
		"json nesting":  `{"locals": {"bomb": ` + long("[", 100_000) + long("]", 100_000) + `}}`,
		"json calls":    `{"locals": {"t": "0123456789abcdef", "u": "${join(local.t, range(1000))}", "v": "${join(local.u, range(1000))}", "w": "${[for a in range(1000) : [for b in range(1000) : upper(local.v)]]}"}}`,
		"variable":      "variable \"bomb\" {\n  default = [for a in [" + long("1, ", 1000) + "] : [for b in [" + long("1, ", 1000) + "] : [for c in [" + long("1, ", 1000) + "] : c]]]\n}\n",
		"aliases":       local("yamldecode(<<E\na0: &a0 [1,1,1,1,1,1,1,1,1]\n" + aliases(30) + "E\n)"),
		"alias texts":   local("yamldecode(\"a: &a ${local.t5}\\nb: [${join(\",\", [for a in local.n : \"*a\"])}]\\n\")"),
		"yaml nesting":  local(`yamldecode(join("", [for a in local.n : "[[[[[[["]))`),
		"yaml depth":    local(`yamldecode("${join("", [for a in range(300) : "["])}${join("", [for a in range(300) : "]"])}")`),
		"yaml elements": local(`yamldecode("[${join("", [for a in local.n : replace(substr(local.t4, 0, 512), "/./", "1,")])}]")`),
		"yamlencode":    local(`yamlencode([` + long("local.t5, ", 1000) + `1])`),
		"transpose":     local(`[for a in local.n : transpose({ for b in local.n : b => ["x", "y"] })]`),
		"matchkeys":     local(`[for a in local.n : matchkeys(local.n, local.n, local.n)]`),
		"index":         local(`[for a in local.n : [for b in local.n : index(local.n, 999)]]`),
		"digest":        local(`[for a in local.n : [for b in local.n : sha512(local.t5)]]`),
		"template":      local(`templatestring("%%{for a in n}%%{for b in n}$${t}%%{endfor}%%{endfor}", { n = local.n, t = local.t5 })`),
		"set template":  local(`templatestring("$${length(setproduct(n, n, n, n))}", { n = local.n })`),
		"many problems": "session \"a\" {\n" + long("  nope = nope.nope\n", 100_000) + "}\n",
	}
}

// aliases are YAML lists of which each holds the last nine times.
func aliases(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 8), i-1)
	}
	return b.String()
}

// many1000 is a line a thousand times, numbered.
func many1000(line string) string {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, line, i)
	}
	return b.String()
}

// chain is n lines of which each names the one after it.
func chain(line string, n int) string {
	var b strings.Builder
	for i := n; i > 0; i-- {
		fmt.Fprintf(&b, line, i, i-1)
	}
	return b.String()
}

// TestBombs: a manifest that asks for too much is refused, with its place, soon
// and in little memory. Each is loaded by a process of its own, whose memory can
// be measured and is bounded.
func TestBombs(t *testing.T) {
	if name := os.Getenv("AGENTFORM_TEST_BOMB"); name != "" {
		loadBomb(t, bombs()[name])
		return
	}
	for name := range bombs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("/bin/sh", "-c", `ulimit -v 4000000 && exec "$0" -test.run '^TestBombs$'`, os.Args[0])
			cmd.Env = append(os.Environ(), "AGENTFORM_TEST_BOMB="+name)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v:\n%.4000s", err, out)
			}
			used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
			t.Logf("%s, %d MiB", cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), used>>20)
			if used > bombMemory {
				t.Errorf("it took %d MiB, more than %d", used>>20, bombMemory>>20)
			}
		})
	}
}

// loadBomb loads a manifest and wants an error that has a place.
func loadBomb(t *testing.T, manifest string) {
	name := "agentform.hcl"
	if strings.HasPrefix(manifest, "{") {
		name = "x.agentform.json"
	}
	_, ds := load(write(t, map[string]string{name: manifest, "bomb.txt": "%{for a in n}%{for b in n}${t}%{endfor}%{endfor}"}), bombLimits)
	for _, d := range ds {
		if d.Severity == session.Error && d.Range != nil && d.Range.Filename != "" && d.Range.Start.Line > 0 {
			if testing.Verbose() {
				fmt.Printf("%.200s: %.300s\n", d.Summary, d.Detail)
			}
			return
		}
	}
	t.Errorf("no error with a place: %.500v", ds)
}
