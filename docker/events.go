package docker

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
)

// Events calls happened each time that a container of the project starts, ends, is
// paused, goes on, runs out of memory or is removed, until ctx ends: then it returns
// nil. The error is that the engine tells no more. It tells nothing of what happens
// inside: that an agent has ended stands in its run's folder. Of adopted containers it
// tells nothing, since they bear no label.
func (r *Runtime) Events(ctx context.Context, happened func()) error {
	c, err := r.engine()
	if err != nil {
		return err
	}
	of := labelID
	if r.config.Lineage != "" {
		of = labelProject + "=" + r.config.Lineage
	}
	wanted := filters.NewArgs(filters.Arg("type", string(events.ContainerEventType)), filters.Arg("label", of))
	for _, a := range []events.Action{events.ActionStart, events.ActionDie, events.ActionPause, events.ActionUnPause, events.ActionOOM, events.ActionDestroy} {
		wanted.Add("event", string(a))
	}
	messages, failed := c.Events(ctx, events.ListOptions{Filters: wanted})
	for {
		select {
		case <-messages:
			happened()
		case err := <-failed:
			switch {
			case ctx.Err() != nil:
				return nil
			case err == nil || errors.Is(err, io.EOF):
				err = errors.New("the engine hung up")
			}
			return fmt.Errorf("listen to the engine: %w", explain(err))
		}
	}
}
