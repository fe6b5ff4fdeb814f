package serve

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/internal/layout"
)

// Token is where the token of the API comes from: a file, else a variable, else one of the project's own
// that is made.
type Token struct {
	File     string
	Given    string // the value of Variable
	Variable string
	DataDir  string // of the project
}

// Made reports whether the user has given no token.
func (t Token) Made() bool { return t.File == "" && t.Given == "" }

// Get returns the token.
func (t Token) Get() (string, error) {
	switch {
	case t.File != "":
		return tokenIn(t.File)
	case t.Given != "":
		return checkToken(t.Given, t.Variable)
	}
	return ownToken(t.DataDir)
}

// ownToken returns the project's own token. It makes one if there is none.
func ownToken(dataDir string) (string, error) {
	path, err := makeToken(dataDir)
	if err != nil {
		return "", err
	}
	return tokenIn(path)
}

// makeToken returns the file of the project's own token, creating it if necessary.
func makeToken(dataDir string) (string, error) {
	path := filepath.Join(dataDir, "hub.token")
	if err := layout.MakeDataDir(dataDir); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return path, nil
	}
	if err == nil {
		_, err = f.WriteString(rand.Text() + rand.Text() + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return path, nil
}

// minToken is the length of a token of 128 bits in hex.
const minToken = 32

const createToken = "create a token: (umask 077; openssl rand -hex 32 > FILE)"

// tokenIn returns the token in a file, which others must not be able to read.
func tokenIn(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read the token: %w\n%s", err, createToken)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("the token in %s is readable by others\nchmod 600 %s", path, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	return checkToken(string(bytes.TrimSpace(text)), path)
}

// checkToken returns a token from a file or a variable, or what is wrong with it.
func checkToken(token, from string) (string, error) {
	if len(token) < minToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("the token in %s must have %d or more visible characters\n%s", from, minToken, createToken)
	}
	return token, nil
}
