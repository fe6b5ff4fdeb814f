package docker

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
)

// Events calls happened whenever a container of the project starts, ends, is paused or
// resumed, runs out of memory or is removed, until ctx ends. It does not report what
// happens inside a container, nor to adopted containers, which have no labels.
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
				err = errors.New("the engine closed the connection")
			}
			return fmt.Errorf("listen to the engine: %w", explain(err))
		}
	}
}
