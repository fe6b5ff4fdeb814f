//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// cluster is a running cluster. Its programs run in three network namespaces on one bridge:
// the control plane, and two nodes.
type cluster struct {
	dir    string // as kubetest.Cluster knows it
	kube   string // the binary with all programs of Kubernetes
	net    network
	client *http.Client // of the API server, as an administrator
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup // the programs
}

// startTimeout bounds the start of the cluster. It takes 10 seconds on two idle cores.
const startTimeout = 4 * time.Minute

func start() (_ *cluster, err error) {
	kube, err := build()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("/tmp", "afk") // short, for the sockets in it
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // pods look into their volumes
		return nil, err
	}
	c := &cluster{dir: dir, kube: kube}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, c.logs(), c.remove())
		}
	}()
	if c.net, err = newNetwork(); err != nil {
		return nil, err
	}
	if err := errors.Join(c.files(), os.Symlink(kube, filepath.Join(dir, "kube"))); err != nil {
		return nil, err
	}
	c.programs()
	ready, cancel := context.WithTimeout(c.ctx, startTimeout)
	defer cancel()
	for _, step := range []func(context.Context) error{c.images, c.answers, c.storage, c.nodesReady} {
		if err := step(ready); err != nil {
			return nil, err
		}
	}
	c.group.Go(c.recycle)
	return c, nil
}

// build returns the binary with the programs of Kubernetes. It is built once for its go.sum,
// which takes four minutes on two cores.
func build() (path string, err error) {
	source, err := output("go", "list", "-f", "{{.Dir}}", "github.com/agentform/agentform/internal/test/kubetest")
	if err != nil {
		return "", err
	}
	source = filepath.Join(source, "kube")
	hash := sha256.New()
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return "", err
		}
		hash.Write(text)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	path = filepath.Join(cache, "agentform", "kube", fmt.Sprintf("%x", hash.Sum(nil))[:16])
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	fmt.Fprintln(os.Stderr, "cluster: building Kubernetes, which takes minutes the first time")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	part := fmt.Sprintf("%s.%d", path, os.Getpid())
	return path, errors.Join(goBuild(source, part), os.Rename(part, path))
}

// goBuild builds the program in a directory.
func goBuild(dir, path string) error {
	b := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, ".")
	b.Dir, b.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off")
	if out, err := b.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", dir, err, out)
	}
	return nil
}

