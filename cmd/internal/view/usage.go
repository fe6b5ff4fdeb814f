package view

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// Usage writes the usage of sessions as a table with a total, and explains the costs.
func Usage(w io.Writer, s Style, d api.UsageDocument) error {
	p := &page{Style: s}
	if len(d.Rows) == 0 {
		p.line("No usage.")
		writeBudgets(p, d.Budgets)
		return p.flush(w)
	}
	columns := []column{{title: strings.ToUpper(d.By), min: 20}}
	for i, title := range []string{"ANSWERS", "INPUT", "CACHE READ", "CACHE WRITE", "OUTPUT", "TOKENS", "COST"} {
		columns = append(columns, column{title: title, right: true, spare: []int{2, 3, 4, 5, 1, 0, 0}[i]})
	}
	var rows [][]cell
	row := func(name string, u api.Usage, c ink) {
		cells := []cell{{name, c}}
		for _, n := range []int64{u.Answers, u.Input, u.CacheRead, u.CacheWrite + u.CacheWrite1h, u.Output, u.Total} {
			cells = append(cells, cell{plaintext.Thousands(n), c})
		}
		rows = append(rows, append(cells, cell{cost(&u), c}))
	}
	for _, r := range d.Rows {
		name := r.Name
		if d.By == status.BySession {
			name = session.Address(name).Short()
		}
		row(name, r.Usage, noInk)
	}
	row("total", d.Total, bold)
	p.table("", columns, rows)
	p.line()
	p.prose(0, "COST is the list price in USD, as of "+d.Prices+" unless the manifest has prices.")
	if len(d.Unpriced) > 0 {
		var names []string
		for _, m := range d.Unpriced {
			names = append(names, plaintext.OneLine(orUnnamed(m)))
		}
		p.prose(0, p.paint(yellow, fmt.Sprintf("* %s tokens have no price and are not in it, those of %s: give a price in a price block.",
			plaintext.Thousands(d.Total.Unpriced), plaintext.List(names, "and"))))
	}
	writeBudgets(p, d.Budgets)
	return p.flush(w)
}

func writeBudgets(p *page, all []api.BudgetUse) {
	if len(all) == 0 {
		return
	}
	now := time.Now()
	var rows [][]cell
	for _, b := range all {
		of, text, c := b.Session.Short(), b.Text, noInk
		if b.Session == "" {
			of = ""
		}
		if b.End != nil {
			text += ", until " + clock(*b.End, now)
		}
		if b.Share >= 1 {
			c = red
		}
		percent := math.Round(100 * b.Share)
		if b.Share < 1 { // not exceeded
			percent = min(percent, 99)
		}
		rows = append(rows, []cell{{b.Name, noInk}, {of, noInk}, {fmt.Sprintf("%.0f %%", percent), c}, {text, noInk}})
	}
	p.line()
	p.table("", []column{{title: "BUDGET"}, {title: "SESSION"}, {title: "USED", right: true}, {}}, rows)
}

func orUnnamed(model string) string {
	if model == "" {
		return "a model without a name"
	}
	return model
}

// cost returns a cost as text. A star marks tokens without a price.
func cost(u *api.Usage) string {
	switch {
	case u == nil:
		return "-"
	case u.Cost == nil:
		return "unpriced*"
	case u.Unpriced > 0:
		return plaintext.Dollars(*u.Cost) + "*"
	}
	return plaintext.Dollars(*u.Cost)
}

// UsageCSV writes the usage of sessions as CSV, without a total. The cost of tokens without a price
// is empty.
func UsageCSV(w io.Writer, d api.UsageDocument) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{d.By, "answers", "input", "cache_read", "cache_write", "cache_write_1h", "output", "reasoning", "total", "cost_usd", "unpriced"}) // Error tells
	for _, r := range d.Rows {
		cells := []string{plaintext.Safe(r.Name)}
		if strings.HasPrefix(cells[0], "=") || strings.HasPrefix(cells[0], "@") || strings.HasPrefix(cells[0], "+") || strings.HasPrefix(cells[0], "-") {
			cells[0] = "'" + cells[0] // otherwise a spreadsheet reads a formula
		}
		for _, n := range []int64{r.Answers, r.Input, r.CacheRead, r.Tokens.CacheWrite, r.CacheWrite1h, r.Output, r.Reasoning, r.Total} {
			cells = append(cells, strconv.FormatInt(n, 10))
		}
		money := ""
		if r.Cost != nil {
			money = strconv.FormatFloat(*r.Cost, 'f', 6, 64)
		}
		_ = c.Write(append(cells, money, strconv.FormatInt(r.Unpriced, 10)))
	}
	c.Flush()
	return c.Error()
}
