package ui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/sleep"
)

// Backend observes sessions and runs commands of agentform.
type Backend struct {
	// Look observes all sessions.
	Look func(context.Context) (Fleet, error)
	// Heard returns another number after a report of an agent. It is cheap.
	Heard func() int64
	// Load returns the current text of a tab.
	Load func(context.Context, Load) (string, error)
	// Do runs a command without a terminal and returns what it printed.
	Do func(context.Context, Do) (string, error)
	// Terminal returns a command that gets the terminal.
	Terminal func(Terminal) *exec.Cmd
}

// Options are the terminal of Run.
type Options struct {
	In, Out *os.File
	Color   bool
	First   Fleet // shown until the first look; it has no time
}

// ErrInterrupted means that a signal ended Run.
var ErrInterrupted = errors.New("interrupted")

// Run shows the sessions until the user quits or ctx ends. It restores the terminal.
func Run(ctx context.Context, b Backend, o Options) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &program{
		ctx: ctx, cancel: cancel, backend: b, model: New(o.Color), screen: screen{in: o.In, out: o.Out},
		messages: make(chan any), stopLoad: func() {},
	}
	if err := p.screen.take(); err != nil {
		return errors.Join(err, p.screen.giveBack())
	}
	defer func() { err = errors.Join(err, p.screen.giveBack()) }()
	defer p.stopKeys()
	p.update(p.screen.measure())
	p.update(Observed{Fleet: o.First})
	if err := errors.Join(p.draw(), p.startKeys()); err != nil {
		return err
	}
	go p.guard(p.watch)
	return p.loop()
}

// program connects a model to a terminal and a Backend.
type program struct {
	ctx      context.Context
	cancel   context.CancelFunc
	backend  Backend
	model    Model
	screen   screen
	messages chan any
	kept     []any              // messages received while keys were not read
	stopLoad context.CancelFunc // of the current load
	keys     *os.File           // closing it ends the reading of keys; nil: keys are not read
	keysDone chan struct{}
	keyAt    atomic.Int64 // time of the last key, in ns since 1970
}

// end is the message that no more input can be read.
type end struct{ error }

func (p *program) loop() error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGWINCH)
	defer signal.Stop(signals)
	for {
		var message any
		select {
		case <-p.ctx.Done():
			return ErrInterrupted
		case s := <-signals:
			if s != syscall.SIGWINCH {
				return ErrInterrupted
			}
			message = p.screen.measure()
		case message = <-p.messages:
		}
		for more := true; more; { // draw once after all pending messages
			if e, is := message.(end); is {
				return e.error
			}
			if quit, err := p.perform(p.update(message), signals); quit || err != nil {
				return err
			}
			if len(p.kept) > 0 {
				message, p.kept = p.kept[0], p.kept[1:]
				continue
			}
			select {
			case message = <-p.messages:
			default:
				more = false
			}
		}
		if err := p.draw(); err != nil {
			return err
		}
	}
}

func (p *program) update(message any) (requests []any) {
	if _, key := message.(Key); key {
		p.keyAt.Store(time.Now().UnixNano())
	}
	p.model, requests = p.model.Update(message, time.Now())
	return requests
}

func (p *program) draw() error {
	text, cursor := p.model.View()
	return p.screen.draw(text, cursor, Size{p.model.width, p.model.height})
}

func (p *program) tell(message any) {
	select {
	case p.messages <- message:
	case <-p.ctx.Done():
	}
}

// guard restores the terminal before a panic is printed.
func (p *program) guard(f func()) {
	defer func() {
		if r := recover(); r != nil {
			_ = p.screen.giveBack()
			panic(r)
		}
	}()
	f()
}

// settled is how long a session stays selected before its page is loaded.
const settled = 40 * time.Millisecond

// perform carries out the model's requests.
func (p *program) perform(requests []any, signals <-chan os.Signal) (quit bool, err error) {
	for _, request := range requests {
		switch r := request.(type) {
		case Load:
			p.stopLoad()
			ctx, stop := context.WithCancel(p.ctx)
			p.stopLoad = stop
			go p.guard(func() {
				defer stop()
				if !sleep.For(ctx, settled) {
					return
				}
				if text, err := p.backend.Load(ctx, r); ctx.Err() == nil {
					p.tell(Loaded{r, text, err})
				}
			})
		case Do:
			go p.guard(func() {
				text, err := p.backend.Do(p.ctx, r)
				p.tell(Done{r, text, err})
			})
		case Wake:
			time.AfterFunc(r.After, func() { p.tell(Woken{}) })
		case Terminal:
			failed, err := p.away(func() error { return p.command(r, signals) })
			if err != nil {
				return false, err
			}
			go p.tell(Returned{r, failed})
		case Suspend:
			if _, err := p.away(suspend); err != nil {
				return false, err
			}
		case Quit:
			return true, nil
		}
	}
	return false, nil
}

