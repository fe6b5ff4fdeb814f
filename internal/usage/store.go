package usage

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agentform/agentform/internal/fileid"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/session"
)

// Folder is the name of the directory in the data directory.
const Folder = "usage"

// Store has the usage of a project's sessions. It is safe for concurrent use.
type Store struct {
	dataDir string
	price   Pricer

	mu       sync.Mutex
	sessions map[string]*account // by id
	roots    map[string]string   // conversations of sub-agents' files, by path
	folders  map[string]folder   // by path

	known sync.Map // known by id, as of the last update
}

// New returns the Store of a data directory. It reads nothing at first.
func New(dataDir string, price Pricer) *Store {
	return &Store{dataDir: dataDir, price: price,
		sessions: map[string]*account{}, roots: map[string]string{}, folders: map[string]folder{}}
}

// known is a session's usage. It is immutable.
type known struct {
	Session
	total Sum
}

// account is a session's file, as read so far.
type account struct {
	sum   Session
	path  string
	read  int64 // of the file
	files map[string]*cursor
	keys  keys
}

// cursor is a position in an agent's file.
type cursor struct {
	id      string
	read    int64
	context session.UsageContext
	info    fs.FileInfo // when everything in it was read; nil: not by this process
}

// Subject is a session whose usage is read.
type Subject struct {
	ID      string
	Address session.Address
	Agent   string // its name
	Run     string
	// Since is when the session was created or adopted: earlier usage of its conversation does not
	// belong to it.
	Since time.Time
	// From is the last reset of its budgets; zero: never.
	From time.Time
}

// Of returns the subject for a recorded session.
func Of(r session.Record) Subject {
	return Subject{r.ID, r.Address, r.Spec.Agent.Name, r.Run.ID, r.CreatedAt, r.BudgetsFrom}
}

// early is how much earlier than its session an answer may be: clocks of files differ.
const early = 2 * time.Second

// Update records the additions to the session file at path and to those of its sub-agents. An agent
// whose files have no token counts has no usage. The error names what could not be read or
// recorded, which the next call retries.
func (s *Store) Update(a session.Agent, of Subject, path, conversation string, now time.Time) error {
	reader, can := a.(session.UsageReader)
	if !can || of.ID == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x, err := s.account(of.ID)
	if err != nil {
		return err
	}
	if _, is := s.known.Load(of.ID); !is {
		s.publish(x)
	}
	renamed := func() bool { return x.sum.Address != "" && x.sum.Address != of.Address }
	grown := s.grown(reader, x, path, conversation, now)
	if len(grown) == 0 && !renamed() {
		return nil
	}
	defer func() { s.publish(x) }()
	err = s.locked(x, func(f *os.File) error {
		var errs []error
		for _, path := range grown {
			errs = append(errs, s.follow(reader, x, of, path, f))
		}
		if renamed() { // no answer reports the rename
			errs = append(errs, s.put(f, x, Line{Session: of.Address, Agent: of.Agent, Run: of.Run}))
		}
		return errors.Join(errs...)
	})
	if err != nil {
		delete(s.sessions, of.ID) // the file is authoritative
	}
	return err
}

// Work records a period of work of a session's agent.
func (s *Store) Work(of Subject, w Span) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, err := s.account(of.ID)
	if err != nil {
		return err
	}
	defer func() { s.publish(x) }()
	err = s.locked(x, func(f *os.File) error {
		return s.put(f, x, Line{Session: of.Address, Agent: of.Agent, Run: of.Run, From: of.From, Worked: []Span{w}})
	})
	if err != nil {
		delete(s.sessions, of.ID) // the file is authoritative
	}
	return err
}

// publish makes a session's usage available to readers.
func (s *Store) publish(x *account) {
	s.known.Store(x.sum.ID, known{x.copy(), x.sum.Total()})
}

// account returns the session's account with the additions of other processes.
func (s *Store) account(id string) (*account, error) {
	x := s.sessions[id]
	if x == nil {
		x = &account{path: filepath.Join(s.dataDir, Folder, id+".jsonl"), files: map[string]*cursor{},
			sum: Session{ID: id, Slices: map[Slice]Sum{}}}
	}
	info, err := os.Lstat(x.path)
	if errors.Is(err, fs.ErrNotExist) && x.read == 0 || err == nil && info.Mode().IsRegular() && info.Size() == x.read {
		s.sessions[id] = x
		return x, nil
	}
	f, err := layout.OpenRegular(x.path, syscall.O_NOFOLLOW)
	if errors.Is(err, fs.ErrNotExist) { // another process has removed it
		delete(s.sessions, id)
		return s.account(id)
	}
	if err != nil {
		return nil, fmt.Errorf("read the usage of %s: %w", id, err)
	}
	defer f.Close()
	if err := x.load(f, s.price); err != nil {
		return nil, fmt.Errorf("read the usage of %s: %w", id, err)
	}
	s.sessions[id] = x
	return x, nil
}