// programs starts etcd, the control plane and the nodes.
func (c *cluster) programs() {
	control := c.net.control
	pki := filepath.Join(c.dir, "pki")
	c.run("etcd", control, "etcd", "--data-dir", filepath.Join(c.dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", "http://127.0.0.1:2379", "--advertise-client-urls", "http://127.0.0.1:2379",
		"--listen-peer-urls", "http://127.0.0.1:2380", "--initial-advertise-peer-urls", "http://127.0.0.1:2380", "--initial-cluster", "default=http://127.0.0.1:2380")
	c.run("apiserver", control, c.kube, "apiserver",
		"--etcd-servers", "http://127.0.0.1:2379", "--bind-address", "0.0.0.0", "--secure-port", "443", "--advertise-address", c.net.controlIP,
		"--service-cluster-ip-range", c.net.services, "--authorization-mode", "Node,RBAC",
		"--enable-admission-plugins", "NodeRestriction",
		"--client-ca-file", pki+"/ca.crt", "--tls-cert-file", pki+"/apiserver.crt", "--tls-private-key-file", pki+"/apiserver.key",
		"--kubelet-client-certificate", pki+"/admin.crt", "--kubelet-client-key", pki+"/admin.key", "--kubelet-certificate-authority", pki+"/ca.crt",
		"--kubelet-preferred-address-types", "InternalIP",
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", pki+"/sa.pub", "--service-account-signing-key-file", pki+"/sa.key",
		"--default-not-ready-toleration-seconds", "10", "--default-unreachable-toleration-seconds", "10")
	c.run("controller-manager", control, c.kube, "controller-manager", "--kubeconfig", filepath.Join(c.dir, "kubeconfig"), "--leader-elect=false",
		"--root-ca-file", pki+"/ca.crt", "--service-account-private-key-file", pki+"/sa.key", "--use-service-account-credentials",
		"--node-monitor-period", "1s", "--node-monitor-grace-period", "8s", "--kube-api-qps", "100", "--kube-api-burst", "200",
		"--pvclaimbinder-sync-period", "2s", "--bind-address", "127.0.0.1")
	c.run("scheduler", control, c.kube, "scheduler", "--kubeconfig", filepath.Join(c.dir, "kubeconfig"), "--leader-elect=false",
		"--kube-api-qps", "100", "--kube-api-burst", "200", "--bind-address", "127.0.0.1")
	for _, n := range c.net.nodes {
		dir := filepath.Join(c.dir, n.name)
		c.run(n.name+"-containerd", n.namespace, "containerd", "--config", dir+"/containerd.toml")
		c.run(n.name, n.namespace, c.kube, "kubelet", "--config", dir+"/kubelet.json", "--kubeconfig", dir+"/kubeconfig",
			"--root-dir", dir+"/kubelet", "--hostname-override", n.name, "--node-ip", n.ip)
	}
}

// run keeps a program running in a network namespace until the cluster is removed, with its
// output in NAME.log and its pid in NAME.pid. It is not started while NAME.hold exists.
func (c *cluster) run(name, namespace, program string, args ...string) {
	base := filepath.Join(c.dir, name)
	c.group.Go(func() {
		for ; c.ctx.Err() == nil; pause(c.ctx, 100*time.Millisecond) {
			if _, err := os.Stat(base + ".hold"); err == nil {
				continue
			}
			log, err := os.OpenFile(base+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
			if err != nil {
				continue // the directory is being removed
			}
			p := exec.Command("nsenter", append([]string{"--net=/run/netns/" + namespace, program}, args...)...)
			p.Stdout, p.Stderr = log, log
			p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
			if err := p.Start(); err != nil {
				fmt.Fprintln(log, err)
			} else {
				_ = os.WriteFile(base+".pid", fmt.Append(nil, p.Process.Pid), 0o644)
				stop := context.AfterFunc(c.ctx, func() { _ = p.Process.Kill() }) // the API server ignores SIGTERM for long
				_ = p.Wait()
				stop()
				_ = os.Remove(base + ".pid")
			}
			log.Close()
		}
	})
}

// answers waits until the API server answers.
func (c *cluster) answers(ctx context.Context) error {
	return c.until(ctx, "the API server does not answer", func() error {
		_, err := c.get("/readyz")
		return err
	})
}

// nodesReady waits until pods can run on both nodes.
func (c *cluster) nodesReady(ctx context.Context) error {
	return c.until(ctx, "the nodes are not ready", func() error {
		out, err := c.kubectl("get", "nodes", "-o", `jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{" "}{end}`)
		if err == nil && strings.Count(out, "True") != len(c.net.nodes) {
			err = fmt.Errorf("ready: %s", out)
		}
		if err == nil {
			_, err = c.kubectl("get", "serviceaccount", "default", "-n", "default")
		}
		return err
	})
}

// until calls try until it succeeds.
func (c *cluster) until(ctx context.Context, what string, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		pause(ctx, 100*time.Millisecond)
	}
}

func (c *cluster) get(path string) ([]byte, error) {
	answer, err := c.client.Get("https://" + c.net.controlIP + ":443" + path)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	return text, err
}

func (c *cluster) kubectl(args ...string) (string, error) {
	return c.kubectlWith("", args...)
}

func (c *cluster) kubectlWith(input string, args ...string) (string, error) {
	k := exec.CommandContext(c.ctx, c.kube, append([]string{"kubectl", "--kubeconfig", filepath.Join(c.dir, "kubeconfig")}, args...)...)
	k.Stdin = strings.NewReader(input)
	out, err := k.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// logs returns the end of what each program printed.
func (c *cluster) logs() error {
	var text strings.Builder
	found, _ := filepath.Glob(filepath.Join(c.dir, "*.log"))
	for _, path := range found {
		log, _ := os.ReadFile(path)
		lines := strings.Split(strings.TrimSpace(string(log)), "\n")
		fmt.Fprintf(&text, "--- %s\n%s\n", filepath.Base(path), strings.Join(lines[max(0, len(lines)-8):], "\n"))
	}
	return errors.New(text.String())
}

// remove ends the programs and the containers, and removes what the cluster made.
func (c *cluster) remove() error {
	c.cancel()
	c.group.Wait()
	networks := sweep(c.dir)
	err := errors.Join(c.net.remove(), removeNetworks(networks))
	_ = exec.Command("sh", "-c", `grep -o " $1/[^ ]*" /proc/mounts | sort -r | xargs -r umount -l`, "sh", c.dir).Run()
	if os.Getenv("AGENTFORM_KUBE_KEEP") != "" {
		fmt.Fprintln(os.Stderr, "cluster: kept", c.dir)
		return err
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}

// sweep ends the shims of containerd that belong to this cluster, and what they run. Their
// command lines have the address of its socket. It returns the network namespaces of what ran.
func sweep(dir string) map[string]bool {
	networks := map[string]bool{}
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range commands {
		text, _ := os.ReadFile(path) // empty if it has exited
		if !strings.Contains(string(text), dir+"/") {
			continue
		}
		pid := filepath.Base(filepath.Dir(path))
		if children, err := output("pgrep", "-P", pid); err == nil {
			for _, child := range strings.Fields(children) {
				if network, err := os.Readlink(filepath.Join("/proc", child, "ns/net")); err == nil {
					networks[network] = true
				}
				_ = exec.Command("kill", "-KILL", child).Run()
			}
		}
		_ = exec.Command("kill", "-KILL", pid).Run()
	}
	return networks
}

// removeNetworks removes the names of pods' network namespaces, which containerd gives them and
// only takes away when it stops a pod.
func removeNetworks(networks map[string]bool) (err error) {
	names, _ := filepath.Glob("/run/netns/cni-*")
	for _, name := range names {
		var s syscall.Stat_t
		if syscall.Stat(name, &s) == nil && networks[fmt.Sprintf("net:[%d]", s.Ino)] {
			_, failed := output("ip", "netns", "delete", filepath.Base(name))
			err = errors.Join(err, failed)
		}
	}
	return err
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func output(program string, args ...string) (string, error) {
	text, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, text)
	}
	return strings.TrimSpace(string(text)), nil
}
