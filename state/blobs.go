package state

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// Blobs stores texts by their sha256: the prompts, whose digests are in the state.
type Blobs struct{ Dir string } // DATA_DIR/blobs

// Put stores a text durably and returns its digest in hex.
func (b Blobs) Put(text string) (digest string, err error) {
	sum := sha256.Sum256([]byte(text))
	digest = hex.EncodeToString(sum[:])
	if _, err := b.Get(digest); err == nil {
		return digest, nil
	}
	if err = os.MkdirAll(b.Dir, 0o700); err == nil {
		_, err = replace(filepath.Join(b.Dir, digest), []byte(text))
	}
	if err != nil {
		return "", fmt.Errorf("store prompt %s: %w", digest[:12], err)
	}
	return digest, nil
}

// Get returns the text with a digest. The error is os.ErrNotExist if there is none.
func (b Blobs) Get(digest string) (string, error) {
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) != sha256.Size {
		return "", fmt.Errorf("read prompt: %q is not a sha256", digest)
	}
	text, err := readRegular(filepath.Join(b.Dir, digest))
	if err != nil {
		return "", fmt.Errorf("read prompt: %w", err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != digest {
		return "", fmt.Errorf("read prompt: %s was changed: its digest does not match", filepath.Join(b.Dir, digest))
	}
	return string(text), nil
}
