//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// files writes the certificates and the settings of all programs.
func (c *cluster) files() error {
	pki := filepath.Join(c.dir, "pki")
	if err := os.Mkdir(pki, 0o755); err != nil {
		return err
	}
	ca, err := newAuthority(pki)
	if err != nil {
		return err
	}
	names := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"}
	err = errors.Join(
		ca.issue(pki, "apiserver", pkix.Name{CommonName: "kube-apiserver"}, names, c.net.controlIP, c.net.serviceIP, "127.0.0.1"),
		ca.issue(pki, "admin", pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}, nil),
		signingKey(pki),
		c.kubeconfig(filepath.Join(c.dir, "kubeconfig"), filepath.Join(pki, "admin")))
	for _, n := range c.net.nodes {
		err = errors.Join(err, c.nodeFiles(ca, n))
	}
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(pki+"/admin.crt", pki+"/admin.key")
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	c.client = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{
		Certificates: []tls.Certificate{pair}, RootCAs: roots,
	}}}
	return err
}

// nodeFiles writes the settings of a node's containerd, kubelet and network.
func (c *cluster) nodeFiles(ca authority, n node) error {
	dir := filepath.Join(c.dir, n.name)
	if err := os.MkdirAll(filepath.Join(dir, "cni"), 0o755); err != nil {
		return err
	}
	identity := pkix.Name{CommonName: "system:node:" + n.name, Organization: []string{"system:nodes"}}
	containerd := fmt.Sprintf(`version = 2
root = %q
state = %q
[grpc]
  address = %q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
`, dir+"/root", dir+"/state", dir+"/c.sock", cniDir, dir+"/cni")
	kubelet := map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"authentication": map[string]any{
			"x509": map[string]any{"clientCAFile": c.dir + "/pki/ca.crt"}, "anonymous": map[string]any{"enabled": false},
		},
		"tlsCertFile": dir + "/node.crt", "tlsPrivateKeyFile": dir + "/node.key",
		"containerRuntimeEndpoint": "unix://" + dir + "/c.sock", "cgroupDriver": "cgroupfs",
		// This may be a container itself, with the first version of control groups.
		"failCgroupV1": false, "cgroupsPerQOS": false, "enforceNodeAllocatable": []string{}, "makeIPTablesUtilChains": false, "failSwapOn": false,
		"nodeStatusUpdateFrequency": "1s", "nodeLeaseDurationSeconds": 6, "syncFrequency": "2s",
		"evictionHard":                map[string]string{"nodefs.available": "1%", "imagefs.available": "1%", "memory.available": "1Mi", "nodefs.inodesFree": "1%"},
		"imageGCHighThresholdPercent": 100, "maxPods": 250, "resolvConf": "/dev/null", "podLogsDir": dir + "/logs", "enableControllerAttachDetach": false,
		"serializeImagePulls": false, "kubeAPIQPS": 100, "kubeAPIBurst": 200, "healthzPort": 0, "shutdownGracePeriod": "0s",
		"volumePluginDir": dir + "/plugins",
	}
	settings, err := json.MarshalIndent(kubelet, "", "  ")
	cni := fmt.Sprintf(`{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "pods", "isGateway": true, "ipMasq": false, "mtu": 1500,
   "ipam": {"type": "host-local", "dataDir": %q, "ranges": [[{"subnet": %q}]], "routes": [{"dst": "0.0.0.0/0"}]}}
]}`, dir+"/ipam", n.pods)
	return errors.Join(err,
		ca.issue(dir, "node", identity, []string{n.name}, n.ip),
		c.kubeconfig(dir+"/kubeconfig", dir+"/node"),
		os.WriteFile(dir+"/containerd.toml", []byte(containerd), 0o644),
		os.WriteFile(dir+"/kubelet.json", settings, 0o644),
		os.WriteFile(dir+"/veth", []byte(n.veth), 0o644),
		os.WriteFile(dir+"/cni/10-pods.conflist", []byte(cni), 0o644))
}

// kubeconfig writes the settings of a client with the certificate at base.
func (c *cluster) kubeconfig(path, base string) error {
	read := func(name string) []byte {
		text, _ := os.ReadFile(name) // written just now
		return text
	}
	text, err := json.MarshalIndent(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "test",
		"clusters": []any{map[string]any{"name": "test", "cluster": map[string]any{
			"server": "https://" + c.net.controlIP + ":443", "certificate-authority-data": read(c.dir + "/pki/ca.crt"),
		}}},
		"users": []any{map[string]any{"name": "test", "user": map[string]any{
			"client-certificate-data": read(base + ".crt"), "client-key-data": read(base + ".key"),
		}}},
		"contexts": []any{map[string]any{"name": "test", "context": map[string]any{"cluster": "test", "user": "test"}}},
	}, "", "  ")
	return errors.Join(err, os.WriteFile(path, text, 0o600))
}

// authority issues certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(dir string) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return authority{}, err
	}
	cert, err := x509.ParseCertificate(der)
	return authority{cert, key}, errors.Join(err, writePEM(dir+"/ca.crt", "CERTIFICATE", der))
}

// issue writes NAME.crt and NAME.key.
func (a authority) issue(dir, name string, subject pkix.Name, names []string, addresses ...string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: subject, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, address := range addresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(address))
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	return errors.Join(err,
		writePEM(filepath.Join(dir, name+".crt"), "CERTIFICATE", der),
		writePEM(filepath.Join(dir, name+".key"), "PRIVATE KEY", private))
}

// signingKey writes the key of service account tokens.
func signingKey(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	return errors.Join(err, writePEM(dir+"/sa.key", "PRIVATE KEY", private), writePEM(dir+"/sa.pub", "PUBLIC KEY", public))
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
