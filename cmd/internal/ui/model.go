package ui

import (
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/session"
)

// Fleet is all sessions at one time, in list order.
type Fleet struct {
	At      time.Time // zero: only what is recorded
	Project string
	Hub     string // in words: hub running
	Counts  string // in words: 2 asks, 3 working
	Rows    []Row
}

// Row is one session of a Fleet.
type Row struct {
	Address  session.Address
	Status   string // in words: working 3m
	Color    Color
	Reason   string // why, in one line
	Needs    bool   // it needs attention
	About    string // other text for the filter: role, agent, branch
	Work     string // its branch and changes
	Screen   string // as last observed
	Question *session.Question
	Moved    time.Time    // last output
	Actions  []api.Action // the useful actions; nil: not known yet
	Version  string       // changes with any tab of the session
}

// Tab is a view of the selected session.
type Tab int

// The tabs.
const (
	Screen Tab = iota
	Diff
	Log
	Events
	Plan
)

var titles = []string{"Screen", "Diff", "Log", "Events", "Plan"}

// follows reports whether a tab shows the end of its text, with additions.
func (t Tab) follows() bool { return t == Screen || t == Log || t == Events }

// wraps reports whether a tab wraps long lines. Other tabs cut them and scroll sideways.
func (t Tab) wraps() bool { return t == Log || t == Events || t == Plan }

// refresh is the time between loads of a tab while its session changes.
func (t Tab) refresh() time.Duration {
	switch t {
	case Screen:
		return 300 * time.Millisecond
	case Diff:
		return 3 * time.Second
	case Plan:
		return 5 * time.Second
	}
	return time.Second
}

// mode is the meaning of keys.
type mode int

const (
	browsing mode = iota
	filtering
	commanding
	sending
	answering
	confirming // the action in act
	landing
	helping
)

// page is a session's tab. The plan covers all sessions.
type page struct {
	tab     Tab
	address session.Address
}

// content is a loaded page.
type content struct {
	text    string
	bad     bool // the text is an error
	at      time.Time
	version string // of the row when it was loaded
}

// Model is the state of the screen.
type Model struct {
	width, height int
	color         bool
	now           time.Time

	fleet    Fleet
	observed bool   // fleet is set
	problem  string // why the sessions cannot be observed
	selected session.Address
	chosen   bool // by a key; otherwise the first is selected
	filter   string

	tab     Tab
	zoomed  bool
	up      int // lines scrolled up from the end, or down from the top
	right   int // columns scrolled
	loading *page
	loaded  map[page]content

	mode     mode
	line     line
	target   session.Address // of mode
	act      string          // to confirm: restart, stop or refresh
	question *session.Question
	message  string
	bad      bool // message is an error
	running  []string
	leaving  bool // quit once nothing is running
}

// New returns a model without an observation.
func New(color bool) Model {
	return Model{color: color, width: 80, height: 24, loaded: map[page]content{}}
}

// The messages to Update.
type (
	// Key is a pressed key: its name, as enter or ctrl+c, and its text, if it has any.
	Key struct{ Name, Text string }
	// Paste is pasted text.
	Paste string
	// Size is the size of the terminal.
	Size struct{ Width, Height int }
	// Observed is a new observation, or an error.
	Observed struct {
		Fleet Fleet
		Err   error
	}
	// Loaded is the result of Load.
	Loaded struct {
		Load
		Text string
		Err  error
	}
	// Done is the result of Do.
	Done struct {
		Do
		Text string
		Err  error
	}
	// Returned is the result of Terminal.
	Returned struct {
		Terminal
		Err error
	}
	// Woken is the result of Wake.
	Woken struct{}
)

// The requests from Update.
type (
	// Load loads a tab. It replaces a load under way.
	Load struct {
		Tab     Tab
		Address session.Address
		Width   int // of the page
		version string
	}
	// Do runs a command of agentform in the background.
	Do struct {
		About string // in words: restart api
		Args  []string
	}
	// Terminal gives the terminal to a command of agentform.
	Terminal struct {
		Args []string
		Stay bool // wait for Enter before the screen is drawn again
	}
	// Wake requests a Woken after a time.
	Wake struct{ After time.Duration }
	// Quit ends the program.
	Quit struct{}
	// Suspend stops the program, as Ctrl-Z does.
	Suspend struct{}
)

