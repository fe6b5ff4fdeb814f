// Package sealed encrypts the state that a backend stores, with age.
//
// It hides the state from whoever reads the backend. It does not say who wrote it: everyone
// who knows a recipient can encrypt for it, and whoever may write to the backend can put an
// older state back.
package sealed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"

	"github.com/agentform/agentform/internal/backend"
)

// Settings has the readers of the state.
type Settings struct {
	Recipients []string // age1…, one of whose identities is enough to read
	Identities string   // the text of a file of AGE-SECRET-KEY-… lines
	AllowPlain bool     // read also a state that is not encrypted
	AsFound    bool     // the same, and write it as it was read
}

// ErrPlain reports a state that is not encrypted.
var ErrPlain = errors.New("the state is not encrypted, and encryption is declared")

// ErrIdentity reports an encrypted state that none of the identities decrypts.
var ErrIdentity = errors.New("the state is encrypted")

// Is reports whether a text is an encrypted state.
func Is(text []byte) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	_, err := d.Token() // the brace
	first, err2 := d.Token()
	return err == nil && err2 == nil && first == "agentform_state"
}

// New returns a backend that writes to b only what is encrypted. The lock is not.
func New(b backend.Backend, s Settings) (backend.Backend, error) {
	recipients, err := age.ParseRecipients(strings.NewReader(strings.Join(s.Recipients, "\n")))
	if err != nil {
		return nil, fmt.Errorf("recipients of the encryption: %w: each must be a public key of age, age1…", err)
	}
	sealed := &sealed{Backend: b, recipients: recipients, plain: s.AllowPlain || s.AsFound, asFound: s.AsFound}
	if strings.TrimSpace(s.Identities) == "" {
		return sealed, nil
	}
	sealed.identities, err = age.ParseIdentities(strings.NewReader(s.Identities))
	if err != nil { // without err, which may have a part of a key
		return nil, errors.New("the age identities are not valid: each line must be AGE-SECRET-KEY-…, a # comment or empty")
	}
	return sealed, nil
}

type sealed struct {
	backend.Backend
	recipients []age.Recipient
	identities []age.Identity
	plain      bool
	asFound    bool
	foundPlain bool // by the last Read, which no other call may overlap with asFound
}

// header is what is stored in clear, and again with the state inside.
type header struct {
	Format  int    `json:"agentform_state"`
	Serial  uint64 `json:"serial"`
	Lineage string `json:"lineage"`
	Sealed  string `json:"sealed"`
}

// document is JSON, since some servers store nothing else.
type document struct {
	header
	Data []byte `json:"data"` // age: the header on a line, and the state
}

func (s *sealed) Read(ctx context.Context) ([]byte, backend.Version, error) {
	text, v, err := s.Backend.Read(ctx)
	if err != nil {
		return nil, "", err
	}
	if s.asFound {
		s.foundPlain = !Is(text)
	}
	if !Is(text) {
		if !s.plain {
			return nil, "", ErrPlain
		}
		return text, v, nil
	}
	text, err = s.open(text)
	if err != nil {
		return nil, "", err
	}
	return text, v, nil
}

func (s *sealed) Write(ctx context.Context, text []byte, seen backend.Version, id string) (backend.Version, error) {
	if s.foundPlain {
		return s.Backend.Write(ctx, text, seen, id)
	}
	data, err := s.seal(text)
	if err != nil {
		return "", fmt.Errorf("encrypt the state: %w", err)
	}
	v, err := s.Backend.Write(ctx, data, seen, id)
	if _, changed := errors.AsType[*backend.ChangedError](err); changed {
		// One text is never encrypted to the same bytes twice, so that the backend does not
		// recognize what was written by an attempt whose answer was lost.
		if found, v, err := s.Read(ctx); err == nil && bytes.Equal(found, text) {
			return v, nil
		}
	}
	return v, err
}

func (s *sealed) seal(text []byte) ([]byte, error) {
	d := document{header: header{Format: 1, Sealed: "age"}}
	if err := json.Unmarshal(text, &struct {
		Serial  *uint64 `json:"serial"`
		Lineage *string `json:"lineage"`
	}{&d.Serial, &d.Lineage}); err != nil {
		return nil, err
	}
	first, err := json.Marshal(d.header)
	if err != nil {
		return nil, err
	}
	var data bytes.Buffer
	w, err := age.Encrypt(&data, s.recipients...)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(append(append(first, '\n'), text...))
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	d.Data = data.Bytes()
	stored, err := json.Marshal(d)
	return append(stored, '\n'), err
}

func (s *sealed) open(stored []byte) ([]byte, error) {
	var d document
	if err := json.Unmarshal(stored, &d); err != nil {
		return nil, fmt.Errorf("the encrypted state is damaged: %w", err)
	}
	if d.Format != 1 || d.Sealed != "age" {
		return nil, fmt.Errorf("the state is encrypted in format %d of %q: use a newer agentform", d.Format, d.Sealed)
	}
	if len(s.identities) == 0 {
		return nil, fmt.Errorf("%w, and no identity is set: set AGENTFORM_AGE_IDENTITY to the identity of a recipient", ErrIdentity)
	}
	r, err := age.Decrypt(bytes.NewReader(d.Data), s.identities...)
	if _, none := errors.AsType[*age.NoIdentityMatchError](err); none {
		return nil, fmt.Errorf("%w, and not for these identities: use the identity of a recipient, or let another recipient add yours", ErrIdentity)
	}
	if err != nil {
		return nil, fmt.Errorf("the encrypted state is damaged: %w", err)
	}
	all, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("the encrypted state is damaged: %w", err)
	}
	first, text, _ := bytes.Cut(all, []byte("\n"))
	var inside header
	if err := json.Unmarshal(first, &inside); err != nil || inside != d.header {
		return nil, errors.New("serial or lineage of the encrypted state are not those that were encrypted: someone changed it")
	}
	return text, nil
}
