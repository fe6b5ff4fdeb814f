package docker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/session"
)

// commands runs commands in containers of their own.
type commands struct {
	config Config
	left   sync.Map // names of containers that this process failed to remove
}

// maker identifies the process that created a container for a command.
type maker struct {
	session.Owner
	Process proc.Process `json:"process"`
}

// maker returns this process as the value of a label.
func (c Config) maker() string {
	self, _ := proc.ReadStat(os.Getpid()) // unknown: the container does not count as abandoned
	o := c.Owner
	text, _ := json.Marshal(maker{session.Owner{Host: o.Host, Machine: o.Machine, BootID: o.BootID, PIDNamespace: o.PIDNamespace, UID: o.UID}, self.Process}) // strings and numbers
	return string(text)
}

// within creates a container, calls f with its id, and removes the container.
func (m *commands) within(ctx context.Context, c engine, config *container.Config, host *container.HostConfig, f func(id string) error) error {
	config.Labels[labelOneOff], config.Labels[labelMaker] = "1", m.config.maker()
	// The name identifies the container if the reply is lost. The engine removes the container when
	// it exits, even if agentform was killed.
	name := "agentform-once-" + strings.ToLower(rand.Text())
	host.AutoRemove = true
	making, cancel := contained.Detached(ctx)
	defer cancel()
	made, err := c.ContainerCreate(making, config, host, nil, nil, name)
	if err == nil {
		err = f(made.ID)
	} else {
		err = explain(err)
	}
	undo, cancel := contained.Detached(ctx)
	defer cancel()
	left := remove(undo, c, name)
	if left != nil {
		m.left.Store(name, nil)
	}
	if made.ID == "" {
		return err // the engine has already failed
	}
	return errors.Join(err, left)
}

// ours reports whether a container was created for a command of this project.
func (m *commands) ours(x container.Summary) bool {
	return len(x.Names) > 0 && x.Labels[labelOneOff] != "" && x.Labels[labelProject] == m.config.Lineage
}

// abandoned reports whether a command's container is unused, and whether that is known. For a
// container that another host created it is not known.
func (m *commands) abandoned(x container.Summary) (abandoned, known bool) {
	if _, left := m.left.Load(nameOf(x)); left {
		return true, true
	}
	by, here := makerOf(x), m.config.Owner
	known = by.Process.PID != 0 && by.BootID != "" && by.Differs(here) == session.SameOwner && here.BootID != ""
	return known && (by.BootID != here.BootID || !by.Process.Alive()), known
}

func makerOf(x container.Summary) (by maker) {
	_ = json.Unmarshal([]byte(x.Labels[labelMaker]), &by) // none, or invalid: unknown
	return by
}

func nameOf(x container.Summary) string { return strings.TrimPrefix(x.Names[0], "/") }

// sweep removes an abandoned container. If that fails, the next look tries again.
func (m *commands) sweep(ctx context.Context, c engine, x container.Summary) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if remove(ctx, c, x.ID) == nil {
		m.left.Delete(nameOf(x))
	}
}

// Leftovers returns the containers of commands that a process on another host created, and may
// still use.
func (r *far) Leftovers(ctx context.Context) ([]session.Leftover, error) {
	_, all, err := r.list(ctx)
	if err != nil {
		return nil, err
	}
	var found []session.Leftover
	for _, x := range all {
		if !r.commands.ours(x) {
			continue
		}
		if _, known := r.commands.abandoned(x); !known {
			by := makerOf(x)
			found = append(found, session.Leftover{Name: nameOf(x), Host: plaintext.OneLine(by.Host), PID: by.Process.PID, Made: time.Unix(x.Created, 0), Remove: plaintext.ShellWords(append(r.config.client(), "rm", "-f", nameOf(x))...)})
		}
	}
	return found, nil
}
