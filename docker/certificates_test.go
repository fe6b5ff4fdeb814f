package docker_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/internal/test/dockertest"
)

// TestCertificates checks the error for each file of certificates, and for all of them at once.
func TestCertificates(t *testing.T) {
	t.Setenv("DOCKER_CERT_PATH", "")
	good := filepath.Join(t.TempDir(), "certs")
	if err := dockertest.Certify(good, "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "certs")
	if err := dockertest.Certify(other, "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	of := func(dir, name string) string { return read(filepath.Join(dir, name)) }
	const garbage, locked = "nothing\n", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"
	now := time.Now()
	expired, later := certificate(t, now.Add(-2*time.Hour), now.Add(-time.Hour)), certificate(t, now.Add(time.Hour), now.Add(2*time.Hour))
	for name, c := range map[string]struct {
		ca, cert, key string // empty: there is none
		want          []string
	}{
		"good":                {of(good, "ca.pem"), of(good, "cert.pem"), of(good, "key.pem"), nil},
		"no ca":               {"", of(good, "cert.pem"), of(good, "key.pem"), []string{"/ca.pem: no such file"}},
		"no cert":             {of(good, "ca.pem"), "", of(good, "key.pem"), []string{"/cert.pem: no such file"}},
		"no key":              {of(good, "ca.pem"), of(good, "cert.pem"), "", []string{"/key.pem: no such file"}},
		"none":                {"", "", "", []string{"/ca.pem: no such file", "/cert.pem: no such file", "/key.pem: no such file"}},
		"all wrong":           {garbage, garbage, garbage, []string{"/ca.pem has no certificate", "/cert.pem has no certificate", "/key.pem has no private key"}},
		"cert and key":        {of(good, "ca.pem"), of(good, "key.pem"), of(good, "cert.pem"), []string{"/cert.pem has a private key in it", "/key.pem has a certificate in it"}},
		"ca and key":          {of(good, "key.pem"), of(good, "cert.pem"), of(good, "ca.pem"), []string{"/ca.pem has a private key in it", "/key.pem has a certificate in it"}},
		"another's key":       {of(good, "ca.pem"), of(good, "cert.pem"), of(other, "key.pem"), []string{"/key.pem is not the key of", "/cert.pem"}},
		"the engine's":        {of(good, "ca.pem"), of(good, "server.pem"), of(good, "server-key.pem"), []string{"/cert.pem is not for a client"}},
		"expired ca":          {expired, of(good, "cert.pem"), of(good, "key.pem"), []string{"/ca.pem expired on "}},
		"expired and another": {expired + of(good, "ca.pem"), of(good, "cert.pem"), of(good, "key.pem"), nil},
		"expired cert":        {of(good, "ca.pem"), expired, of(good, "key.pem"), []string{"/cert.pem expired on "}},
		"cert of tomorrow":    {of(good, "ca.pem"), later, of(good, "key.pem"), []string{"/cert.pem is not valid before ", "is the clock right?"}},
		"passphrase":          {of(good, "ca.pem"), of(good, "cert.pem"), locked, []string{"/key.pem has a passphrase"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{"ca.pem": c.ca, "cert.pem": c.cert, "key.pem": c.key} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			config := docker.Config{Host: "tcp://192.0.2.1:2376", CertPath: dir}
			err := config.CheckCertificates()
			if (err != nil) != (len(c.want) > 0) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
			}
			if err != nil && strings.Count(err.Error(), "\n") != max(0, len(c.want)-1) && name != "another's key" && name != "cert of tomorrow" {
				t.Errorf("%v, want %d problems", err, len(c.want))
			}
			if path, _, is := config.ReadableKey(); is {
				t.Errorf("others can read %s", path)
			}
			key := filepath.Join(dir, "key.pem")
			if c.key == "" {
				return
			}
			if err := os.Chmod(key, 0o640); err != nil {
				t.Fatal(err)
			}
			if path, mode, is := config.ReadableKey(); !is || path != key || mode != 0o640 {
				t.Errorf("%s %#o %v, want %s with 0640", path, mode, is, key)
			}
		})
	}
}

// certificate returns a certificate that is valid between two times.
func certificate(t *testing.T, from, to time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: to}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// read returns the text of a file, or "" if the file does not exist.
func read(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}
