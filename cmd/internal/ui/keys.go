package ui

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentform/agentform/session"
)

// key handles a key and returns the requests.
func (m *Model) key(k Key) []any {
	if k.Name == "ctrl+c" && m.mode == browsing {
		return m.quit()
	}
	switch m.mode {
	case helping:
		m.mode = browsing
		return nil
	case confirming:
		return confirm(m, k)
	case landing:
		return land(m, k)
	case answering:
		if word, chosen := option(*m, k); chosen {
			return m.answer(word)
		}
		return m.edit(k)
	case filtering, commanding, sending:
		return m.edit(k)
	}
	m.message = ""
	m.chosen = true
	return m.browse(k)
}

// quit waits for what is under way. A second one does not.
func (m *Model) quit() []any {
	if len(m.running) == 0 || m.leaving {
		return []any{Quit{}}
	}
	m.leaving = true
	return nil
}

func (m *Model) browse(k Key) []any {
	row, selected := m.row()
	switch k.Name {
	case "q":
		return m.quit()
	case "ctrl+z":
		return []any{Suspend{}}
	case "?":
		m.mode = helping
	case "/":
		m.ask(filtering, m.filter)
	case ":":
		m.ask(commanding, "")
	case "esc":
		if m.filter != "" {
			m.filter = ""
			m.keepSelected(0)
		} else {
			m.show(Screen)
		}
	case "ctrl+r":
		m.loaded, m.loading = map[page]content{}, nil
	case "d":
		m.show(Diff)
	case "l":
		m.show(Log)
	case "e":
		m.show(Events)
	case "p":
		m.show(Plan)
	case "tab":
		m.show((m.tab + 1) % Tab(len(titles)))
	case "shift+tab":
		m.show((m.tab + Tab(len(titles)) - 1) % Tab(len(titles)))
	case "1", "2", "3", "4", "5":
		m.show(Tab(k.Name[0] - '1'))
	case "z":
		m.zoomed = !m.zoomed
	default:
		if m.move(k.Name) || m.scroll(k.Name) || !selected {
			return nil
		}
		return act(m, k.Name, row)
	}
	return nil
}

// act applies a key to the selected session.
func act(m *Model, key string, row Row) []any {
	if key != "a" && !offered(*m, key) {
		m.say(row.Address.Short()+" ("+row.Status+"): "+map[string]string{"s": "nothing can be sent now", "x": "there is nothing to stop", "r": "it cannot be restarted now"}[key], true)
		return nil
	}
	switch key {
	case "enter":
		return []any{Terminal{Args: []string{"attach", "--", string(row.Address)}}}
	case "a":
		if row.Question == nil {
			m.say(row.Address.Short()+" has no question that can be answered here: enter attaches, s sends text", true)
			return nil
		}
		m.question = row.Question
		m.ask(answering, "")
	case "s":
		m.ask(sending, "")
	case "r", "x", "R":
		m.act = map[string]string{"r": "restart", "x": "stop", "R": "refresh"}[key]
		m.ask(confirming, "")
	case "L":
		m.ask(landing, "")
	}
	return nil
}

// ask starts the input of a line, or an answer, for the selected session.
func (m *Model) ask(what mode, text string) {
	m.mode, m.target = what, m.selected
	m.line.set(text)
}

func (m *Model) move(key string) bool {
	rows := m.visible()
	at := slices.IndexFunc(rows, func(r Row) bool { return r.Address == m.selected })
	switch key {
	case "j", "down":
		at++
	case "k", "up":
		at--
	case "g", "home":
		at = 0
	case "G", "end":
		at = len(rows) - 1
	case "ctrl+f":
		at += bodyHeight(*m)
	case "ctrl+b":
		at -= bodyHeight(*m)
	case "n":
		if at++; at >= len(rows) || !rows[at].Needs { // sessions that need attention come first
			at = 0
		}
	default:
		return false
	}
	if len(rows) > 0 {
		m.choose(rows[min(max(at, 0), len(rows)-1)].Address)
	}
	return true
}

