package state

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// Blobs keeps texts under their sha256, each once: the prompts, which the state
// file names by digest only.
type Blobs struct{ Dir string } // DATA_DIR/blobs

// Put keeps the text and returns its digest in hex when that is durable.
func (b Blobs) Put(text string) (digest string, err error) {
	sum := sha256.Sum256([]byte(text))
	digest = hex.EncodeToString(sum[:])
	if _, err := b.Get(digest); err == nil {
		return digest, nil
	}
	if err := os.MkdirAll(b.Dir, 0o700); err != nil {
		return "", fmt.Errorf("keep text %s: %w", digest[:12], err)
	}
	if _, err := replace(filepath.Join(b.Dir, digest), []byte(text)); err != nil {
		return "", fmt.Errorf("keep text %s: %w", digest[:12], err)
	}
	return digest, nil
}

// Get is the text with that digest. The error is os.ErrNotExist if it is not
// kept, and says so if the file is not what was put there.
func (b Blobs) Get(digest string) (string, error) {
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) != sha256.Size {
		return "", fmt.Errorf("read text: %q is no sha256", digest)
	}
	text, err := readRegular(filepath.Join(b.Dir, digest))
	if err != nil {
		return "", fmt.Errorf("read text: %w", err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != digest {
		return "", fmt.Errorf("read text: %s was changed: it no longer has its digest", filepath.Join(b.Dir, digest))
	}
	return string(text), nil
}
