package server

import (
	"compress/gzip"
	"context"
	"errors"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/klauspost/compress/gzhttp"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Hub is what a Server serves: a *hub.Hub.
type Hub interface {
	Snapshot() *hub.Snapshot
	Look(ctx context.Context) (*hub.Snapshot, error)
	Events(ctx context.Context, after string) (iter.Seq[hub.Event], error)
	Do(ctx context.Context, by string, hand engine.Override) (plan.Plan, apply.Tally, error)
	Send(ctx context.Context, by string, a session.Address, in session.Input) (input.Outcome, error)
	Answer(ctx context.Context, by string, a session.Address, r input.Reply) (input.Answered, error)
	Attach(a session.Address) ([]string, error)
	Capture(ctx context.Context, a session.Address, lines int) (string, error)
}

// Config is the input of New.
type Config struct {
	Hub      Hub
	Activity *activity.Reader
	Usage    *usage.Store
	Facts    func(run string) session.RunFacts // how a run ended; nil: not known
	Folder   func(session.Record) string       // of a session's history, with the screens, which the hub does not keep
	Metrics  *Metrics
	Project  string
	Version  string       // of agentform
	Diff     Differ       // nil: the API has no diffs
	Land     Lander       // nil: the API lands and refreshes nothing
	Report   Reporter     // nil: the API has no reports
	Logins   *Logins      // nil: they are known, and a logout counts, until the hub exits
	Environ  []string     // of the commands that attach terminals
	By       string       // the author of actions over the unix socket: the owner of the hub
	Log      *slog.Logger // nil: nowhere
}

// The authors of actions over TCP: with the token, and of a page that has logged in, where this is
// the first word.
const (
	ByToken = "api"
	ByPage  = "page"
)

// Limits, so that slow and malicious clients cost little.
const (
	maxConnections = 1000
	maxHeader      = 12 << 10 // net/http reads 4 KiB more
	maxBody        = 64 << 10
	headerTime     = 5 * time.Second
	readTime       = 5 * time.Second  // of a whole request
	writeTime      = 10 * time.Second // of an answer, and of each event
	idleTime       = time.Minute
	lookTime       = 15 * time.Second // of a requested look
	heartbeat      = 15 * time.Second
	graceTime      = 30 * time.Second // of requests once the hub ends
)

// Server serves one hub. New returns one.
type Server struct {
	cfg      Config
	log      *slog.Logger
	acting   context.Context // of actions, which continue when the client is gone
	cancel   context.CancelFunc
	doing    sync.RWMutex  // read-locked by actions
	pace     time.Duration // between heartbeats of an event stream
	patience time.Duration // how long a client may take to read what is written

	rows       *rows
	links      links
	terminals  terminals
	streams    context.Context // of streams and terminals, which end before the server does
	endStreams context.CancelFunc
}

// New returns a server of a running hub.
func New(c Config) *Server {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Facts == nil {
		c.Facts = func(string) session.RunFacts { return session.RunFacts{} }
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics(c.Version)
	}
	if c.Logins == nil {
		c.Logins = &Logins{}
	}
	s := &Server{cfg: c, log: c.Log, pace: heartbeat, patience: writeTime, rows: newRows(), terminals: terminals{times: defaultTimes}}
	s.streams, s.endStreams = context.WithCancel(context.Background())
	s.acting, s.cancel = context.WithCancel(context.Background())
	return s
}

// Listener is an address at which a Server listens.
type Listener struct {
	net.Listener
	Token string // required of requests; empty: every client is trusted
	Host  string // a name of the server in addition to localhost and its addresses
	// ReadOnly refuses all actions of all clients.
	ReadOnly bool
}

// Run serves until ctx ends, and waits for the requests in progress, for at most
// graceTime. It closes the listeners. The error is that of a listener that failed.
func (s *Server) Run(ctx context.Context, listeners ...Listener) error {
	defer s.cancel()
	ended := make(chan error, len(listeners))
	defer s.endStreams()
	var servers []*http.Server
	for _, l := range listeners {
		s.Listens(l)
		server := &http.Server{
			Handler: s.Handler(l), ReadHeaderTimeout: headerTime, ReadTimeout: readTime, IdleTimeout: idleTime,
			MaxHeaderBytes: maxHeader, ConnContext: withConn, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
			BaseContext: func(net.Listener) context.Context { return s.streams },
		}
		servers = append(servers, server)
		limited := netutil.LimitListener(l.Listener, maxConnections)
		if l.Token != "" {
			limited = &connLimiter{Listener: l.Listener, limit: maxConnections}
		}
		go func() { ended <- server.Serve(limited) }()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	s.endStreams()
	last, done := context.WithTimeout(context.WithoutCancel(ctx), graceTime)
	defer done()
	for _, server := range servers {
		if server.Shutdown(last) != nil {
			s.cancel() // interrupts what takes longer; the state stays consistent
			_ = server.Close()
		}
	}
	_ = s.cfg.Logins.write()   // when they were last used; it is logged
	s.terminals.viewers.Wait() // net/http does not wait for connections that were taken over
	s.doing.Lock()             // waits for the interrupted actions
	defer s.doing.Unlock()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// Listens records that the page is served at a listener, for Link. Run does so as well.
func (s *Server) Listens(l Listener) {
	if l.Token != "" {
		s.links.serves(l)
	}
}

func (s *Server) Handler(l Listener) http.Handler {
	mux := http.NewServeMux()
	byPath := map[string][]route{}
	for _, x := range append(routes(), loginRoutes(l)...) {
		for _, path := range x.paths() {
			byPath[path] = append(byPath[path], x)
		}
	}
	for path, all := range byPath {
		mux.Handle(path, s.dispatch(all))
	}
	servePage(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, fail(http.StatusNotFound, "not_found", "no endpoint "+shorten(r.URL.Path), "GET /v1/openapi.json lists the endpoints"))
	})
	h := s.middleware(l, mux)
	if l.Token != "" { // else the client is on this machine
		h = compressed(h)
	}
	return h
}

// compressed compresses documents and the files of the page for clients that accept it. Event streams
// and terminals are left as they are: each of their messages is sent at once. At best speed the document of
// two hundred sessions would be a third larger, and a millisecond earlier.
func compressed(h http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.CompressionLevel(gzip.DefaultCompression),
		gzhttp.ContentTypes([]string{"application/json", "text/javascript", "text/css", "text/html", "image/svg+xml"}))
	if err != nil { // never: the options are constant
		return h
	}
	return wrap(h)
}

