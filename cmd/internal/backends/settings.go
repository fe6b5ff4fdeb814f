package backends

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/backend/http"
	"github.com/agentform/agentform/internal/backend/kubernetes"
	"github.com/agentform/agentform/internal/backend/pg"
	"github.com/agentform/agentform/internal/backend/s3"
	"github.com/agentform/agentform/internal/kubeclient"
)

// open returns a backend of a kind with these settings, and a unique name for display.
func open(kind string, values map[string]string, headers map[string]string, m *config.Manifest) (backend.Backend, string, error) {
	v := settings(values)
	switch kind {
	case "http":
		return v.http(headers)
	case "s3":
		return v.s3("", 0)
	case "pg":
		return v.pg(m.Project, 0)
	case "kubernetes":
		return v.kubernetes(m.Project, "", 0)
	}
	return nil, "", errors.New("this agentform has no such backend")
}

// hubLease is how long a hub leads without a renewal. Another hub takes the lead at most 2 seconds
// later.
const hubLease = 10 * time.Second

// HubLock returns the lock next to the shared state, which the leading hub holds.
func (s *State) HubLock() (backend.Backend, error) {
	if !s.Shared() {
		return nil, errors.New("several hubs need a state that all of them reach: declare a backend (agentform explain agentform.backend)")
	}
	c, err := s.Copy()
	if err != nil {
		return nil, err
	}
	v := settings(values(s.Manifest.Backend, c.Place.Given, s.Environ))
	var b backend.Backend
	switch kind := s.Manifest.Backend.Kind; kind {
	case "s3":
		b, _, err = v.s3(".hub", hubLease)
	case "pg":
		b, _, err = v.pg(s.Manifest.Project+"/hub", hubLease)
	case "kubernetes":
		b, _, err = v.kubernetes(s.Manifest.Project, "-hub", hubLease)
	default:
		err = fmt.Errorf("the locks of backend %q do not expire, so that no other hub could act after one that was killed: use s3, pg or kubernetes", kind)
	}
	return b, err
}

func (v settings) pg(name string, lease time.Duration) (backend.Backend, string, error) {
	b, err := pg.New(pg.Settings{ConnStr: v["conn_str"], Password: v["password"], Schema: v["schema"], Name: name, Lease: lease})
	if err != nil {
		return nil, "", err
	}
	return b, b.Name(), nil
}

// settings are a backend's settings, by name, as text.
type settings map[string]string

// require returns an error that names the missing settings.
func (v settings) require(names ...string) error {
	var errs []error
	for _, name := range names {
		if v[name] == "" {
			errs = append(errs, fmt.Errorf("%s is not set: write it into the block, or give it with agentform init --backend-config=%[1]s=…", name))
		}
	}
	return errors.Join(errs...)
}

func (v settings) whole(name string, otherwise int) int {
	n, err := strconv.Atoi(v[name])
	if err != nil {
		return otherwise
	}
	return n
}

func (v settings) http(headers map[string]string) (backend.Backend, string, error) {
	if err := v.require("address"); err != nil {
		return nil, "", err
	}
	d := http.Defaults()
	b, err := http.New(http.Settings{
		Address: v["address"], LockAddress: v["lock_address"], UnlockAddress: cmp.Or(v["unlock_address"], v["lock_address"]),
		UpdateMethod: cmp.Or(v["update_method"], d.UpdateMethod), LockMethod: cmp.Or(v["lock_method"], d.LockMethod),
		UnlockMethod: cmp.Or(v["unlock_method"], d.UnlockMethod),
		Username:     v["username"], Password: v["password"], Headers: headers,
		RetryMax:               v.whole("retry_max", d.RetryMax),
		RetryWaitMin:           time.Duration(v.whole("retry_wait_min", int(d.RetryWaitMin/time.Second))) * time.Second,
		RetryWaitMax:           time.Duration(v.whole("retry_wait_max", int(d.RetryWaitMax/time.Second))) * time.Second,
		SkipCertVerification:   v["skip_cert_verification"] == "true",
		ClientCertificatePEM:   v["client_certificate_pem"],
		ClientPrivateKeyPEM:    v["client_private_key_pem"],
		ClientCACertificatePEM: v["client_ca_certificate_pem"],
	})
	return b, withoutPassword(v["address"]), err
}

func (v settings) s3(suffix string, lease time.Duration) (backend.Backend, string, error) {
	if err := v.require("bucket", "key"); err != nil {
		return nil, "", err
	}
	// Credentials are only requested when something is sent.
	b, err := s3.New(context.Background(), s3.Settings{
		Bucket: v["bucket"], Key: v["key"] + suffix, Lease: lease, Region: v["region"], Endpoint: v["endpoint"], Profile: v["profile"],
		UsePathStyle: v["use_path_style"] == "true",
	})
	name := "s3://" + v["bucket"] + "/" + v["key"]
	if v["endpoint"] != "" {
		name += " at " + withoutPassword(v["endpoint"])
	}
	return b, name, err
}

func (v settings) kubernetes(project, suffix string, lease time.Duration) (backend.Backend, string, error) {
	c, namespace, err := kubeclient.Config(kubeclient.Settings{Context: v["context"]})
	if err != nil {
		return nil, "", err
	}
	b, err := kubernetes.New(kubernetes.Settings{
		Config: c, Namespace: cmp.Or(v["namespace"], namespace), Suffix: cmp.Or(v["secret_suffix"], project) + suffix, Lease: lease,
	})
	if err != nil {
		return nil, "", err
	}
	return b, b.Name(), nil
}

// withoutPassword returns a URL without user, password and query, which may have a token.
func withoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "URL"
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}
