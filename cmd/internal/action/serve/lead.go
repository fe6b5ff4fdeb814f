package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/internal/wire"
)

// lead waits until this hub becomes the leader. Until then it forwards requests to the leader. The
// context ends when another hub leads.
func lead(ctx context.Context, in Input) (context.Context, func() error, error) {
	p, log := in.Project, in.Log
	b, err := p.Stored.HubLock()
	if err != nil {
		return nil, nil, err
	}
	f := &follower{log: log}
	end := func() error { return nil }
	if in.Listen != "" {
		if end, err = f.serve(in); err != nil {
			return nil, nil, err
		}
	}
	who := p.Who()
	hold, err := backend.Lead(ctx, b, backend.Info{
		ID: uuid.NewString(), Operation: "hub", Who: who.User + "@" + who.Host, Version: p.Stored.Version,
		Created: time.Now().UTC(), Path: p.Manifest.Project, Info: in.Advertise, Process: backend.ProcessOf(os.Getpid(), p.Owner()),
	}, f.follow, func(err error) { log.Warn("the lock of the hubs was not reached", "error", err) })
	if err = errors.Join(err, end()); err != nil {
		if hold != nil {
			err = errors.Join(err, hold.Release(context.WithoutCancel(ctx)))
		}
		return nil, nil, err
	}
	log.Info("this hub leads", "lock", hold.Info().ID)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(hold.Lost(), func() { cancel(context.Cause(hold.Lost())) })
	return ctx, func() error {
		stop()
		released, end := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer end()
		if err := hold.Release(released); err != nil {
			return fmt.Errorf("another hub acts now: %w", err)
		}
		return nil
	}, nil
}

// releaseTime bounds the release of a lead, which expires soon after.
const releaseTime = 5 * time.Second

// follower serves a hub that does not lead.
type follower struct {
	log    *slog.Logger
	leader atomic.Pointer[httputil.ReverseProxy]
}

// follow forwards requests to the hub that holds the lock.
func (f *follower) follow(holder backend.Info) {
	f.log.Info("another hub leads", "holder", holder.Who, "address", holder.Info)
	address, err := url.Parse(holder.Info)
	if err != nil || address.Host == "" {
		f.leader.Store(nil)
		return
	}
	f.leader.Store(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(address)
			r.Out.Host = r.In.Host // which the leader checks
		},
		FlushInterval: -1, // events
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			unavailable(w, "the hub that leads, "+holder.Who+", does not answer: "+err.Error())
		},
	})
}

func (f *follower) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	leader := f.leader.Load()
	switch {
	case r.URL.Path == "/healthz", r.URL.Path == "/readyz":
		w.Header().Set("Content-Type", "application/json")
		_ = wire.Write(w, api.Health{Format: api.FormatVersion, Status: "following"}) // the client may be gone
	case leader == nil:
		unavailable(w, "no hub leads yet")
	default:
		leader.ServeHTTP(w, r)
	}
}

func unavailable(w http.ResponseWriter, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
	_ = wire.Write(w, api.Failure{Error: &api.Error{Code: "no_leader", Message: why, Next: "try again"}}) // the client may be gone
}

// serve serves the address of --listen until the returned function is called.
func (f *follower) serve(in Input) (end func() error, err error) {
	l, _, err := server.ListenTCP(in.Listen, in.Remote)
	if err != nil {
		return nil, err
	}
	s := &http.Server{Handler: f, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	return func() error {
		err := errors.Join(s.Close(), <-served) // the API is served at this address next
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	}, nil
}
