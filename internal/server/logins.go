package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/google/renameio/v2"
)

// Logouts are the logins that were ended before their time. Cookies are signed and kept by
// browsers only, so the hub remembers those that are no longer valid. The zero value
// forgets them with the hub.
type Logouts struct {
	path string

	mu    sync.Mutex
	ended map[string]time.Time // until when its cookie would be valid, by the login's id
}

// ReadLogouts reads the ended logins of a file, which need not exist, and keeps later ones
// there.
func ReadLogouts(path string) (*Logouts, error) {
	k := &Logouts{path: path}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &k.ended)
	}
	if err != nil {
		return nil, fmt.Errorf("read the ended logins in %s: %w\nremove it and use a new token, which ends all logins", path, err)
	}
	return k, nil
}

// add ends a login. After an error it is ended until the hub exits.
func (k *Logouts) add(id string, until, now time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended == nil {
		k.ended = map[string]time.Time{}
	}
	maps.DeleteFunc(k.ended, func(_ string, until time.Time) bool { return !now.Before(until) })
	k.ended[id] = until
	if k.path == "" {
		return nil
	}
	text, err := json.Marshal(k.ended)
	if err == nil {
		err = renameio.WriteFile(k.path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the ended logins in %s: %w", k.path, err)
	}
	return nil
}

func (k *Logouts) has(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ended := k.ended[id]
	return ended
}