// dispatch handles the requests to one path, with a route for each method.
func (s *Server) dispatch(all []route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := slices.IndexFunc(all, func(x route) bool {
			return r.Method == x.method || r.Method == http.MethodHead && x.method == http.MethodGet
		})
		if i < 0 {
			var methods []string
			for _, x := range all {
				methods = append(methods, x.method)
			}
			w.Header().Set("Allow", strings.Join(methods, ", "))
			s.refuse(w, r, fail(http.StatusMethodNotAllowed, "method_not_allowed", r.Method+" is not allowed here", "use "+strings.Join(methods, " or ")))
			return
		}
		x := all[i]
		began := time.Now()
		c, err := callerOf(r), error(nil)
		switch {
		case x.open:
		case c.fault != nil:
			err = c.fault
		case x.method != http.MethodGet && !x.reader && !c.operate:
			err = mayNot(c)
		}
		if err == nil {
			err = x.check(r)
		}
		if err == nil {
			err = x.handle(s, w, r)
		}
		if err != nil {
			s.refuse(w, r, err)
		}
		status := statusOf(w)
		s.cfg.Metrics.requests.WithLabelValues(x.id, strconv.Itoa(status)).Inc()
		s.log.Debug("asked", "what", x.id, "path", r.URL.Path, "status", status, "took", time.Since(began))
	})
}
