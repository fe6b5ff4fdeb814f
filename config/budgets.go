package config

import (
	"math"
	"reflect"
	"slices"
	"time"
	_ "time/tzdata" // of a machine that has no list of time zones

	"github.com/hashicorp/hcl/v2"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/budget"
	"github.com/agentform/agentform/session"
)

// readBudgets returns the budgets of the project, then those of agents, then those of
// sessions.
func readBudgets(l *loader, all map[string]*instances, built []*built) []budget.Budget {
	var budgets []budget.Budget
	first := map[string]*expr.Block{}
	for _, b := range l.blocks["budget"] {
		l.checkAll(b, inProject, "sessions")
		if !unique(l, first, b) {
			continue
		}
		d := l.reader(l.ctx)
		x := readBudget(d, b)
		x.Sessions = budgetSessions(d, b, all)
		budgets = append(budgets, x)
	}
	own := map[string][]session.Address{} // sessions with a budget of that name, by agent and name
	var each []budget.Budget
	for _, s := range built {
		first := map[string]*expr.Block{}
		for _, b := range s.block.Blocks["budget"] {
			if !unique(l, first, b) {
				continue
			}
			x := readBudget(l.reader(instanceContext(l, s.block, *s.in)), b)
			own[s.spec.Agent.Name+"\x00"+x.Name] = append(own[s.spec.Agent.Name+"\x00"+x.Name], s.spec.Address)
			each = add(each, x, s.spec.Address)
		}
	}
	for _, a := range l.blocks["agent"] {
		first := map[string]*expr.Block{}
		for _, b := range a.Blocks["budget"] {
			if !unique(l, first, b) {
				continue
			}
			x := readBudget(l.reader(l.ctx), b)
			x.Agent, x.Each, x.Except = a.Labels[0], true, own[a.Labels[0]+"\x00"+x.Name]
			budgets = append(budgets, x)
		}
	}
	return append(budgets, each...)
}

// add adds the budget of one session. Instances with the same budget share an element.
func add(all []budget.Budget, b budget.Budget, of session.Address) []budget.Budget {
	b.Each = true
	for i, x := range all {
		x.Sessions = nil
		if reflect.DeepEqual(x, b) {
			all[i].Sessions = append(all[i].Sessions, of)
			return all
		}
	}
	b.Sessions = []session.Address{of}
	return append(all, b)
}

func unique(l *loader, first map[string]*expr.Block, b *expr.Block) bool {
	name := b.Labels[0]
	if other := first[name]; other != nil {
		if other.Def != b.Def {
			l.Fail(b.Def, "Duplicate budget", "The budget %q is already at %s.", name, expr.Place(other.Def))
		}
		return false
	}
	first[name] = b
	return true
}

func readBudget(d reader, b *expr.Block) budget.Budget {
	x := budget.Budget{Name: b.Labels[0], Per: budget.PerDay, WarnAt: 0.8, OnExceeded: budget.Pause}
	var tokens float64
	if d.Decimal(b, "tokens", 1, 1e15, &tokens); tokens != math.Trunc(tokens) {
		d.Fail(b.Attr("tokens"), "Invalid number", "%q must be a whole number.", "tokens")
	}
	x.Tokens = int64(tokens)
	cost := math.NaN()
	switch d.Decimal(b, "cost", 0, 1e9, &cost); {
	case cost == 0:
		d.Fail(b.Attr("cost"), "Invalid number", "%q must be above 0.", "cost")
	case cost > 0:
		x.Cost = cost
	}
	readDuration(d, b, "time", session.Duration(time.Second), &x.Time)
	d.OneOf(b, "per", &x.Per)
	d.OneOf(b, "on_exceeded", &x.OnExceeded)
	d.Decimal(b, "warn_at", 0, 1, &x.WarnAt)
	if d.Word(b, "zone", &x.Zone) {
		if _, err := time.LoadLocation(x.Zone); err != nil || x.Zone == "Local" {
			d.Fail(b.Attr("zone"), "Unknown time zone", "There is no time zone %q. Their names are like \"Europe/Berlin\" or \"UTC\".", expr.Cut(x.Zone))
		}
	}
	if d.Missing(b, "tokens") && d.Missing(b, "cost") && d.Missing(b, "time") {
		d.FailAt(b.Def, "Budget without a limit", "%s needs tokens, cost or time, like cost = 25.", b.Title())
	}
	return x
}

// budgetSessions returns the blocks and instances that share a budget.
func budgetSessions(d reader, b *expr.Block, all map[string]*instances) []session.Address {
	a := b.Attr("sessions")
	if a == nil {
		return nil
	}
	var found []session.Address
	faulty := a.Bad
	for _, item := range splitReferences(d.l, a, inProject).items {
		if faulty = faulty || item.Bad || item.until != nil; item.Bad {
			continue
		}
		if item.until != nil {
			d.Fail(item.until, "Invalid budget", "The sessions of a budget have no until.")
			continue
		}
		t, diags := hcl.AbsTraversalForExpr(item.Expr)
		errs := len(d.Eval.Diags)
		of := sessionsIn(d, item.Attr, all)
		faulty = faulty || len(d.Eval.Diags) > errs
		if !diags.HasErrors() && len(t) == 2 {
			if step, is := t[1].(hcl.TraverseAttr); is { // also the instances that it will have: it may have none now
				found = append(found, session.Single(step.Name))
				continue
			}
		}
		for _, e := range of {
			found = append(found, e.to.address)
		}
	}
	if len(found) == 0 && !faulty && !b.Broken {
		d.Fail(a, "Budget without sessions", "%s counts for no session. Leave out %q for all.", b.Title(), "sessions")
	}
	slices.Sort(found)
	return slices.Compact(found)
}