// load reads the added lines. A line torn by a kill is ignored.
func (x *account) load(f *os.File, price Pricer) error {
	info, err := f.Stat()
	if err != nil || info.Size() == x.read {
		return err
	}
	if info.Size() < x.read { // another process has truncated it
		*x = account{path: x.path, files: map[string]*cursor{}, sum: Session{ID: x.sum.ID, Slices: map[Slice]Sum{}}}
	}
	read, err := lines(f, x.read, func(text []byte, _ int64) error {
		if l, ok := parse(text); ok {
			x.take(l, price)
		}
		return nil
	})
	x.read = read
	return err
}

func (x *account) take(l Line, price Pricer) {
	x.sum.add(l, price)
	for _, a := range l.Answers {
		for _, k := range a.Keys {
			x.keys.add(k) // known, unless another process has recorded it
		}
	}
	if l.File == "" {
		return
	}
	c := x.files[l.File]
	if c == nil {
		c = &cursor{}
		x.files[l.File] = c
	}
	c.id, c.read, c.context = l.FileID, l.Read, l.Context
}

// grown returns the files that may have additions, the session's own first.
func (s *Store) grown(reader session.UsageReader, x *account, path, conversation string, now time.Time) []string {
	var all []string
	add := func(path string) {
		info, err := os.Lstat(path)
		if err == nil && !slices.Contains(all, path) && !x.files[path].same(info) {
			all = append(all, path)
		}
	}
	if strings.HasSuffix(path, ".jsonl") {
		add(path)
		for _, pattern := range reader.UsageFiles(path, conversation, now) {
			for _, file := range s.glob(pattern) {
				if file == path || x.files[file] != nil || s.belongs(reader, file, conversation) {
					add(file)
				}
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(x.files)) {
		add(file)
	}
	return all
}

// same reports whether the file is unchanged since it was read.
func (c *cursor) same(info fs.FileInfo) bool {
	return c != nil && c.info != nil && os.SameFile(c.info, info) && c.info.Size() == info.Size() && c.info.ModTime().Equal(info.ModTime())
}

// directory is the content of a directory.
type folder struct {
	at    time.Time // when it last changed
	names []string
}

// glob returns the files that match a pattern. It caches unchanged directories.
func (s *Store) glob(pattern string) []string {
	dir, name := filepath.Split(pattern)
	dir = filepath.Clean(dir)
	if strings.ContainsAny(dir, `*?[\`) {
		base := dir
		for strings.ContainsAny(base, `*?[\`) {
			base = filepath.Dir(base)
		}
		if _, err := os.Lstat(base); err != nil {
			return nil
		}
		all, _ := filepath.Glob(pattern) // an adapter's pattern is valid
		return all
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	d, known := s.folders[dir]
	if !known || !d.at.Equal(info.ModTime()) || time.Since(d.at) < early {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil
		}
		d = folder{at: info.ModTime()}
		for _, e := range entries {
			d.names = append(d.names, e.Name())
		}
		s.folders[dir] = d
	}
	var all []string
	for _, n := range d.names {
		if ok, _ := filepath.Match(name, n); ok {
			all = append(all, filepath.Join(dir, n))
		}
	}
	return all
}

// headLimit bounds the first line, which names a file's owner: Codex 0.169 starts its files with
// all instructions.
const headLimit = 1 << 20

func (s *Store) belongs(reader session.UsageReader, path, conversation string) bool {
	root, known := s.roots[path]
	if !known {
		f, err := layout.OpenRegular(path, syscall.O_NOFOLLOW)
		if err != nil {
			return false
		}
		defer f.Close()
		first, err := bufio.NewReader(io.LimitReader(f, headLimit)).ReadBytes('\n')
		if err != nil { // it is still incomplete
			return false
		}
		root = reader.UsageOwner(first)
		s.roots[path] = root
	}
	return root == "" || root == conversation
}

// locked calls do while no other process records for the session. The file is open for appending,
// and read to its end.
func (s *Store) locked(x *account, do func(f *os.File) error) (err error) {
	if err := layout.MakeDataDir(s.dataDir); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Dir(x.path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("record usage: %w", err)
	}
	f, err := os.OpenFile(x.path, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return fmt.Errorf("record usage: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }() // which also unlocks it
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		err = x.load(f, s.price)
	}
	if err == nil {
		err = f.Truncate(x.read) // the part of a line that a killed process has left
	}
	if err != nil {
		return fmt.Errorf("record usage: %w", err)
	}
	return do(f)
}

// atOnce bounds the answers in a line.
const atOnce = 1000

// follow records the additions to one file of the agent.
func (s *Store) follow(reader session.UsageReader, x *account, of Subject, path string, to *os.File) error {
	f, err := layout.OpenRegular(path, syscall.O_NOFOLLOW)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the usage in %s: %w", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read the usage in %s: %w", path, err)
	}
	l := Line{Session: of.Address, Agent: of.Agent, Run: of.Run, From: of.From, File: path, FileID: fileid.Of(path)}
	if c := x.files[path]; c != nil && c.id == l.FileID && c.read <= info.Size() {
		l.Read, l.Context = c.read, c.context
	}
	counted := func(name string) bool { return name != "" && x.keys.has(hash(name)) }
	record := func() error {
		if len(l.Answers) == 0 {
			return nil
		}
		if err := s.put(to, x, l); err != nil {
			return err
		}
		l.Answers = l.Answers[:0]
		return nil
	}
	from := l.Read
	_, err = lines(f, from, func(text []byte, end int64) error {
		for _, u := range reader.Usage(text, &l.Context, counted) {
			if !u.At.IsZero() && u.At.Before(of.Since.Add(-early)) {
				continue
			}
			if u.At.IsZero() {
				u.At = info.ModTime()
			}
			l.Answers = append(l.Answers, answer(u))
			for _, k := range l.Answers[len(l.Answers)-1].Keys {
				x.keys.add(k)
			}
		}
		l.Read = end
		if len(l.Answers) >= atOnce {
			return record()
		}
		return nil
	})
	if err = errors.Join(err, record()); err != nil {
		return fmt.Errorf("read the usage in %s: %w", path, err)
	}
	c := x.files[path]
	if c == nil {
		c = &cursor{id: l.FileID}
		x.files[path] = c
	}
	c.id, c.read, c.context, c.info = l.FileID, l.Read, l.Context, info
	return nil
}

// put appends a line and applies it.
func (s *Store) put(to *os.File, x *account, l Line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if _, err := to.Write(append(text, '\n')); err != nil {
		return err
	}
	x.read += int64(len(text)) + 1
	x.take(l, s.price)
	return nil
}

// Look is Update with the session file that was found for a session; nil: none. In either case the
// recorded usage is known afterwards.
func (s *Store) Look(a session.Agent, rec session.Record, n *session.Transcript, now time.Time) (err error) {
	if n != nil {
		err = s.Update(a, Of(rec), n.Path, n.Conversation, now)
	}
	if _, is := s.Known(rec.ID); !is {
		_, unread := s.Get(rec.ID)
		err = errors.Join(err, unread)
	}
	return err
}

// Known returns the usage of a session as of its last update by this Store. It does not wait for
// another update.
func (s *Store) Known(id string) (Sum, bool) {
	x, is := s.known.Load(id)
	if !is {
		return Sum{}, false
	}
	return x.(known).total, true
}

// AllKnown returns the usage of sessions, by id, as of the last update of each by this Store. It
// does not wait for another update. Callers must not change the map.
func (s *Store) AllKnown() map[string]Session {
	all := map[string]Session{}
	s.known.Range(func(id, x any) bool {
		all[id.(string)] = x.(known).Session
		return true
	})
	return all
}

// Get returns the recorded usage of a session.
func (s *Store) Get(id string) (Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, err := s.account(id)
	if err != nil {
		return Session{}, err
	}
	s.publish(x)
	return x.copy(), nil
}

// All returns the usage of all sessions, including removed ones, by id.
func (s *Store) All() ([]Session, error) {
	entries, err := os.ReadDir(filepath.Join(s.dataDir, Folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the usage of sessions: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Session
	var errs []error
	for _, e := range entries {
		id, is := strings.CutSuffix(e.Name(), ".jsonl")
		if !is {
			continue
		}
		x, err := s.account(id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.publish(x)
		if len(x.sum.Slices) > 0 {
			all = append(all, x.copy())
		}
	}
	return all, errors.Join(errs...)
}

func (x *account) copy() Session {
	y := x.sum
	y.Slices = maps.Clone(x.sum.Slices)
	return y
}
