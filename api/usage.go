package api

import (
	"time"

	"github.com/agentform/agentform/session"
)

// Usage is what answers of models took, as the agents' session files say it.
type Usage struct {
	Answers int64 `json:"answers"`
	session.Tokens
	Total int64 `json:"total"` // all tokens
	// Cost is the list price in USD of the tokens that have one; null: none has.
	Cost     *float64 `json:"cost"`
	Unpriced int64    `json:"unpriced"` // tokens of models without a price
}

// UsageRow is the usage of one session, agent, model or day.
type UsageRow struct {
	Name string `json:"name"` // an address, a name, or YYYY-MM-DD in local time
	Usage
}

// UsageDocument is the usage of sessions as a document.
type UsageDocument struct {
	Format   string     `json:"format_version"`
	By       string     `json:"by"`    // session, agent, model, day
	Since    *time.Time `json:"since"` // null: from the beginning
	Currency string     `json:"currency"`
	Prices   string     `json:"prices"` // the date of the list of prices: YYYY-MM-DD
	Rows     []UsageRow `json:"usage"`
	Total    Usage      `json:"total"`
	Unpriced []string   `json:"unpriced_models"` // that were used and have no price
	// Budgets are those that count, whatever usage was asked for.
	Budgets []BudgetUse `json:"budgets"`
}

// BudgetUse is what was used of a budget.
type BudgetUse struct {
	Name    string          `json:"name"`
	Session session.Address `json:"session"` // of a budget for each session; empty: several share it
	Share   float64         `json:"share"`   // of its limit, 1: all; of several, the largest
	Text    string          `json:"text"`    // what was used of each limit, for people
	Begin   *time.Time      `json:"begin"`   // of the day or week; null: of a run, or of all
	End     *time.Time      `json:"end"`
}
