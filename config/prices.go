package config

import (
	"math"
	"os"
	"slices"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/price"
)

// readPrices returns the prices of the file that the settings name, with those of price
// blocks put over them.
func readPrices(l *loader, m *Manifest) {
	m.Prices = readPriceFile(l)
	first := map[string]*expr.Block{}
	for _, b := range l.blocks["price"] {
		l.checkAll(b, inProject)
		model := b.Labels[0]
		if other := first[model]; other != nil {
			l.Fail(b.Def, "Duplicate price", "The model %q already has the price at %s.", model, expr.Place(other.Def))
			continue
		}
		first[model] = b
		d := l.reader(l.ctx)
		p := price.Price{Rates: readRates(d, b)}
		for _, long := range b.Blocks["long"] {
			above := 0
			d.Whole(long, "above", 1, &above)
			d.Require(long, "above", "the number of tokens, like above = 200000")
			if above > 0 && slices.ContainsFunc(p.Long, func(other price.Long) bool { return other.Above == int64(above) }) {
				l.Fail(long.Def, "Duplicate long block", "The price of %q already has one above %d.", model, above)
			}
			p.Long = append(p.Long, price.Long{Above: int64(above), Rates: readRates(d, long)})
		}
		if m.Prices == nil {
			m.Prices = map[string]price.Price{}
		}
		m.Prices[model] = p
	}
}

func readRates(d reader, b *expr.Block) price.Rates {
	var r price.Rates
	d.Decimal(b, "input", 0, price.Most, &r.Input)
	d.Decimal(b, "output", 0, price.Most, &r.Output)
	d.Require(b, "input", "USD per million tokens, like input = 1.25")
	d.Require(b, "output", "USD per million tokens, like output = 10")
	for name, into := range map[string]**float64{"cache_read": &r.CacheRead, "cache_write": &r.CacheWrite, "cache_write_1h": &r.CacheWrite1h} {
		rate := math.NaN()
		if d.Decimal(b, name, 0, price.Most, &rate); !math.IsNaN(rate) {
			*into = &rate
		}
	}
	return r
}

func readPriceFile(l *loader) map[string]price.Price {
	if len(l.blocks["agentform"]) == 0 {
		return nil
	}
	b, d := l.blocks["agentform"][0], l.reader(l.ctx)
	var name string
	if !d.Word(b, "price_file", &name) {
		return nil
	}
	path, err := l.Resolve(name, l.Root)
	if err != nil {
		d.Fail(b.Attr("price_file"), "Invalid path", "%q: %s.", "price_file", err)
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		d.Fail(b.Attr("price_file"), "No such file", "The file of %q cannot be read: %s.", "price_file", expr.Reason(err))
		return nil
	}
	list, err := price.Parse(text)
	if err != nil {
		d.Fail(b.Attr("price_file"), "Invalid prices", "%s: %s. Its form is that of docs/usage.md.", path, err)
		return nil
	}
	return list.Models
}
