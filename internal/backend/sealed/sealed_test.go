package sealed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	nethttp "net/http"
	"os"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/backend/http"
	"github.com/agentform/agentform/internal/test/backendtest"
	"github.com/agentform/agentform/internal/test/pipe"
	"github.com/agentform/agentform/internal/test/stateserver"
)

// identityVariable has the identity of the suite, also for the writers that it starts.
const identityVariable = "AGENTFORM_AGE_IDENTITY"

func TestMain(m *testing.M) {
	if os.Getenv(identityVariable) == "" {
		i, err := age.GenerateX25519Identity()
		if err != nil {
			panic(err)
		}
		os.Setenv(identityVariable, i.String())
	}
	suite.Main(m)
}

func TestBackend(t *testing.T) { suite.RunVirtual(t) }

var suite = backendtest.Suite{
	Handler: func(*testing.T) nethttp.Handler { return stateserver.New() },
	Open: func(address, project string, _ time.Duration) (backend.Backend, error) {
		i, err := age.ParseX25519Identity(os.Getenv(identityVariable))
		if err != nil {
			return nil, err
		}
		s := http.Defaults()
		s.Address, s.RetryMax, s.RetryWaitMin, s.RetryWaitMax = "http://"+address+"/"+project, 1, time.Millisecond, time.Millisecond
		s.LockAddress, s.DialContext = s.Address, pipe.Dial
		b, err := http.New(s)
		if err != nil {
			return nil, err
		}
		return New(b, Settings{Recipients: []string{i.Recipient().String()}, Identities: i.String()})
	},
}

// stored is a backend of one text.
type stored struct {
	backend.Backend
	text []byte
}

func (s *stored) Read(context.Context) ([]byte, backend.Version, error) {
	if s.text == nil {
		return nil, "", backend.ErrNone
	}
	return s.text, "1", nil
}

func (s *stored) Write(_ context.Context, text []byte, _ backend.Version, _ string) (backend.Version, error) {
	s.text = text
	return "1", nil
}

const plain = `{"version":1, "serial":7, "lineage":"4f1c", "prompt":"fix the login"}`

func newIdentity(t *testing.T) *age.X25519Identity {
	t.Helper()
	i, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func open(t *testing.T, b backend.Backend, s Settings) backend.Backend {
	t.Helper()
	sealed, err := New(b, s)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func write(t *testing.T, b backend.Backend, text string) {
	t.Helper()
	if _, err := b.Write(t.Context(), []byte(text), "", "1"); err != nil {
		t.Fatal(err)
	}
}

func TestRecipients(t *testing.T) {
	ann, bob, eve := newIdentity(t), newIdentity(t), newIdentity(t)
	both := []string{ann.Recipient().String(), bob.Recipient().String()}
	in := &stored{}
	write(t, open(t, in, Settings{Recipients: both}), plain)
	if !Is(in.text) || Is([]byte(plain)) || Is(nil) {
		t.Error("a sealed text is not told from others")
	}
	if bytes.Contains(in.text, []byte("login")) || !bytes.HasPrefix(in.text, []byte(`{"agentform_state":1,"serial":7,"lineage":"4f1c","sealed":"age",`)) {
		t.Errorf("stored: %s", in.text)
	}
	for _, i := range []*age.X25519Identity{ann, bob} {
		text, v, err := open(t, in, Settings{Recipients: both, Identities: "# me\n" + eve.String() + "\n\n" + i.String()}).Read(t.Context())
		if err != nil || string(text) != plain || v != "1" {
			t.Errorf("%q %q %v", text, v, err)
		}
	}
	for identities, want := range map[string]string{eve.String(): "not for these identities", " \n": "no identity is set"} {
		text, _, err := open(t, in, Settings{Recipients: both, Identities: identities, AllowPlain: true}).Read(t.Context())
		if text != nil || !errors.Is(err, ErrIdentity) || errors.Is(err, backend.ErrNone) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q %v, want: %s", text, err, want)
		}
	}
}

func TestPlain(t *testing.T) {
	ann := newIdentity(t)
	s := Settings{Recipients: []string{ann.Recipient().String()}, Identities: ann.String()}
	in := &stored{text: []byte(plain)}
	if text, _, err := open(t, in, s).Read(t.Context()); text != nil || !errors.Is(err, ErrPlain) {
		t.Errorf("%q %v", text, err)
	}
	s.AllowPlain = true
	if text, _, err := open(t, in, s).Read(t.Context()); string(text) != plain || err != nil {
		t.Errorf("%q %v", text, err)
	}
	in.text = nil
	if _, _, err := open(t, in, s).Read(t.Context()); !errors.Is(err, backend.ErrNone) {
		t.Error(err)
	}
}

// TestChanged changes what is stored.
func TestChanged(t *testing.T) {
	ann := newIdentity(t)
	in := &stored{}
	b := open(t, in, Settings{Recipients: []string{ann.Recipient().String()}, Identities: ann.String()})
	write(t, b, plain)
	good := string(in.text)
	for name, change := range map[string]func(*document){
		"serial":  func(d *document) { d.Serial++ },
		"lineage": func(d *document) { d.Lineage = "other" },
		"format":  func(d *document) { d.Format++ },
		"method":  func(d *document) { d.Sealed = "rot13" },
		"byte":    func(d *document) { d.Data[len(d.Data)-3] ^= 1 },
		"short":   func(d *document) { d.Data = d.Data[:len(d.Data)-1] },
		"empty":   func(d *document) { d.Data = nil },
	} {
		var d document
		if err := json.Unmarshal([]byte(good), &d); err != nil {
			t.Fatal(err)
		}
		change(&d)
		in.text, _ = json.Marshal(d)
		if text, _, err := b.Read(t.Context()); err == nil || text != nil || errors.Is(err, backend.ErrNone) {
			t.Errorf("%s: %q, %v", name, text, err)
		} else if newer := strings.Contains(err.Error(), "newer agentform"); newer != (name == "format" || name == "method") {
			t.Errorf("%s: %v", name, err)
		}
	}
	var indented bytes.Buffer // as a server that stores JSON may return it
	_ = json.Indent(&indented, []byte(good), "", "  ")
	in.text = indented.Bytes()
	if text, _, err := b.Read(t.Context()); string(text) != plain || err != nil {
		t.Errorf("%q %v", text, err)
	}
}

func TestNew(t *testing.T) {
	ann := newIdentity(t)
	for _, s := range []Settings{
		{},
		{Recipients: []string{"age1x"}},
		{Recipients: []string{ann.String()}},
		{Recipients: []string{ann.Recipient().String()}, Identities: ann.String() + "x"},
	} {
		if _, err := New(&stored{}, s); err == nil || strings.Contains(err.Error(), ann.String()[20:40]) {
			t.Error(err)
		}
	}
	if _, err := open(t, &stored{}, Settings{Recipients: []string{ann.Recipient().String()}}).Write(t.Context(), []byte("no JSON"), "", ""); err == nil {
		t.Error("a text that is not a state is encrypted")
	}
}
