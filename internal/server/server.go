package server

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Hub is what is served: a *hub.Hub.
type Hub interface {
	Snapshot() *hub.Snapshot
	Look(ctx context.Context) (*hub.Snapshot, error)
	Events(ctx context.Context, after string) iter.Seq2[hub.Event, error]
	Do(ctx context.Context, by string, hand engine.Override) (plan.Plan, apply.Tally, error)
	Send(ctx context.Context, by string, a session.Address, in session.Input) (input.Outcome, error)
	Capture(ctx context.Context, a session.Address, lines int) (string, error)
}

// Config is what a server works with.
type Config struct {
	Hub      Hub
	Activity *activity.Reader
	// Facts is what the folder of a run tells: of one of which nothing is to be seen
	// any more, how it ended; nil: that is not known.
	Facts   func(run string) session.RunFacts
	Metrics *Metrics
	Project string
	Version string // of agentform
	// By is the name in which those act who come by the unix socket: the person's
	// whose hub it is.
	By  string
	Log *slog.Logger // nil: nowhere
}

// ByToken is the name in which those act who come with the token: it says no more.
const ByToken = "api"

// The limits, so that whoever is slow, or means ill, costs little.
const (
	maxConnections = 1000
	maxHeader      = 16 << 10
	headerSlack    = 4 << 10 // so many bytes more than it is told net/http reads
	maxBody        = 64 << 10
	headerTime     = 5 * time.Second
	readTime       = 5 * time.Second  // of a whole request
	writeTime      = 10 * time.Second // of an answer, and of each event
	idleTime       = time.Minute
	lookTime       = 15 * time.Second // of a look that is asked for
	heartbeat      = 15 * time.Second
	// graceTime is how long, when the hub ends, what somebody asked for may take to
	// be finished.
	graceTime = 30 * time.Second
)

// Server serves one hub. Make it with New.
type Server struct {
	cfg   Config
	log   *slog.Logger
	began time.Time
	// acting is what is done by hand: it goes on when whoever asked is gone.
	acting context.Context
	cancel context.CancelFunc
	doing  sync.RWMutex // held for reading by what acts
	// pace is the time between two signs of life of a stream of events.
	pace time.Duration
	// patience is how long a reader may take for what is written.
	patience time.Duration
}

// New is a server of a hub that runs.
func New(c Config) *Server {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Facts == nil {
		c.Facts = func(string) session.RunFacts { return session.RunFacts{} }
	}
	s := &Server{cfg: c, log: c.Log, began: time.Now(), pace: heartbeat, patience: writeTime}
	s.acting, s.cancel = context.WithCancel(context.Background())
	return s
}

// Door is a way in.
type Door struct {
	net.Listener
	// Token is what a request has to bring; empty: nothing, who can connect may.
	Token string
	// Host is a name by which it is reached besides localhost and by address.
	Host string
}

// Run serves until ctx ends, and returns when what somebody asked for by then is
// finished, or half a minute after. It closes the doors. The error is that a door
// does not work any more.
func (s *Server) Run(ctx context.Context, doors ...Door) error {
	defer s.cancel()
	ended := make(chan error, len(doors))
	streams, endStreams := context.WithCancel(context.Background())
	defer endStreams()
	var servers []*http.Server
	for _, d := range doors {
		server := &http.Server{
			Handler: s.Handler(d), ReadHeaderTimeout: headerTime, ReadTimeout: readTime, IdleTimeout: idleTime,
			MaxHeaderBytes: maxHeader - headerSlack, ConnContext: withVisitor, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
			BaseContext: func(net.Listener) context.Context { return streams },
		}
		servers = append(servers, server)
		limited := netutil.LimitListener(d.Listener, maxConnections)
		if d.Token != "" {
			limited = &crowd{Listener: d.Listener, most: maxConnections}
		}
		go func() { ended <- server.Serve(limited) }()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	endStreams()
	last, done := context.WithTimeout(context.WithoutCancel(ctx), graceTime)
	defer done()
	for _, server := range servers {
		if server.Shutdown(last) != nil {
			s.cancel() // what takes longer is interrupted; the state stays right
			_ = server.Close()
		}
	}
	s.doing.Lock() // what was interrupted has ended
	defer s.doing.Unlock()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// Handler answers the requests that come by a door.
func (s *Server) Handler(d Door) http.Handler {
	mux := http.NewServeMux()
	for path, methods := range byPath(routes()) {
		mux.Handle(path, s.dispatch(methods, newGuard(d)))
	}
	mux.HandleFunc("GET /{$}", page("index.html"))
	for _, name := range []string{"dashboard.css", "dashboard.js", "model.mjs"} {
		mux.HandleFunc("GET /"+name, page(name))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, &api.Error{Status: http.StatusNotFound, Code: "not_found", Message: "there is nothing at " + brief(r.URL.Path),
			Next: "GET /v1/openapi.json says what there is"})
	})
	return s.outer(d, mux)
}

// who is the key of the name in which a request acts, in its context.
type who struct{}

// outer is what is done with every request, whatever it asks for.
func (s *Server) outer(d Door, next http.Handler) http.Handler {
	by := s.cfg.By
	if d.Token != "" {
		by = ByToken
	}
	foreign := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		w = &seer{ResponseWriter: w, patience: s.patience}
		if !knownHost(r.Host, d.Host) {
			s.refuse(w, r, &api.Error{Status: http.StatusForbidden, Code: "unknown_host", Message: "this hub is not called " + brief(r.Host),
				Next: "ask for it as localhost, by its address, or by the name that --listen has"})
			return
		}
		if err := foreign.Check(r); err != nil {
			s.refuse(w, r, &api.Error{Status: http.StatusForbidden, Code: "cross_origin", Message: "a page of another origin may not ask for this"})
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), who{}, by)))
	})
}

// dispatch answers the requests of one path, by their methods.
func (s *Server) dispatch(methods map[string]route, g guard) http.Handler {
	allowed := allow(methods)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		x, there := methods[method]
		if !there {
			w.Header().Set("Allow", allowed)
			s.refuse(w, r, &api.Error{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Message: r.Method + " cannot be done here",
				Next: "use " + allowed})
			return
		}
		began := time.Now()
		err := g.check(r, x)
		if err == nil {
			err = x.handle(s, w, r)
		}
		if err != nil {
			s.refuse(w, r, err)
		}
		status := statusOf(w)
		s.cfg.Metrics.request(x.id, status)
		s.log.Debug("asked", "what", x.id, "path", r.URL.Path, "status", status, "took", time.Since(began))
	})
}

// seer notes the status of an answer, and bounds how long it may be taken, from when
// it begins.
type seer struct {
	http.ResponseWriter
	status   int // 0: it has not begun
	patience time.Duration
}

// WriteHeader begins the answer.
func (w *seer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.patience))
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write begins with 200, as net/http does.
func (w *seer) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets deadlines and flushing reach the connection.
func (w *seer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// statusOf is that of an answer; 0: it has not begun.
func statusOf(w http.ResponseWriter) int {
	if x, is := w.(*seer); is {
		return x.status
	}
	return 0
}