// scroll scrolls the page. A tab starts at the beginning or the end of its text.
func (m *Model) scroll(key string) bool {
	by := 0
	switch key {
	case "pgup":
		by = -bodyHeight(*m)
	case "pgdown", "space":
		by = bodyHeight(*m)
	case "ctrl+u":
		by = -bodyHeight(*m) / 2
	case "ctrl+d":
		by = bodyHeight(*m) / 2
	case "shift+up", "K":
		by = -1
	case "shift+down", "J":
		by = 1
	case "left":
		m.right = max(m.right-8, 0)
	case "right":
		if !m.tab.wraps() {
			m.right += 8
		}
	default:
		return false
	}
	if m.tab.follows() {
		by = -by
	}
	m.up = min(max(m.up+by, 0), max(len(pageLines(*m))-bodyHeight(*m), 0))
	return true
}

// confirm restarts, stops or refreshes the session if the key confirms.
func confirm(m *Model, k Key) []any {
	m.mode = browsing
	if k.Name != "y" {
		m.say(m.act+" canceled", false)
		return nil
	}
	return m.do(m.act+" "+m.target.Short(), m.act, "--", string(m.target))
}

// land lands the work of the session in the way that the key selects, or that of all sessions. The
// command has the terminal, and asks about the session, or shows the order and asks.
func land(m *Model, k Key) []any {
	m.mode = browsing
	if k.Name == "a" {
		return []any{Terminal{Args: []string{"land", "--all", "--ask"}, Stay: true}}
	}
	method, chosen := map[string]string{"m": "--merge", "s": "--squash", "r": "--rebase", "p": "--pr"}[k.Name]
	if !chosen {
		m.say("land canceled", false)
		return nil
	}
	return []any{Terminal{Args: []string{"land", method, "--", string(m.target)}, Stay: true}}
}

// do runs a command in the background.
func (m *Model) do(about string, args ...string) []any {
	m.running = append(slices.Clone(m.running), about)
	m.message = ""
	return []any{Do{About: about, Args: args}}
}

// option returns the answer that a key selects while no text is being typed.
func option(m Model, k Key) (answer string, chosen bool) {
	if len(m.line.text) > 0 || k.Text == "" {
		return "", false
	}
	words := map[string]string{"y": session.Yes, "a": session.Always, "n": session.No}
	for _, o := range m.question.Options {
		if o.Text {
			continue // a text is typed instead
		}
		if number := strconv.Itoa(o.Number); k.Text == number {
			return number, true
		}
		if o.Word != "" && o.Word == words[k.Text] {
			return o.Word, true
		}
	}
	return "", false
}

func (m *Model) answer(text string) []any {
	m.mode = browsing
	return m.do("answer "+m.target.Short(), "answer", "--question", m.question.ID, "--", string(m.target), text)
}

// edit edits the line.
func (m *Model) edit(k Key) []any {
	switch k.Name {
	case "esc", "ctrl+c":
		if m.mode == filtering {
			m.filter = ""
			m.keepSelected(0)
		}
		m.mode = browsing
	case "enter":
		return m.submit()
	case "up", "down":
		if m.mode == filtering {
			m.move(k.Name)
		}
	case "backspace":
		if len(m.line.text) == 0 {
			m.mode = browsing
			break
		}
		fallthrough
	default:
		if m.line.key(k) {
			m.typed()
		}
	}
	return nil
}

// typed applies the filter while it is being typed.
func (m *Model) typed() {
	if m.mode == filtering {
		m.filter = m.line.String()
		m.keepSelected(0)
	}
}

// submit submits the typed line.
func (m *Model) submit() []any {
	what, text := m.mode, strings.TrimSpace(m.line.String())
	m.mode = browsing
	if text == "" {
		return nil
	}
	switch what {
	case sending:
		return m.do("send to "+m.target.Short(), "send", "--", string(m.target), text)
	case answering:
		return m.answer(text)
	case commanding:
		return command(m, text)
	}
	return nil
}

// command runs a typed command of agentform on the terminal. % is the session that was selected
// when typing began, since that one may have left the list.
func command(m *Model, text string) []any {
	words := splitWords(text)
	if len(words) > 0 && words[0] == "agentform" {
		words = words[1:]
	}
	for i, w := range words {
		if w == "%" {
			words[i] = string(m.target)
		}
	}
	switch {
	case len(words) == 0:
		return nil
	case slices.Contains([]string{"q", "q!", "quit", "exit"}, words[0]):
		return m.quit()
	case words[0] == "ui":
		m.say("this is agentform ui", true)
		return nil
	}
	return []any{Terminal{Args: words, Stay: words[0] != "attach"}}
}
