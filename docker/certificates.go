package docker

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// certificateFiles are the files of a directory like DOCKER_CERT_PATH: the CA of the engine's
// certificate, the client's certificate, and its key.
var certificateFiles = [3]string{"ca.pem", "cert.pem", "key.pem"}

// certificateDir returns the directory with the client's certificates.
func (c Config) certificateDir() string {
	return cmp.Or(c.CertPath, os.Getenv("DOCKER_CERT_PATH"))
}

// certificates are the contents of these files.
type certificates struct {
	roots *x509.CertPool
	pair  tls.Certificate
}

// CheckCertificates returns all errors in the files of the client's certificates for an engine with
// TLS, without a request to the engine. For other engines it returns nil.
func (c Config) CheckCertificates() error {
	if !strings.HasPrefix(c.Host, "tcp://") {
		return nil
	}
	_, err := c.readCertificates()
	return err
}

// ReadableKey returns the key for an engine with TLS, and its permissions, if other users can read
// it.
func (c Config) ReadableKey() (path string, mode fs.FileMode, is bool) {
	dir := c.certificateDir()
	if !strings.HasPrefix(c.Host, "tcp://") || dir == "" {
		return "", 0, false
	}
	path = filepath.Join(dir, certificateFiles[2])
	info, err := os.Stat(path)
	if err != nil {
		return "", 0, false
	}
	return path, info.Mode().Perm(), info.Mode().Perm()&0o077 != 0
}

// readCertificates reads the files. The error joins one for each problem.
func (c Config) readCertificates() (certificates, error) {
	dir := c.certificateDir()
	if dir == "" {
		return certificates{}, errors.New("whoever reaches an engine without TLS is root on its machine: set cert_path, or DOCKER_CERT_PATH, to a directory with ca.pem, cert.pem and key.pem")
	}
	var paths [3]string
	var texts [3][]byte
	var errs [3]error
	for i, name := range certificateFiles {
		paths[i] = filepath.Join(dir, name)
		texts[i], errs[i] = os.ReadFile(paths[i])
	}
	of := certificates{roots: x509.NewCertPool()}
	if errs[0] == nil {
		var signers []*x509.Certificate
		signers, errs[0] = parseCertificates(paths[0], texts[0])
		if len(signers) > 0 && !slices.ContainsFunc(signers, func(s *x509.Certificate) bool { return outdated(s) == "" }) {
			errs[0] = fmt.Errorf("%s %s", paths[0], outdated(signers[0]))
		}
		for _, s := range signers {
			of.roots.AddCert(s)
		}
	}
	if errs[1] == nil {
		var chain []*x509.Certificate
		if chain, errs[1] = parseCertificates(paths[1], texts[1]); errs[1] == nil {
			errs[1] = checkClient(paths[1], chain[0])
		}
	}
	if errs[2] == nil {
		errs[2] = checkKey(paths[2], texts[2])
	}
	if errs[1] == nil && errs[2] == nil {
		var err error
		if of.pair, err = tls.X509KeyPair(texts[1], texts[2]); err != nil {
			errs[2] = fmt.Errorf("%s is not the key of %s: %w", paths[2], paths[1], err)
		}
	}
	return of, errors.Join(errs[:]...)
}

// parseCertificates returns the certificates in a file, at least one.
func parseCertificates(path string, text []byte) (all []*x509.Certificate, err error) {
	for {
		var b *pem.Block
		if b, text = pem.Decode(text); b == nil {
			break
		}
		if strings.HasSuffix(b.Type, "PRIVATE KEY") {
			return nil, fmt.Errorf("%s has a private key in it, and has to have a certificate", path)
		}
		if b.Type != "CERTIFICATE" {
			continue
		}
		parsed, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, parsed)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no certificate in it", path)
	}
	return all, nil
}

// outdated returns why a certificate is not valid now, or "".
func outdated(c *x509.Certificate) string {
	switch now := time.Now(); {
	case now.After(c.NotAfter):
		return "expired on " + c.NotAfter.UTC().Format(time.DateTime)
	case now.Before(c.NotBefore):
		return "is not valid before " + c.NotBefore.UTC().Format(time.DateTime) + ": is the clock right?"
	}
	return ""
}

// checkClient returns why the engine would refuse a certificate.
func checkClient(path string, c *x509.Certificate) error {
	if why := outdated(c); why != "" {
		return fmt.Errorf("%s %s", path, why)
	}
	usages := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageAny}
	if len(c.ExtKeyUsage) > 0 && !slices.ContainsFunc(c.ExtKeyUsage, func(u x509.ExtKeyUsage) bool { return slices.Contains(usages, u) }) {
		return fmt.Errorf("%s is not for a client: its extendedKeyUsage lacks clientAuth", path)
	}
	return nil
}

// checkKey returns why a file does not contain a private key.
func checkKey(path string, text []byte) error {
	for {
		var b *pem.Block
		if b, text = pem.Decode(text); b == nil {
			return fmt.Errorf("%s has no private key in it", path)
		}
		switch {
		case b.Type == "CERTIFICATE":
			return fmt.Errorf("%s has a certificate in it, and has to have a private key", path)
		case b.Type == "ENCRYPTED PRIVATE KEY", b.Headers["DEK-Info"] != "":
			return fmt.Errorf("%s has a passphrase, and agentform cannot ask for it; to remove it: openssl pkey -in KEY -out key.pem", path)
		case strings.HasSuffix(b.Type, "PRIVATE KEY"):
			return nil
		}
	}
}