// away releases the terminal while f runs.
func (p *program) away(f func() error) (failed, err error) {
	p.stopKeys()
	if err := p.screen.giveBack(); err != nil {
		return nil, err
	}
	failed = f()
	if p.ctx.Err() != nil {
		return failed, ErrInterrupted
	}
	if err := p.screen.take(); err != nil {
		return failed, err
	}
	p.update(p.screen.measure())
	return failed, p.startKeys()
}

// suspend stops this process as Ctrl-Z does, until the shell continues it.
func suspend() error {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return err
	}
	select {
	case <-continued:
	case <-time.After(200 * time.Millisecond): // it was not stopped, as nobody could continue it
	}
	return nil
}

// command runs a command that has the terminal. Ctrl-C goes to the command.
func (p *program) command(t Terminal, signals <-chan os.Signal) error {
	c := p.backend.Terminal(t)
	c.Stdin, c.Stdout, c.Stderr = p.screen.in, p.screen.out, os.Stderr
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGTERM || s == syscall.SIGHUP {
				p.cancel()
				_ = c.Process.Signal(s) // it may have ended
			}
		case err := <-ended:
			if p.ctx.Err() == nil && (t.Stay || err != nil) {
				fmt.Fprint(p.screen.out, "\nPress Enter to return to agentform ui. ")
				p.waitForEnter(signals)
			}
			return nil // the command has reported why it failed
		}
	}
}

// waitForEnter waits for a line or a signal.
func (p *program) waitForEnter(signals <-chan os.Signal) {
	stop, stopped, err := os.Pipe()
	if err != nil {
		return
	}
	defer stop.Close()
	entered := make(chan struct{})
	go func() {
		defer close(entered)
		_ = keys(p.screen.in, stop, func(message any) { // without a terminal there is no wait
			if k, is := message.(Key); is && k.Name == "enter" {
				stopped.Close()
			}
		})
	}()
	for {
		select {
		case <-entered:
			stopped.Close()
			return
		case s := <-signals:
			if s == syscall.SIGWINCH {
				continue
			}
			if s != os.Interrupt {
				p.cancel()
			}
			stopped.Close()
			<-entered
			return
		}
	}
}

func (p *program) startKeys() error {
	stop, stopped, err := os.Pipe()
	if err != nil {
		return err
	}
	p.keys, p.keysDone = stopped, make(chan struct{})
	done := p.keysDone
	go p.guard(func() {
		defer close(done)
		defer stop.Close()
		if err := keys(p.screen.in, stop, p.tell); err != nil {
			p.tell(end{err})
		}
	})
	return nil
}

// stopKeys stops reading keys, so that another command can.
func (p *program) stopKeys() {
	if p.keys == nil {
		return
	}
	p.keys.Close()
	p.keys = nil
	for {
		select {
		case <-p.keysDone:
			return
		case m := <-p.messages:
			switch m.(type) {
			case Key, Paste: // too late for the new prompt
			default:
				p.kept = append(p.kept, m)
			}
		}
	}
}

// The times until the next look: after a change or a key, at rest, and until the next check for
// reports of agents.
const (
	lively  = time.Second
	resting = 5 * time.Second
	restful = 10 * time.Second // without keys and changes
	hearing = 400 * time.Millisecond
	// idleShare is the minimum wait as a multiple of a look's duration, and restShare that at rest,
	// up to longest.
	idleShare = 4
	restShare = 50
	longest   = 15 * time.Second
)

// watch observes the sessions until the context ends.
func (p *program) watch() {
	version, changed := "", time.Now()
	for p.ctx.Err() == nil {
		began, heard := time.Now(), p.backend.Heard()
		fleet, err := p.backend.Look(p.ctx)
		if p.ctx.Err() != nil {
			return
		}
		if v := versionOf(fleet.Rows); v != version {
			version, changed = v, time.Now()
		}
		took := time.Since(began)
		p.tell(Observed{fleet, err}) // waits while another command has the terminal
		for p.backend.Heard() == heard {
			quiet := min(time.Since(changed), time.Since(time.Unix(0, p.keyAt.Load())))
			if time.Since(began) >= pause(quiet, took) {
				break
			}
			select {
			case <-p.ctx.Done():
				return
			case <-time.After(hearing):
			}
		}
	}
}

// pause returns the time between two looks.
func pause(quiet, took time.Duration) time.Duration {
	if quiet < restful {
		return max(lively, idleShare*took)
	}
	return max(resting, min(restShare*took, longest), idleShare*took)
}
