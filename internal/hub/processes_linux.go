package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/session"
)

// Processes wakes the hub when an agent's process exits, with one epoll of pidfds.
type Processes struct {
	mu      sync.Mutex
	epoll   int // 0: not running
	watched map[session.Process]int
	wanted  []session.Process
	wake    func()
}

func (p *Processes) Watch(w Watched) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = w.Agents
	p.sync()
}

func (p *Processes) Run(ctx context.Context, wake func()) error {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("watch processes: %w", err)
	}
	var stop [2]int // a byte ends the wait
	if err := unix.Pipe2(stop[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return errors.Join(fmt.Errorf("watch processes: %w", err), unix.Close(epoll))
	}
	p.mu.Lock()
	p.epoll, p.wake, p.watched = epoll, wake, map[session.Process]int{}
	err = p.add(stop[0])
	p.sync()
	p.mu.Unlock()
	defer p.end(stop)
	if err != nil {
		return fmt.Errorf("watch processes: %w", err)
	}
	defer context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.epoll != 0 { // else end has closed the pipe
			_, _ = unix.Write(stop[1], []byte{0})
		}
	})()
	events := make([]unix.EpollEvent, 64)
	for ctx.Err() == nil {
		n, err := unix.EpollWait(epoll, events, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("watch processes: %w", err)
		}
		if n > 0 && ctx.Err() == nil {
			p.drop(events[:n])
			wake()
		}
	}
	return nil
}

// drop removes processes that have exited. Between the wait and drop, sync can have
// closed a descriptor, and its number can be another file's.
func (p *Processes) drop(ended []unix.EpollEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.watched, func(_ session.Process, fd int) bool {
		exited := slices.ContainsFunc(ended, func(e unix.EpollEvent) bool { return int(e.Fd) == fd })
		if exited {
			_ = unix.Close(fd) // which takes it out of the epoll
		}
		return exited
	})
}

func (p *Processes) add(fd int) error {
	return unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// sync opens the processes that are wanted, and closes the others. The caller holds the
// lock.
func (p *Processes) sync() {
	if p.epoll == 0 {
		return
	}
	wanted := make(map[session.Process]bool, len(p.wanted))
	for _, x := range p.wanted {
		wanted[x] = true
		if _, is := p.watched[x]; is {
			continue
		}
		fd, err := unix.PidfdOpen(x.PID, 0)
		reused := err == nil && !(proc.Process{PID: x.PID, Start: x.Start}).Alive()
		if reused || errors.Is(err, unix.ESRCH) {
			p.wake()
		}
		switch {
		case err != nil: // also out of descriptors, or no such call: the sweep sees it
		case reused || p.add(fd) != nil:
			_ = unix.Close(fd)
		default:
			p.watched[x] = fd
		}
	}
	for x, fd := range p.watched {
		if !wanted[x] {
			_ = unix.Close(fd)
			delete(p.watched, x)
		}
	}
}

func (p *Processes) end(stop [2]int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, fd := range p.watched {
		_ = unix.Close(fd)
	}
	_, _, _ = unix.Close(stop[0]), unix.Close(stop[1]), unix.Close(p.epoll)
	p.epoll, p.watched = 0, nil
}