// Update returns the model after a message, and the requests.
func (m Model) Update(message any, now time.Time) (Model, []any) {
	m.now = now
	var requests []any
	switch x := message.(type) {
	case Size:
		m.width, m.height = x.Width, x.Height
	case Observed:
		m.observe(x)
	case Loaded:
		m.load(x)
		if x.Tab == Screen && moving(m) {
			requests = append(requests, Wake{Screen.refresh()})
		}
	case Done:
		m.finish(x)
		if m.leaving && len(m.running) == 0 {
			return m, []any{Quit{}}
		}
	case Returned:
		m.loaded = map[page]content{} // the command may have changed anything
		if x.Err != nil {
			m.say(x.Err.Error(), true)
		}
	case Paste:
		if m.mode == sending || m.mode == answering || m.mode == filtering || m.mode == commanding {
			m.line.insert(string(x))
			m.typed()
		}
	case Key:
		requests = m.key(x)
	}
	if load, wanted := m.wanted(); wanted {
		m.loading = &page{load.Tab, load.Address}
		requests = append(requests, load)
	}
	return m, requests
}

func (m *Model) observe(x Observed) {
	if x.Err != nil {
		m.problem = x.Err.Error()
		return
	}
	at := slices.IndexFunc(m.visible(), func(r Row) bool { return r.Address == m.selected })
	m.fleet, m.observed, m.problem = x.Fleet, !x.Fleet.At.IsZero(), ""
	if rows := m.visible(); !m.chosen && len(rows) > 0 && m.mode == browsing {
		m.choose(rows[0].Address)
	}
	m.keepSelected(max(at, 0))
}

// keepSelected selects the session at index at if the selected one is gone.
func (m *Model) keepSelected(at int) {
	rows := m.visible()
	if len(rows) == 0 || slices.ContainsFunc(rows, func(r Row) bool { return r.Address == m.selected }) {
		return
	}
	m.choose(rows[min(at, len(rows)-1)].Address)
}

func (m *Model) choose(a session.Address) {
	if a != m.selected {
		m.selected, m.up, m.right = a, 0, 0
	}
}

func (m *Model) show(t Tab) {
	if t != m.tab {
		m.tab, m.up, m.right = t, 0, 0
	}
}

func (m *Model) load(x Loaded) {
	p := page{x.Tab, x.Address}
	if m.loading != nil && *m.loading == p {
		m.loading = nil
	}
	c := content{text: x.Text, at: m.now, version: x.version}
	if x.Err != nil {
		c.text, c.bad = x.Err.Error(), true
	}
	m.loaded[p] = c
}

func (m *Model) finish(x Done) {
	if i := slices.Index(m.running, x.About); i >= 0 {
		m.running = slices.Delete(slices.Clone(m.running), i, i+1)
	}
	m.loaded = map[page]content{}
	if x.Err != nil {
		m.say(x.About+": "+x.Err.Error(), true)
		return
	}
	m.say(x.About+": "+lastLine(x.Text, "done"), false)
}

func lastLine(text, otherwise string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return last
	}
	return otherwise
}

func (m *Model) say(text string, bad bool) { m.message, m.bad = text, bad }

// wanted returns the load that is needed for the screen.
func (m Model) wanted() (Load, bool) {
	row, selected := m.row()
	if !m.observed || !selected && m.tab != Plan || m.mode == helping {
		return Load{}, false
	}
	p := page{m.tab, row.Address}
	version := row.Version
	if m.tab == Plan {
		p.address, version = "", versionOf(m.fleet.Rows)
	}
	if m.loading != nil && *m.loading == p {
		return Load{}, false
	}
	old, known := m.loaded[p]
	fresh := known && (old.version == version || m.now.Sub(old.at) < p.tab.refresh())
	if p.tab == Screen && moving(m) {
		fresh = known && m.now.Sub(old.at) < p.tab.refresh()
	}
	return Load{Tab: p.tab, Address: p.address, Width: paneWidth(m), version: version}, !fresh
}

// versionOf returns a version that changes with any of the sessions.
func versionOf(rows []Row) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(string(r.Address) + " " + r.Version + "\n")
	}
	return b.String()
}

// stillAfter is how long after its last output a screen still counts as changing.
const stillAfter = 3 * time.Second

func moving(m Model) bool {
	row, selected := m.row()
	return selected && m.tab == Screen && m.now.Sub(row.Moved) < stillAfter
}

// row returns the selected session.
func (m Model) row() (Row, bool) {
	for _, r := range m.visible() {
		if r.Address == m.selected {
			return r, true
		}
	}
	return Row{}, false
}

// visible returns the rows that contain all words of the filter.
func (m Model) visible() []Row {
	words := strings.Fields(strings.ToLower(m.filter))
	if len(words) == 0 {
		return m.fleet.Rows
	}
	var rows []Row
	for _, r := range m.fleet.Rows {
		text := strings.ToLower(strings.Join([]string{string(r.Address), r.Status, r.Reason, r.About}, " "))
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			rows = append(rows, r)
		}
	}
	return rows
}
